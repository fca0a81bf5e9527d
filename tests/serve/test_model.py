"""Models of several families beside the formulas in numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serve import small_models
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm import few_bits
from tvm.relax.frontend.nn.llm.models import rotary
from tvm.relax.frontend.nn.llm.models.storage import is_matrix
from tvm.relax.frontend.nn.llm.models.weights import read_parameter
from tvm.serve.model import LanguageModel, open_model

pytestmark = pytest.mark.cpu
TOKENS: Any = np.random.default_rng(1).integers(3, 259, 24)


@pytest.mark.parametrize("name", ["gemma3", "phi", "gpt2", "qwen2"])
def test_logits_are_those_of_the_formulas(name: str, tmp_path: Path) -> None:
    config = small_models.CONFIGS[name]
    arrays = small_models.weights(config)
    model = LanguageModel.open(small_models.save(tmp_path / name, config, arrays), chunk=32)
    wanted = small_models.logits(config, arrays, TOKENS)
    model.add(5)
    first = model.verify({5: TOKENS[:14]})[5]
    single = model.forward({5: TOKENS[14:15]})[5]
    last = model.forward({5: TOKENS[15:]})[5]
    np.testing.assert_allclose(first, wanted[:14], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(single, wanted[14], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(last, wanted[-1], rtol=1e-3, atol=1e-4)


def test_sequences_grow_together_fork_and_shrink(model: LanguageModel) -> None:
    config = small_models.CONFIGS["llama"]
    arrays = small_models.weights(config)
    wanted = small_models.logits(config, arrays, TOKENS)
    other = np.concatenate([TOKENS[:16], TOKENS[3:9]])
    model.add(0)
    model.add(1)
    both = model.forward({0: TOKENS[:16], 1: TOKENS[:5]})
    np.testing.assert_allclose(both[0], wanted[15], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(both[1], wanted[4], rtol=1e-3, atol=1e-4)
    model.fork(0, 2, 16)
    three = model.forward({0: TOKENS[16:17], 1: TOKENS[5:6], 2: other[16:]})
    np.testing.assert_allclose(three[0], wanted[16], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(three[1], wanted[5], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        three[2], small_models.logits(config, arrays, other)[-1], rtol=1e-3, atol=1e-4
    )
    model.pop(2, 6)
    assert model.length(2) == 16
    np.testing.assert_allclose(
        model.forward({2: TOKENS[16:]})[2], wanted[-1], rtol=1e-3, atol=1e-4
    )
    before = model.free_tokens
    for name in range(3):
        model.remove(name)
    assert model.free_tokens > before


def test_tokens_out_of_range_are_refused(model: LanguageModel) -> None:
    model.add(0)
    with pytest.raises(TVMError, match="tokens of a language model\n  found: 300 to 300"):
        model.forward({0: [300]})
    model.remove(0)


def test_missing_and_misshapen_weights_are_named(tmp_path: Path) -> None:
    config = small_models.CONFIGS["qwen2"]
    arrays = small_models.weights(config)
    arrays["model.layers.1.mlp.up_prj.weight"] = arrays.pop("model.layers.1.mlp.up_proj.weight")
    folder = small_models.save(tmp_path / "a", config, arrays)
    with pytest.raises(TVMError, match=r"model.layers.1.mlp.up_proj.weight.*\n.*did you mean"):
        LanguageModel.open(folder)
    arrays = small_models.weights(config)
    arrays["model.norm.weight"] = arrays["model.norm.weight"][:5].copy()
    folder = small_models.save(tmp_path / "b", config, arrays)
    with pytest.raises(TVMError, match=r"the weights of model.norm.weight\n  found: shape \(5,\)"):
        LanguageModel.open(folder)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TVMError, match=r"the configuration .*config.json"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "lama"}')
    with pytest.raises(TVMError, match="did you mean 'llama'"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(TVMError, match="no entry 'num_attention_heads'"):
        open_model(tmp_path)
    (tmp_path / "x.gguf").write_bytes(b"GGUF????")
    with pytest.raises(TVMError, match=r"the file .*x.gguf"):
        open_model(tmp_path / "x.gguf")


@pytest.mark.parametrize("storage", ["int4"])
def test_weights_of_few_bits_are_computed_with_exactly(storage: str, tmp_path: Path) -> None:
    config = {**small_models.CONFIGS["qwen2"], "hidden_size": 48, "head_dim": 12}
    arrays = small_models.weights(config)
    folder = small_models.save(tmp_path / "m", config, arrays)
    model = LanguageModel.open(folder, storage, chunk=32)
    rounded = {
        name: few_bits.unpack(*few_bits.pack(values, storage), storage)[
            : values.shape[0], : values.shape[-1]
        ]
        if is_matrix(name) else values
        for name, values in arrays.items()
    }  # fmt: skip
    model.add(0)
    found = model.verify({0: TOKENS})[0]
    np.testing.assert_allclose(
        found, small_models.logits(config, rounded, TOKENS), rtol=1e-3, atol=1e-4
    )
    model.remove(0)
    model.add(1)
    for token in TOKENS[:3]:
        one = model.forward({1: [token]})[1]
    np.testing.assert_allclose(one, found[2], rtol=1e-3, atol=1e-4)


def test_gguf_files_are_read(tmp_path: Path) -> None:
    """Rows of queries and keys in pairs, and numbers of 8 bits in blocks, as they stand there."""
    import gguf

    config = small_models.CONFIGS["llama"]
    arrays = small_models.weights(config)
    path = tmp_path / "small.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
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
    for name in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file"):
        getattr(writer, name)()
    writer.close()
    found, checkpoint = open_model(path)
    assert (found.num_heads, found.num_kv_heads, found.eos, found.tied_head) == (4, 2, (2,), False)
    for name, values in arrays.items():
        if "_proj" not in name or "o_proj" in name or "down_proj" in name:
            np.testing.assert_array_equal(read_parameter(checkpoint, found, name), values)
    qkv = read_parameter(checkpoint, found, "model.layers.1.self_attn.qkv_proj.weight")
    parts = [arrays[f"model.layers.1.self_attn.{x}_proj.weight"] for x in "qkv"]
    np.testing.assert_array_equal(qkv, np.concatenate(parts))
    np.testing.assert_allclose(rotary.frequencies(found)[0], scaled, rtol=1e-6)
