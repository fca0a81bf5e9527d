"""GGUF files: names, pairs of rows, scalings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serve import small_models
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models import rotary
from tvm.relax.frontend.nn.llm.models.gguf import GGUF, gguf_config, sort_pairs
from tvm.relax.frontend.nn.llm.models.weights import read_parameter

pytestmark = pytest.mark.pure


def test_gguf_files_are_read(tmp_path: Path) -> None:
    """Rows of queries and keys in pairs, and numbers of 8 bits in blocks, as they stand there."""
    config = small_models.CONFIGS["llama"]
    arrays = small_models.weights(config)
    path = tmp_path / "small.gguf"
    writer = _writer(path, "llama")
    writer.add_block_count(2)
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500.0)
    writer.add_eos_token_id(2)
    names = {"self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
             "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
             "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
             "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "model.embed_tokens": "token_embd",
             "model.norm": "output_norm", "lm_head": "output"}  # fmt: skip
    for name, values in arrays.items():
        stem = name.removesuffix(".weight")
        if stem.startswith("model.layers."):
            _, _, layer, stem = stem.split(".", 3)
            own = f"blk.{layer}.{names[stem]}.weight"
        else:
            own = f"{names[stem]}.weight"
        if "attn_q" in own or "attn_k" in own:
            heads = 4 if "attn_q" in own else 2
            pairs = values.reshape(heads, 2, -1, 32).swapaxes(1, 2)
            values = np.ascontiguousarray(pairs).reshape(values.shape)
        writer.add_tensor(own, values)
    low = {**config["rope_scaling"]}
    angles = small_models._angles({**config, "rope_scaling": None}, 8, 500.0)
    scaled = small_models._angles({**config, "rope_scaling": low}, 8, 500.0)
    writer.add_tensor("rope_freqs.weight", (angles / scaled).astype("float32"))
    _finish(writer)
    checkpoint = GGUF(path)
    found = gguf_config(checkpoint)
    assert (found.num_heads, found.num_kv_heads, found.eos, found.tied_head) == (4, 2, (2,), False)
    for name, values in arrays.items():
        if "_proj" not in name or "o_proj" in name or "down_proj" in name:
            np.testing.assert_array_equal(read_parameter(checkpoint, found, name), values)
    qkv = read_parameter(checkpoint, found, "model.layers.1.self_attn.qkv_proj.weight")
    parts = [arrays[f"model.layers.1.self_attn.{x}_proj.weight"] for x in "qkv"]
    np.testing.assert_array_equal(qkv, np.concatenate(parts))
    np.testing.assert_allclose(rotary.frequencies(found)[0], scaled, rtol=1e-6)


def test_numbers_of_few_bits_become_float32(tmp_path: Path) -> None:
    import gguf

    values = np.random.default_rng(0).standard_normal((4, 64)).astype("float32")
    for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0):
        writer = _writer(tmp_path / "x.gguf", "llama")
        data = gguf.quants.quantize(values, kind)
        writer.add_tensor("token_embd.weight", data, raw_dtype=kind)
        _finish(writer)
        file = GGUF(tmp_path / "x.gguf")
        assert file.kind("token_embd.weight") == kind.name
        assert np.abs(file.array("token_embd.weight") - values).max() < 0.4


def test_numbers_of_plain_types_are_widened(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "x.gguf", "llama")
    kinds = ("float64", "float16", "int8", "int16", "int32", "int64")
    values = np.arange(-3, 3).reshape(2, 3)
    for kind in kinds:
        writer.add_tensor(kind, values.astype(kind))
    _finish(writer)
    file = GGUF(tmp_path / "x.gguf")
    for kind in kinds:
        assert file.array(kind).dtype == "float32"
        np.testing.assert_array_equal(file.array(kind), values)


def _writer(path: Path, kind: str) -> Any:
    import gguf

    return gguf.GGUFWriter(str(path), kind)


def _finish(writer: Any) -> None:
    for name in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file"):
        getattr(writer, name)()
    writer.close()


def test_pairs_are_sorted_into_halves() -> None:
    rows = np.arange(12)
    assert sort_pairs(rows, 2).tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]


def test_what_is_no_model_is_named(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "x.gguf", "llamma")
    writer.add_tensor("a", np.zeros(3, "float32"))
    _finish(writer)
    with pytest.raises(TVMError, match="architecture 'llamma'; did you mean 'llama'"):
        gguf_config(GGUF(tmp_path / "x.gguf"))
    writer = _writer(tmp_path / "y.gguf", "llama")
    writer.add_tensor("a", np.zeros(3, "float32"))
    _finish(writer)
    words = r"the entries llama\.\* .*\n.*no entry 'attention.head_count'"
    with pytest.raises(TVMError, match=words):
        gguf_config(GGUF(tmp_path / "y.gguf"))


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "x.gguf", "llama")
    for name in ("block_count", "context_length", "embedding_length", "feed_forward_length",
                 "head_count", "head_count_kv"):  # fmt: skip
        getattr(writer, f"add_{name}")(8 if name == "embedding_length" else 2)
    writer.add_tensor("token_embd.weight", np.ones((4, 8), "float32"))
    _finish(writer)
    whole = (tmp_path / "x.gguf").read_bytes()
    gguf_config(GGUF(tmp_path / "x.gguf"))
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(200):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 2):
            damaged[place] = rng.choice([0, 1, 255, 0xED])
        (tmp_path / "y.gguf").write_bytes(damaged)
        try:
            gguf_config(GGUF(tmp_path / "y.gguf"))
        except TVMError:
            refused += 1
    assert refused > 50
