"""Small language models with random weights, as they are published; and what numpy says of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Weights = dict[str, Array]
COMMON: dict[str, Any] = {
    "vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 256, "eos_token_id": 2,
}  # fmt: skip
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {**COMMON, "model_type": "llama", "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
              "rope_theta": 500.0, "rope_scaling": {
                  "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                  "high_freq_factor": 4.0, "original_max_position_embeddings": 64}},
    "qwen2": {**COMMON, "model_type": "qwen2", "num_key_value_heads": 2,
              "tie_word_embeddings": True},
    "gemma3": {**COMMON, "model_type": "gemma3_text", "num_key_value_heads": 1, "head_dim": 16,
               "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 6,
               "layer_types": ["sliding_attention", "full_attention"],
               "query_pre_attn_scalar": 9, "rope_theta": 1e6, "final_logit_softcapping": 5.0},
    "phi": {**COMMON, "model_type": "phi", "partial_rotary_factor": 0.5,
            "hidden_act": "gelu_new", "layer_norm_eps": 1e-5},
    "gpt2": {"model_type": "gpt2", "vocab_size": 300, "n_embd": 32, "n_layer": 2, "n_head": 4,
             "n_positions": 256, "eos_token_id": 2},
}  # fmt: skip


def weights(config: dict[str, Any], seed: int = 0) -> Weights:
    """Random arrays under the published names."""
    rng = np.random.default_rng(seed)
    kind = config["model_type"]
    gpt2 = kind == "gpt2"
    hidden = config["n_embd" if gpt2 else "hidden_size"]
    inner = config.get("intermediate_size", 4 * hidden)
    heads = config["n_head" if gpt2 else "num_attention_heads"]
    kv, dim = config.get("num_key_value_heads", heads), config.get("head_dim", hidden // heads)
    found: Weights = {}

    def add(name: str, *shape: int, bias: bool = False) -> None:
        found[f"{name}.weight"] = (rng.standard_normal(shape) * 0.3).astype("float32")
        if bias:
            size = shape[-1] if gpt2 else shape[0]
            found[f"{name}.bias"] = (rng.standard_normal(size) * 0.3).astype("float32")

    def norm(name: str, size: int = hidden, bias: bool = False) -> None:
        found[f"{name}.weight"] = (1 + rng.standard_normal(size) * 0.2).astype("float32")
        if bias:
            found[f"{name}.bias"] = (rng.standard_normal(size) * 0.2).astype("float32")

    if gpt2:
        add("wte", config["vocab_size"], hidden)
        add("wpe", config["n_positions"], hidden)
        for i in range(config["n_layer"]):
            norm(f"h.{i}.ln_1", bias=True)
            norm(f"h.{i}.ln_2", bias=True)
            add(f"h.{i}.attn.c_attn", hidden, 3 * hidden, bias=True)
            add(f"h.{i}.attn.c_proj", hidden, hidden, bias=True)
            add(f"h.{i}.mlp.c_fc", hidden, inner, bias=True)
            add(f"h.{i}.mlp.c_proj", inner, hidden, bias=True)
        norm("ln_f", bias=True)
        return found
    phi, gemma = kind == "phi", kind.startswith("gemma")
    add("model.embed_tokens", config["vocab_size"], hidden)
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        for name, count in (("q", heads), ("k", kv), ("v", kv)):
            add(f"{at}self_attn.{name}_proj", count * dim, hidden, bias=phi or kind == "qwen2")
        add(at + ("self_attn.dense" if phi else "self_attn.o_proj"), hidden, heads * dim, bias=phi)
        norm(at + "input_layernorm", bias=phi)
        if phi:
            add(at + "mlp.fc1", inner, hidden, bias=True)
            add(at + "mlp.fc2", hidden, inner, bias=True)
            continue
        for name in ("gate", "up"):
            add(f"{at}mlp.{name}_proj", inner, hidden)
        add(at + "mlp.down_proj", hidden, inner)
        norm(at + "post_attention_layernorm")
        if gemma:
            for name in ("pre", "post"):
                norm(f"{at}{name}_feedforward_layernorm")
            for name in "qk":
                norm(f"{at}self_attn.{name}_norm", dim)
    norm("model.final_layernorm" if phi else "model.norm", bias=phi)
    if not (gemma or config.get("tie_word_embeddings")):
        add("lm_head", config["vocab_size"], hidden, bias=phi)
    return found


def save(folder: Path, config: dict[str, Any], arrays: Weights) -> Path:
    """The files of a published model."""
    from safetensors.numpy import save_file

    folder.mkdir(exist_ok=True)
    save_file(arrays, str(folder / "model.safetensors"))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def add_tokenizer(folder: Path) -> None:
    """Bytes as tokens, after three special ones; conversations in one line each."""
    import tokenizers as tk

    letters = sorted(tk.pre_tokenizers.ByteLevel.alphabet())
    special = ["<pad>", "<s>", "</s>"]
    model = tk.models.BPE(vocab={t: i for i, t in enumerate([*special, *letters])}, merges=[])
    made = tk.Tokenizer(model)
    made.pre_tokenizer = tk.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tk.decoders.ByteLevel()
    made.add_special_tokens(special)
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "bos_token": "<s>", "eos_token": {"content": "</s>"},
        "chat_template": "{% for m in messages %}{{ bos_token }}{{ m.role }}: {{ m.content }}"
        "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<s>assistant: {% endif %}",
    }))  # fmt: skip


# --- what numpy says ---


def logits(config: dict[str, Any], arrays: Weights, tokens: Array) -> Array:
    """Logits (tokens, vocabulary) of one sequence, by the formulas in float64."""
    w = {name: values.astype("float64") for name, values in arrays.items()}
    return _gpt2(config, w, tokens) if config["model_type"] == "gpt2" else _rotary(
        config, w, tokens
    )


def _gpt2(config: dict[str, Any], w: Weights, tokens: Array) -> Array:
    heads = config["n_head"]
    x = w["wte.weight"][tokens] + w["wpe.weight"][: len(tokens)]
    for i in range(config["n_layer"]):
        at = f"h.{i}."
        qkv = _layer_norm(x, w, at + "ln_1", 1e-5) @ w[at + "attn.c_attn.weight"]
        q, k, v = np.split(qkv + w[at + "attn.c_attn.bias"], 3, axis=1)
        q, k, v = (part.reshape(len(x), heads, -1) for part in (q, k, v))
        seen = _attend(q, k, v, 1 / math.sqrt(q.shape[-1]), 0)
        x = x + seen @ w[at + "attn.c_proj.weight"] + w[at + "attn.c_proj.bias"]
        inner = _layer_norm(x, w, at + "ln_2", 1e-5) @ w[at + "mlp.c_fc.weight"]
        inner = _gelu_tanh(inner + w[at + "mlp.c_fc.bias"])
        x = x + inner @ w[at + "mlp.c_proj.weight"] + w[at + "mlp.c_proj.bias"]
    return _layer_norm(x, w, "ln_f", 1e-5) @ w["wte.weight"].T


def _rotary(config: dict[str, Any], w: Weights, tokens: Array) -> Array:
    kind, hidden = config["model_type"], config["hidden_size"]
    heads = config["num_attention_heads"]
    phi, gemma = kind == "phi", kind.startswith("gemma")
    dim = config.get("head_dim", hidden // heads)
    eps = config.get("rms_norm_eps", 1e-6)

    def linear(x: Array, name: str) -> Array:
        out = x @ w[name + ".weight"].T
        return out + w[name + ".bias"] if name + ".bias" in w else out

    def norm(x: Array, name: str) -> Array:
        if phi:
            return _layer_norm(x, w, name, config["layer_norm_eps"])
        scaled = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return scaled * (w[name + ".weight"] + (1 if gemma else 0))

    x = w["model.embed_tokens.weight"][tokens] * (math.sqrt(hidden) if gemma else 1)
    places = np.arange(len(tokens))
    rotary = int(dim * config.get("partial_rotary_factor", 1))
    scale = config.get("query_pre_attn_scalar", dim) ** -0.5
    for i in range(config["num_hidden_layers"]):
        at = f"model.layers.{i}."
        local = gemma and config["layer_types"][i] == "sliding_attention"
        angles = _angles(config, rotary, 1e4 if local else config.get("rope_theta", 1e4))
        read = norm(x, at + "input_layernorm")
        q, k, v = (
            linear(read, f"{at}self_attn.{name}_proj").reshape(len(x), -1, dim) for name in "qkv"
        )
        if gemma:
            q, k = (norm(part, f"{at}self_attn.{n}_norm") for part, n in ((q, "q"), (k, "k")))
        q, k = (_turn(part, places, angles, rotary) for part in (q, k))
        seen = _attend(q, k, v, scale, config["sliding_window"] if local else 0)
        seen = linear(seen, at + ("self_attn.dense" if phi else "self_attn.o_proj"))
        if phi:
            x = x + seen + linear(_gelu_tanh(linear(read, at + "mlp.fc1")), at + "mlp.fc2")
            continue
        if gemma:
            seen = norm(seen, at + "post_attention_layernorm")
        x = x + seen
        read = norm(x, at + ("pre_feedforward_layernorm" if gemma else "post_attention_layernorm"))
        gate = linear(read, at + "mlp.gate_proj")
        gate = _gelu_tanh(gate) if gemma else gate / (1 + np.exp(-gate))
        inner = linear(gate * linear(read, at + "mlp.up_proj"), at + "mlp.down_proj")
        x = x + (norm(inner, at + "post_feedforward_layernorm") if gemma else inner)
    x = norm(x, "model.final_layernorm" if phi else "model.norm")
    out = linear(x, "lm_head" if "lm_head.weight" in w else "model.embed_tokens")
    cap = config.get("final_logit_softcapping")
    return np.tanh(out / cap) * cap if cap else out


def _angles(config: dict[str, Any], rotary: int, theta: float) -> Array:
    plain = theta ** -(np.arange(0, rotary, 2) / rotary)
    rule = config.get("rope_scaling")
    if not rule:
        return plain
    waves = rule["original_max_position_embeddings"] * plain / (2 * math.pi)
    low, high = rule["low_freq_factor"], rule["high_freq_factor"]
    share = np.clip((waves - low) / (high - low), 0, 1)
    return plain * share + plain / rule["factor"] * (1 - share)


def _turn(x: Array, places: Array, angles: Array, rotary: int) -> Array:
    turn = (places[:, None] * angles)[:, None]
    first, second, left = np.split(x, [rotary // 2, rotary], axis=-1)
    return np.concatenate([
        first * np.cos(turn) - second * np.sin(turn),
        second * np.cos(turn) + first * np.sin(turn), left,
    ], axis=-1)  # fmt: skip


def _attend(q: Array, k: Array, v: Array, scale: float, window: int) -> Array:
    groups = q.shape[1] // k.shape[1]
    k, v = (np.repeat(part, groups, axis=1) for part in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) * scale
    back = np.arange(len(q))[:, None] - np.arange(len(k))
    scores[:, (back < 0) | (back >= (window or len(k)))] = -np.inf
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", shares, v).reshape(len(q), -1)


def _layer_norm(x: Array, w: Weights, name: str, eps: float) -> Array:
    centred = x - x.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + eps)
    return scaled * w[name + ".weight"] + w[name + ".bias"]


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
