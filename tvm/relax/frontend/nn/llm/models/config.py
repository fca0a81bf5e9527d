"""What a decoder-only language model is made of, read from its published configuration.

One description covers the families that differ in parts only: which norm, which activation, where
biases stand, how positions enter, which layers see a window. `read_config` fills it in from the
`config.json` that a model is published with.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from tvm.error import ArgumentValueError, message
from tvm.support.suggest import did_you_mean

Json = Mapping[str, Any]


@dataclass(frozen=True)
class ModelConfig:
    """Sizes and parts of a decoder; sizes count elements."""

    family: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    context_length: int             # tokens that a sequence may have
    norm: Literal["rms", "layer"] = "rms"
    norm_eps: float = 1e-6
    activation: Literal["silu", "gelu", "gelu_tanh"] = "silu"
    gated: bool = True              # the first product has two halves: act(gate) * up
    parallel_block: bool = False    # attention and MLP read one norm, and are added together
    post_norms: bool = False        # norms after attention and MLP as well
    qk_norm: bool = False           # an RMS norm of each query and key head
    positions: Literal["rotary", "learned"] = "rotary"
    rotary_dim: int = 0             # the leading elements of a head that turn
    rope_theta: float = 1e4
    rope_scaling: Json = field(default_factory=dict)
    local_rope_theta: float | None = None   # that of layers with a window, where it differs
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    tied_head: bool = False         # the head is the table of embeddings
    embed_scale: float = 1.0
    attention_scale: float = 0.0    # 0: 1 / sqrt(head_dim)
    logit_softcap: float = 0.0      # c * tanh(logits / c); 0: none
    sliding_window: int = 0         # how far back the layers of `windowed` see; 0: all the way
    windowed: tuple[int, ...] = ()
    eos: tuple[int, ...] = ()

    @property
    def score_scale(self) -> float:
        """What products of queries and keys are multiplied with."""
        return self.attention_scale or 1 / math.sqrt(self.head_dim)


def read_config(path: str | Path) -> ModelConfig:
    """The configuration in a folder's `config.json`, or in that file itself."""
    file = Path(path)
    if file.is_dir():
        file = file / "config.json"
    try:
        given = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise ArgumentValueError(
            message(f"the configuration {file}", found=str(problem),
                    legal="a JSON file, as models are published with")
        ) from None  # fmt: skip
    return config_of(given)


def config_of(given: Json) -> ModelConfig:
    """The configuration that the entries of a `config.json` say."""
    kind = given.get("model_type")
    if kind == "gemma3" and "text_config" in given:
        return config_of(given["text_config"])
    family = FAMILIES.get(str(kind))
    if family is None:
        raise ArgumentValueError(
            message(f"a language model of type {kind!r}",
                    found="no such family" + did_you_mean(str(kind), FAMILIES),
                    legal=", ".join(sorted(FAMILIES)))
        )  # fmt: skip
    try:
        return family(given)
    except KeyError as missing:
        raise ArgumentValueError(
            message(f"the configuration of a model of type {kind!r}",
                    found=f"no entry {missing}", legal="the entries that such models have")
        ) from None  # fmt: skip


def _eos(given: Json) -> tuple[int, ...]:
    tokens = given.get("eos_token_id")
    if tokens is None:
        return ()
    return tuple(tokens) if isinstance(tokens, list) else (int(tokens),)


def _rope(given: Json) -> dict[str, Any]:
    """Base and scaling of rotary angles: entries of their own, or one that holds both."""
    scaling = dict(given.get("rope_parameters") or given.get("rope_scaling") or {})
    theta = scaling.pop("rope_theta", None) or given.get("rope_theta") or 1e4
    kind = scaling.pop("type", None)
    scaling.setdefault("rope_type", kind or "default")
    if scaling["rope_type"] in ("default", "mrope"):
        scaling = {}
    return {"rope_theta": float(theta), "rope_scaling": scaling}


def _usual(given: Json, **parts: Any) -> ModelConfig:
    """The entries that the families share; `parts` are those in which one differs."""
    heads = int(given["num_attention_heads"])
    hidden = int(given["hidden_size"])
    head_dim = int(given.get("head_dim") or hidden // heads)
    known: dict[str, Any] = {
        "family": given["model_type"],
        "vocab_size": int(given["vocab_size"]),
        "hidden_size": hidden,
        "intermediate_size": int(given["intermediate_size"]),
        "num_layers": int(given["num_hidden_layers"]),
        "num_heads": heads,
        "num_kv_heads": int(given.get("num_key_value_heads") or heads),
        "head_dim": head_dim,
        "context_length": int(given.get("max_position_embeddings", 2048)),
        "norm_eps": float(given.get("rms_norm_eps", 1e-6)),
        "activation": _activation(given.get("hidden_act", "silu")),
        "rotary_dim": head_dim,
        "tied_head": bool(given.get("tie_word_embeddings", False)),
        "eos": _eos(given),
        **({} if parts.get("positions") == "learned" else _rope(given)),
    }
    return ModelConfig(**{**known, **parts})


_ACTIVATIONS: Final[Mapping[str, Literal["silu", "gelu", "gelu_tanh"]]] = {
    "silu": "silu", "swish": "silu", "gelu": "gelu",
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh",
}  # fmt: skip


def _activation(name: str) -> Literal["silu", "gelu", "gelu_tanh"]:
    if name not in _ACTIVATIONS:
        raise ArgumentValueError(
            message("the activation of a language model", found=repr(name),
                    legal=", ".join(sorted(_ACTIVATIONS)))
        )  # fmt: skip
    return _ACTIVATIONS[name]


def _windows(given: Json, layers: int) -> dict[str, Any]:
    """Which layers see a window only; one as long as the context is none."""
    window = given.get("sliding_window") or 0
    if not window or given.get("use_sliding_window") is False:
        return {}
    if window >= given.get("max_position_embeddings", window + 1):
        return {}
    kinds = given.get("layer_types") or ["sliding_attention"] * layers
    chosen = tuple(i for i, kind in enumerate(kinds) if kind == "sliding_attention")
    return {"sliding_window": int(window), "windowed": chosen} if chosen else {}


def _llama(given: Json) -> ModelConfig:
    bias = bool(given.get("attention_bias", False))
    return _usual(given, qkv_bias=bias, out_bias=bias, mlp_bias=bool(given.get("mlp_bias", False)))


def _mistral(given: Json) -> ModelConfig:
    return _usual(given, **_windows(given, int(given["num_hidden_layers"])))


def _qwen2(given: Json) -> ModelConfig:
    layers = int(given["num_hidden_layers"])
    windows = _windows(given, layers)
    if windows and "layer_types" not in given:  # those above a level
        first = int(given.get("max_window_layers", layers))
        windows["windowed"] = tuple(range(first, layers))
    return _usual(given, qkv_bias=True, **(windows if windows.get("windowed") else {}))


def _qwen3(given: Json) -> ModelConfig:
    bias = bool(given.get("attention_bias", False))
    windows = _windows(given, int(given["num_hidden_layers"]))
    return _usual(given, qk_norm=True, qkv_bias=bias, out_bias=bias, **windows)


def _gemma(given: Json) -> ModelConfig:
    activation = given.get("hidden_activation") or "gelu_pytorch_tanh"
    return _usual(
        given, activation=_activation(activation), tied_head=given.get("tie_word_embeddings", True),
        embed_scale=math.sqrt(given["hidden_size"]),
    )  # fmt: skip


def _gemma3(given: Json) -> ModelConfig:
    """Five layers in six see a window, and turn faster."""
    layers = int(given["num_hidden_layers"])
    every = int(given.get("sliding_window_pattern") or given.get("_sliding_window_pattern") or 6)
    kinds = given.get("layer_types") or [
        "full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(layers)
    ]
    rope = dict(given.get("rope_parameters") or {})
    local = given.get("rope_local_base_freq", 1e4)
    if "full_attention" in rope:  # an entry for each kind of layer
        local = rope.get("sliding_attention", {}).get("rope_theta", local)
        given = {**given, "rope_parameters": rope["full_attention"]}
    return _usual(
        given, activation=_activation(given.get("hidden_activation") or "gelu_pytorch_tanh"),
        tied_head=given.get("tie_word_embeddings", True), qk_norm=True, post_norms=True,
        embed_scale=math.sqrt(given["hidden_size"]), local_rope_theta=float(local),
        attention_scale=given.get("query_pre_attn_scalar", 256) ** -0.5,
        logit_softcap=float(given.get("final_logit_softcapping") or 0.0),
        **_windows({**given, "layer_types": kinds}, layers),
    )  # fmt: skip


def _phi(given: Json) -> ModelConfig:
    rope = given.get("rope_parameters") or {}
    share = rope.get("partial_rotary_factor", given.get("partial_rotary_factor", 0.5))
    head_dim = given["hidden_size"] // given["num_attention_heads"]
    return _usual(
        given, norm="layer", norm_eps=float(given.get("layer_norm_eps", 1e-5)), gated=False,
        parallel_block=True, rotary_dim=int(head_dim * share), qkv_bias=True, out_bias=True,
        mlp_bias=True, head_bias=True, activation=_activation(given.get("hidden_act", "gelu_new")),
    )  # fmt: skip


def _phi3(given: Json) -> ModelConfig:
    rope = given.get("rope_parameters") or {}
    share = rope.get("partial_rotary_factor", given.get("partial_rotary_factor", 1.0))
    head_dim = given["hidden_size"] // given["num_attention_heads"]
    config = _usual(
        given, rotary_dim=int(head_dim * share), **_windows(given, int(given["num_hidden_layers"])),
    )  # fmt: skip
    first = given.get("original_max_position_embeddings")
    if first and config.rope_scaling:
        scaling = {**config.rope_scaling, "original_max_position_embeddings": first}
        config = ModelConfig(**{**vars(config), "rope_scaling": scaling})
    return config


def _gpt2(given: Json) -> ModelConfig:
    hidden = int(given["n_embd"])
    names = {
        "hidden_size": hidden, "num_attention_heads": given["n_head"],
        "num_hidden_layers": given["n_layer"], "max_position_embeddings": given["n_positions"],
        "intermediate_size": given.get("n_inner") or 4 * hidden,
    }  # fmt: skip
    return _usual(
        {**given, **names}, norm="layer", norm_eps=float(given.get("layer_norm_epsilon", 1e-5)),
        activation=_activation(given.get("activation_function", "gelu_new")), gated=False,
        positions="learned", qkv_bias=True, out_bias=True, mlp_bias=True,
        tied_head=bool(given.get("tie_word_embeddings", True)),
    )  # fmt: skip


# `model_type` of a config.json: how its entries are read
FAMILIES: Final[Mapping[str, Callable[[Json], ModelConfig]]] = {
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma": _gemma,
    "gemma3": _gemma3,
    "gemma3_text": _gemma3,
    "phi": _phi,
    "phi3": _phi3,
    "gpt2": _gpt2,
}
