"""GGUF files, as llama.cpp reads them: arrays, the model's configuration, names of weights.

The library `gguf` of its makers reads the format (the extra `llm` installs it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.runtime.extras import extra_package
from tvm.support.suggest import did_you_mean

from .checkpoint import Array, Source, source
from .config import ModelConfig, config_of
from .entries import Entries

# what `general.architecture` says: the family
ARCHITECTURES: Final = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma": "gemma",
    "gemma3": "gemma3_text", "phi2": "phi", "phi3": "phi3", "gpt2": "gpt2",
}  # fmt: skip


class GGUF:
    """The arrays and the entries of a GGUF file; arrays of few bits become float32."""

    def __init__(self, path: str | Path) -> None:
        self._library = extra_package("gguf", "llm", "a GGUF file")
        try:
            reader = self._library.GGUFReader(str(path))
            entries = {name: field.contents() for name, field in reader.fields.items()}
        except (OSError, ValueError, IndexError, KeyError, TypeError, MemoryError) as problem:
            raise ArgumentValueError(
                message(f"the file {path}", found=f"{type(problem).__name__}: {problem}",
                        legal="a GGUF file of version 2 or 3")
            ) from None  # fmt: skip
        self.tensors = {tensor.name: tensor for tensor in reader.tensors}
        self.entries = Entries(entries, f"the file {path}")

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def kind(self, name: str) -> str:
        """The format of an array, as GGUF names it: F32, BF16, Q8_0, Q4_K, ..."""
        return str(self.tensors[name].tensor_type.name)

    def array(self, name: str) -> Array:
        """The values, the outermost dimension first, in float32."""
        tensor = self.tensors[name]
        if tensor.data.dtype.kind in "fi":  # F64, I32: bytes (u) are for formats of few bits
            return np.asarray(tensor.data, "float32")
        try:
            values = self._library.quants.dequantize(tensor.data, tensor.tensor_type)
        except (NotImplementedError, ValueError) as problem:
            raise ArgumentValueError(
                message(f"the array {name}", found=f"format {self.kind(name)}: {problem}",
                        legal="a format that the package gguf widens")
            ) from None  # fmt: skip
        return np.asarray(values, "float32")


def gguf_sources(config: ModelConfig) -> Mapping[str, Source]:
    """The sources of each parameter of a layer and around the layers."""
    inner = "blk.{i}."

    def parts(*names: str) -> Source:
        return source(*(inner + name for name in names))

    whole = config.family in ("gpt2", "phi", "phi3")
    qkv = parts("attn_qkv") if whole else parts("attn_q", "attn_k", "attn_v")
    if config.family in ("llama", "mistral"):
        q, k, (v, as_it_is) = qkv.parts
        qkv = Source((
            (q[0], partial(sort_pairs, heads=config.num_heads)),
            (k[0], partial(sort_pairs, heads=config.num_kv_heads)), (v, as_it_is),
        ))  # fmt: skip
    return {
        "model.embed_tokens": source("token_embd"),
        "model.embed_positions": source("position_embd"),
        "model.norm": source("output_norm"),
        "lm_head": source("output"),
        "input_layernorm": parts("attn_norm"),
        "post_attention_layernorm": parts(
            "post_attention_norm" if config.post_norms else "ffn_norm"
        ),
        "pre_feedforward_layernorm": parts("ffn_norm"),
        "post_feedforward_layernorm": parts("post_ffw_norm"),
        "self_attn.q_norm": parts("attn_q_norm"),
        "self_attn.k_norm": parts("attn_k_norm"),
        "self_attn.qkv_proj": qkv,
        "self_attn.o_proj": parts("attn_output"),
        "mlp.gate_up_proj": parts(*["ffn_gate", "ffn_up"][config.family == "phi3":]),
        "mlp.up_proj": parts("ffn_up"),
        "mlp.down_proj": parts("ffn_down"),
    }


def sort_pairs(rows: Array, heads: int) -> Array:
    """Rows of heads whose pairs stand side by side, sorted into two halves a head."""
    dim = rows.shape[0] // heads
    if len(rows) % (2 * heads):
        raise ArgumentValueError(
            message("rows of queries or keys in pairs", found=f"{len(rows)} rows",
                    legal=f"a multiple of {2 * heads}, for {heads} heads")
        )  # fmt: skip
    pairs = rows.reshape(heads, dim // 2, 2, *rows.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)


def gguf_config(file: GGUF) -> ModelConfig:
    """The configuration that the entries of a file say."""
    kind = file.entries.text("general.architecture")
    if kind not in ARCHITECTURES:
        raise ArgumentValueError(
            message("a language model in a GGUF file",
                    found=f"architecture {kind!r}" + did_you_mean(kind, list(ARCHITECTURES)),
                    legal=", ".join(sorted(ARCHITECTURES)))
        )  # fmt: skip
    start = f"{kind}."
    own = {n.removeprefix(start): v for n, v in file.entries.items() if n.startswith(start)}
    given = Entries(own, f"the entries {start}* of a GGUF file")
    heads, hidden = given.size("attention.head_count"), given.size("embedding_length")
    layers, inner = given.size("block_count"), given.size("feed_forward_length")
    length = given.size("context_length")
    head_dim = given.size("attention.key_length", max(hidden // heads, 1))
    eps = given.get("attention.layer_norm_rms_epsilon", given.get("attention.layer_norm_epsilon"))
    turning = given.size("rope.dimension_count", head_dim)
    if "token_embd.weight" not in file:
        raise file.entries.wrong("token_embd.weight", None, "a table of embeddings")
    return config_of({
        "model_type": ARCHITECTURES[kind],
        "vocab_size": int(file.tensors["token_embd.weight"].shape[-1]),
        "hidden_size": hidden, "n_embd": hidden,
        "intermediate_size": inner, "n_inner": inner,
        "num_hidden_layers": layers, "n_layer": layers,
        "num_attention_heads": heads, "n_head": heads,
        "num_key_value_heads": given.get("attention.head_count_kv", heads),
        "head_dim": head_dim,
        "max_position_embeddings": length, "n_positions": length,
        "rms_norm_eps": eps, "layer_norm_eps": eps, "layer_norm_epsilon": eps,
        "sliding_window": given.get("attention.sliding_window"),
        "use_sliding_window": False,
        "final_logit_softcapping": given.get("final_logit_softcapping"),
        "query_pre_attn_scalar": head_dim,
        "partial_rotary_factor": turning / head_dim,
        "tie_word_embeddings": "output.weight" not in file,
        "eos_token_id": file.entries.get("tokenizer.ggml.eos_token_id"),
        "rope_theta": given.number("rope.freq_base", 1e4),
        **_scaling(file, given),
    })  # fmt: skip


def _scaling(file: GGUF, given: Entries) -> dict[str, Any]:
    """How rotary angles are scaled: by a rule, or by a divisor for each dimension."""
    first = given.get("rope.scaling.original_context_length")
    if "rope_freqs.weight" in file:
        divisors = file.array("rope_freqs.weight").tolist()
        return {"rope_scaling": {"rope_type": "divisors", "divisors": divisors}}
    if "rope_factors_long.weight" in file:
        scaling: dict[str, Any] = {
            f"{name}_factor": file.array(f"rope_factors_{name}.weight").tolist()
            for name in ("long", "short") if f"rope_factors_{name}.weight" in file
        }  # fmt: skip
        scaling |= {"rope_type": "longrope", "original_max_position_embeddings": first}
        scaling["attention_factor"] = given.get("rope.scaling.attn_factor")
        return {"rope_scaling": scaling}
    kind = given.text("rope.scaling.type", "none")
    if kind == "none":
        return {}
    return {"rope_scaling": {
        "rope_type": kind, "factor": given.number("rope.scaling.factor", 1.0),
        "original_max_position_embeddings": first,
    }}  # fmt: skip
