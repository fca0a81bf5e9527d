"""From a checkpoint's arrays to the parameters of `DecoderLM`.

    qkv_proj.weight     =  q_proj.weight, k_proj.weight, v_proj.weight, one below the other
    gate_up_proj.weight =  gate_proj.weight, up_proj.weight
    GPT-2               :  weights lie (in, out) and are turned over
    Gemma               :  a norm multiplies with 1 + weight
    GGUF of Llama       :  rows of queries and keys stand in pairs and are sorted back

Each family has a table of names; one parameter is read at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.support.suggest import did_you_mean

from .checkpoint import Array, Checkpoint, Source, as_it_is, source
from .config import ModelConfig
from .gguf import GGUF, gguf_sources
from .grouped import Grouped, Numbers


def read_parameter(checkpoint: Checkpoint, config: ModelConfig, name: str) -> Array:
    """The values of the parameter `name` of `DecoderLM`, (out, in) or (size,), in float32."""
    parts = source_of(checkpoint, config, name).parts
    missing = [part for part, _ in parts if part not in checkpoint]
    if missing:
        raise ArgumentValueError(
            message(f"the weights {missing[0]} (for {name})",
                    found="no array of this name" + did_you_mean(missing[0], list(checkpoint)),
                    legal=f"a checkpoint of the family {config.family}")
        )  # fmt: skip
    values = [prepare(np.asarray(checkpoint.array(part), "float32")) for part, prepare in parts]
    shapes = {value.shape[1:] for value in values}
    if len(shapes) > 1:
        raise ArgumentValueError(
            message(f"the arrays {', '.join(part for part, _ in parts)} (for {name})",
                    found=f"rows of {', '.join(map(str, sorted(shapes)))}",
                    legal="rows of one shape")
        )  # fmt: skip
    whole = values[0] if len(values) == 1 else np.concatenate(values)
    return np.ascontiguousarray(whole)


def read_numbers(checkpoint: Checkpoint, config: ModelConfig, name: str) -> Numbers | None:
    """The numbers of 4 bits that a parameter's weights are stored as; None for other weights."""
    if not isinstance(checkpoint, Grouped):
        return None
    found = []
    for part, prepare in source_of(checkpoint, config, name).parts:
        numbers = checkpoint.numbers(part) if prepare is as_it_is else None
        if numbers is None:
            return None
        found.append(numbers)
    if len({(n.values.shape[1], n.scale.shape[1]) for n in found}) > 1:
        return None  # whose shapes `read_parameter` refuses
    return Numbers(*(np.concatenate(arrays) for arrays in zip(*found)))


def source_of(checkpoint: Checkpoint, config: ModelConfig, name: str) -> Source:
    """Where a parameter's values are in this checkpoint."""
    named = gguf_sources(config) if isinstance(checkpoint, GGUF) else _published(config, checkpoint)
    stem, _, leaf = name.rpartition(".")
    layer = ""
    if stem.startswith("model.layers."):
        _, _, layer, stem = stem.split(".", 3)
    return named[stem].of(leaf, layer)


_NORMS: Final = (
    "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
    "post_feedforward_layernorm", "self_attn.q_norm", "self_attn.k_norm",
)  # fmt: skip


def _published(config: ModelConfig, names: Iterable[str]) -> Mapping[str, Source]:
    """The sources of each parameter of a layer and around the layers, as models are published."""
    if config.family == "gpt2":
        return _gpt2(any(name.startswith("transformer.") for name in names))
    prefix = next((p for p in ("language_model.",) if any(n.startswith(p) for n in names)), "")
    inner = prefix + "model.layers.{i}."
    norm = _one_more if config.family.startswith("gemma") else None

    def parts(*names: str) -> Source:
        return source(*(inner + name for name in names))

    table = {
        "model.embed_tokens": source(prefix + "model.embed_tokens"),
        "lm_head": source(prefix + "lm_head"),
        "model.norm": source(prefix + "model.norm", prepare=norm),
        "self_attn.qkv_proj": parts(*(f"self_attn.{x}_proj" for x in "qkv")),
        "self_attn.o_proj": parts("self_attn.o_proj"),
        "mlp.gate_up_proj": parts("mlp.gate_proj", "mlp.up_proj"),
        "mlp.up_proj": parts("mlp.up_proj"),
        "mlp.down_proj": parts("mlp.down_proj"),
        **{name: source(inner + name, prepare=norm) for name in _NORMS},
    }
    if config.family == "phi3":
        table["self_attn.qkv_proj"] = parts("self_attn.qkv_proj")
        table["mlp.gate_up_proj"] = parts("mlp.gate_up_proj")
    if config.family == "phi":
        table["self_attn.o_proj"] = parts("self_attn.dense")
        table["mlp.up_proj"], table["mlp.down_proj"] = parts("mlp.fc1"), parts("mlp.fc2")
        table["model.norm"] = source("model.final_layernorm")
    return table


def _gpt2(prefixed: bool) -> Mapping[str, Source]:
    prefix = "transformer." * prefixed
    inner = prefix + "h.{i}."
    return {
        "model.embed_tokens": source(prefix + "wte"),
        "model.embed_positions": source(prefix + "wpe"),
        "model.norm": source(prefix + "ln_f"),
        "lm_head": source("lm_head"),
        "input_layernorm": source(inner + "ln_1"),
        "post_attention_layernorm": source(inner + "ln_2"),
        "self_attn.qkv_proj": source(inner + "attn.c_attn", prepare=np.transpose),
        "self_attn.o_proj": source(inner + "attn.c_proj", prepare=np.transpose),
        "mlp.up_proj": source(inner + "mlp.c_fc", prepare=np.transpose),
        "mlp.down_proj": source(inner + "mlp.c_proj", prepare=np.transpose),
    }


def _one_more(weight: Array) -> Array:
    more: Array = weight + np.float32(1)
    return more
