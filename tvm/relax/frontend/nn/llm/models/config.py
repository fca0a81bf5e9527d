"""What a decoder-only language model is made of, read from its published configuration.

One description covers the families that differ in parts only: which norm, which activation, where
biases stand, how positions enter, which layers see a window. `read_config` fills it in from the
`config.json` that a model is published with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from tvm.error import ArgumentValueError, message
from tvm.support.json_text import from_json
from tvm.support.suggest import did_you_mean

from .entries import MAX_LAYERS, Entries


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
    rope_scaling: Mapping[str, Any] = field(default_factory=dict)
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
    return config_of(read_json(path))


def read_json(path: str | Path) -> dict[str, Any]:
    """The entries of a folder's `config.json`, or of that file itself."""
    file = Path(path)
    if file.is_dir():
        file = file / "config.json"
    try:
        given = from_json(file.read_text("utf-8"))
    except (OSError, ValueError) as problem:
        raise ArgumentValueError(
            message(f"the configuration {file}", found=str(problem),
                    legal="a JSON file, as models are published with")
        ) from None  # fmt: skip
    if not isinstance(given, dict):
        raise ArgumentValueError(
            message(f"the configuration {file}", found=f"a {type(given).__name__}",
                    legal="a JSON object, as models are published with")
        )  # fmt: skip
    return given


def config_of(given: Mapping[str, Any]) -> ModelConfig:
    """The configuration that the entries of a `config.json` say."""
    kind = given.get("model_type")
    if kind == "gemma3" and "text_config" in given:
        text = Entries(given, "the configuration of a model").group("text_config")
        return config_of({"model_type": "gemma3_text", **text})
    family = FAMILIES.get(str(kind))
    if family is None:
        raise ArgumentValueError(
            message(f"a language model of type {kind!r}",
                    found="no such family" + did_you_mean(str(kind), FAMILIES),
                    legal=", ".join(sorted(FAMILIES)))
        )  # fmt: skip
    entries = Entries(given, f"the configuration of a model of type {kind!r}")
    for name, usual in _USUAL.items():
        if entries.has(name) and given[name] not in usual:
            raise entries.wrong(name, given[name], " or ".join(map(str, usual)))
    return _checked(family(entries), entries)


# What would make another computation, and is not known here: the values that make none.
_USUAL: Final[Mapping[str, tuple[Any, ...]]] = {
    "attn_logit_softcapping": (0,), "use_bidirectional_attention": (False,),
    "qk_layernorm": (False,), "scale_attn_weights": (True,),
    "scale_attn_by_inverse_layer_idx": (False,), "add_cross_attention": (False,),
}  # fmt: skip


def _checked(config: ModelConfig, entries: Entries) -> ModelConfig:
    """Sizes that fit each other."""
    if config.num_heads % config.num_kv_heads:
        raise entries.wrong("num_key_value_heads", config.num_kv_heads,
                            f"a divisor of {config.num_heads} heads")  # fmt: skip
    turns = config.positions == "rotary"
    if turns and (config.rotary_dim % 2 or not 2 <= config.rotary_dim <= config.head_dim):
        raise entries.wrong("the size of a head that turns", config.rotary_dim,
                            f"an even number up to {config.head_dim}")  # fmt: skip
    return config


def _eos(given: Entries) -> tuple[int, ...]:
    tokens = given.get("eos_token_id")
    found = [] if tokens is None else tokens if isinstance(tokens, list) else [tokens]
    if not all(type(token) is int and token >= 0 for token in found):
        raise given.wrong("eos_token_id", tokens, "a token, or a list of tokens")
    return tuple(found)


def _rope(given: Entries) -> dict[str, Any]:
    """Base and scaling of rotary angles: entries of their own, or one that holds both."""
    rule = given.group("rope_parameters" if given.has("rope_parameters") else "rope_scaling")
    theta = rule.number("rope_theta", given.number("rope_theta", 1e4))
    if theta <= 1:
        raise given.wrong("rope_theta", theta, "a number above 1")
    kind = rule.text("rope_type", rule.text("type", "default"))
    scaling = {n: v for n, v in rule.items() if n not in ("rope_theta", "type") and v is not None}
    scaling["rope_type"] = kind
    return {"rope_theta": theta, "rope_scaling": {} if kind in ("default", "mrope") else scaling}


def _layers(given: Entries) -> int:
    return given.size("num_hidden_layers", most=MAX_LAYERS)


def _head_dim(given: Entries) -> int:
    heads, hidden = given.size("num_attention_heads"), given.size("hidden_size")
    if given.has("head_dim"):
        return given.size("head_dim")
    if hidden % heads:
        raise given.wrong("hidden_size", hidden, f"a multiple of {heads} heads")
    return hidden // heads


def _usual(given: Entries, **parts: Any) -> ModelConfig:
    """The entries that the families share; `parts` are those in which one differs."""
    heads, head_dim = given.size("num_attention_heads"), _head_dim(given)
    known: dict[str, Any] = {
        "family": given.text("model_type"),
        "vocab_size": given.size("vocab_size"),
        "hidden_size": given.size("hidden_size"),
        "intermediate_size": given.size("intermediate_size"),
        "num_layers": _layers(given),
        "num_heads": heads,
        "num_kv_heads": given.size("num_key_value_heads", heads),
        "head_dim": head_dim,
        "context_length": given.size("max_position_embeddings", 2048),
        "norm_eps": given.number("rms_norm_eps", 1e-6),
        "activation": parts.get("activation") or _activation(given, "hidden_act", "silu"),
        "rotary_dim": head_dim,
        "tied_head": given.truth("tie_word_embeddings"),
        "eos": _eos(given),
        **({} if parts.get("positions") == "learned" else _rope(given)),
    }
    return ModelConfig(**{**known, **parts})


_ACTIVATIONS: Final[Mapping[str, Literal["silu", "gelu", "gelu_tanh"]]] = {
    "silu": "silu", "swish": "silu", "gelu": "gelu",
    "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh",
}  # fmt: skip


def _activation(
    given: Entries, entry: str, default: str
) -> Literal["silu", "gelu", "gelu_tanh"]:
    name = given.text(entry, default)
    if name not in _ACTIVATIONS:
        raise given.wrong(entry, name, ", ".join(sorted(_ACTIVATIONS)))
    return _ACTIVATIONS[name]


def _windows(given: Entries, kinds: list[str] | None = None) -> dict[str, Any]:
    """Which layers see a window only; one as long as the context is none."""
    window = given.get("sliding_window") and given.size("sliding_window")
    if not window or window >= given.size("max_position_embeddings", window + 1):
        return {}
    layers = _layers(given)
    kinds = kinds or given.texts("layer_types", layers) or ["sliding_attention"] * layers
    chosen = tuple(i for i, kind in enumerate(kinds) if kind == "sliding_attention")
    return {"sliding_window": window, "windowed": chosen} if chosen else {}


def _llama(given: Entries) -> ModelConfig:
    bias = given.truth("attention_bias")
    return _usual(given, qkv_bias=bias, out_bias=bias, mlp_bias=given.truth("mlp_bias"))


def _mistral(given: Entries) -> ModelConfig:
    return _usual(given, **_windows(given))


def _qwen_windows(given: Entries) -> dict[str, Any]:
    """Those of the layers above a level, where they are switched on."""
    if not given.truth("use_sliding_window"):
        return {}
    if given.has("layer_types"):
        return _windows(given)
    layers = _layers(given)
    first = given.get("max_window_layers", layers)
    if type(first) is not int or first < 0:
        raise given.wrong("max_window_layers", first, "a whole number from 0 on")
    kinds = ["full_attention"] * min(first, layers)
    return _windows(given, kinds + ["sliding_attention"] * (layers - len(kinds)))


def _qwen2(given: Entries) -> ModelConfig:
    return _usual(given, qkv_bias=True, **_qwen_windows(given))


def _qwen3(given: Entries) -> ModelConfig:
    bias = given.truth("attention_bias")
    return _usual(given, qk_norm=True, qkv_bias=bias, out_bias=bias, **_qwen_windows(given))


def _gemma(given: Entries) -> ModelConfig:
    return _usual(
        given, activation=_activation(given, "hidden_activation", "gelu_pytorch_tanh"),
        tied_head=given.truth("tie_word_embeddings", True),
        embed_scale=math.sqrt(given.size("hidden_size")),
    )  # fmt: skip


def _gemma3(given: Entries) -> ModelConfig:
    """Five layers in six see a window, and turn faster."""
    layers = _layers(given)
    every = given.size("sliding_window_pattern", given.size("_sliding_window_pattern", 6))
    kinds = given.texts("layer_types", layers) or [
        "full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(layers)
    ]
    rope, local = given.group("rope_parameters"), given.number("rope_local_base_freq", 1e4)
    if rope.has("full_attention"):  # an entry for each kind of layer
        local = rope.group("sliding_attention").number("rope_theta", local)
        given = given.with_values(rope_parameters=dict(rope.group("full_attention")))
    capped = given.get("final_logit_softcapping")
    return _usual(
        given, activation=_activation(given, "hidden_activation", "gelu_pytorch_tanh"),
        tied_head=given.truth("tie_word_embeddings", True), qk_norm=True, post_norms=True,
        embed_scale=math.sqrt(given.size("hidden_size")), local_rope_theta=local,
        attention_scale=given.number("query_pre_attn_scalar", 256) ** -0.5,
        logit_softcap=given.number("final_logit_softcapping") if capped else 0.0,
        **_windows(given, kinds),
    )  # fmt: skip


def _turning(given: Entries, default: float) -> int:
    """The leading elements of a head that turn."""
    own = given.number("partial_rotary_factor", default)
    share = given.group("rope_parameters").number("partial_rotary_factor", own)
    return int(_head_dim(given) * min(share, 1.0))


def _phi(given: Entries) -> ModelConfig:
    return _usual(
        given, norm="layer", norm_eps=given.number("layer_norm_eps", 1e-5), gated=False,
        parallel_block=True, rotary_dim=_turning(given, 0.5), qkv_bias=True, out_bias=True,
        mlp_bias=True, head_bias=True, activation=_activation(given, "hidden_act", "gelu_new"),
    )  # fmt: skip


def _phi3(given: Entries) -> ModelConfig:
    config = _usual(given, rotary_dim=_turning(given, 1.0), **_windows(given))
    if config.rope_scaling and given.has("original_max_position_embeddings"):
        first = given.size("original_max_position_embeddings")
        scaling = {**config.rope_scaling, "original_max_position_embeddings": first}
        config = replace(config, rope_scaling=scaling)
    return config


def _gpt2(given: Entries) -> ModelConfig:
    hidden = given.size("n_embd")
    names = {
        "hidden_size": hidden, "num_attention_heads": given.size("n_head"),
        "num_hidden_layers": given.size("n_layer", most=MAX_LAYERS),
        "max_position_embeddings": given.size("n_positions"),
        "intermediate_size": given.size("n_inner", 4 * hidden),
    }  # fmt: skip
    return _usual(
        given.with_values(**names), norm="layer",
        norm_eps=given.number("layer_norm_epsilon", 1e-5),
        activation=_activation(given, "activation_function", "gelu_new"), gated=False,
        positions="learned", qkv_bias=True, out_bias=True, mlp_bias=True,
        tied_head=given.truth("tie_word_embeddings", True),
    )  # fmt: skip


# `model_type` of a config.json: how its entries are read
FAMILIES: Final[Mapping[str, Callable[[Entries], ModelConfig]]] = {
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
