"""The module: its methods as functions, its parameters by name."""

from __future__ import annotations

import pytest

from tests.serve.small_models import CONFIGS
from tvm.relax.frontend.nn.llm.models import DecoderLM, config_of

pytestmark = pytest.mark.pure


def test_the_default_specification_has_what_engines_call() -> None:
    model = DecoderLM(config_of(CONFIGS["llama"]))
    mod, params = model.export_tvm(model.get_default_spec())
    names = {var.name_hint for var in mod.get_global_vars()}
    assert {
        "embed", "prefill", "decode", "batch_prefill", "batch_decode", "batch_verify",
        "create_paged_kv_cache",
    } <= names  # fmt: skip
    assert [str(name) for name, _ in params[:3]] == [
        "model.embed_tokens.weight", "model.layers.0.self_attn.qkv_proj.weight",
        "model.layers.0.self_attn.o_proj.weight",
    ]  # fmt: skip
    assert mod["decode"].attrs["num_input"] == 2
    info = mod["batch_decode"].ret_struct_info.fields[0]
    assert str(info.shape[0]) == "sequences"
    assert [int(extent) for extent in list(info.shape)[1:]] == [1, 300]


def test_parts_of_families() -> None:
    names = {
        kind: {name for name, _ in DecoderLM(config_of(given)).named_parameters()}
        for kind, given in CONFIGS.items()
    }
    assert "lm_head.weight" in names["llama"]
    assert "lm_head.weight" not in names["qwen2"]
    assert "model.layers.0.self_attn.qkv_proj.bias" in names["qwen2"]
    assert "model.layers.1.self_attn.k_norm.weight" in names["gemma3"]
    assert "model.layers.0.post_attention_layernorm.weight" not in names["phi"]
    assert "model.embed_positions.weight" in names["gpt2"]
