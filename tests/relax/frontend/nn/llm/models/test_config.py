"""Configurations of each family, as published."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.serve.small_models import COMMON, CONFIGS
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models.config import FAMILIES, config_of

pytestmark = pytest.mark.pure


def _config(kind: str, **given: Any) -> Any:
    return config_of({**COMMON, "model_type": kind, **given})


def test_each_family_is_read() -> None:
    for kind in FAMILIES:
        config = config_of(CONFIGS["gpt2"]) if kind == "gpt2" else _config(
            kind, query_pre_attn_scalar=16
        )
        assert config.num_layers == 2
        assert config.head_dim == 8


def test_parts_that_differ() -> None:
    assert _config("qwen2").qkv_bias
    assert not _config("llama").qkv_bias
    assert _config("llama", attention_bias=True).out_bias
    assert _config("qwen3").qk_norm
    assert _config("qwen3", head_dim=16).head_dim == 16
    gemma = _config("gemma")
    assert gemma.embed_scale == math.sqrt(32)
    assert gemma.tied_head
    assert gemma.activation == "gelu_tanh"
    phi = _config("phi")
    assert phi.parallel_block
    assert phi.head_bias
    assert phi.rotary_dim == 4
    gpt2 = config_of(CONFIGS["gpt2"])
    assert gpt2.positions == "learned"
    assert gpt2.intermediate_size == 128
    assert not gpt2.gated
    assert _config("llama", eos_token_id=[5, 6]).eos == (5, 6)


def test_rotary_positions_stand_in_one_entry_or_in_several() -> None:
    old = _config("llama", rope_theta=5e5, rope_scaling={"type": "linear", "factor": 2.0})
    new = _config("llama", rope_parameters={
        "rope_type": "linear", "factor": 2.0, "rope_theta": 5e5,
    })  # fmt: skip
    assert old == new
    assert old.rope_theta == 5e5
    assert old.rope_scaling == {"rope_type": "linear", "factor": 2.0}
    assert not _config("llama", rope_parameters={"rope_type": "default"}).rope_scaling


def test_windows() -> None:
    assert _config("mistral", sliding_window=64).windowed == (0, 1)
    assert not _config("mistral", sliding_window=4096).windowed  # longer than the context
    assert not _config("mistral", sliding_window=None).windowed
    given = {"sliding_window": 64, "max_window_layers": 1}
    assert not _config("qwen2", use_sliding_window=False, **given).windowed
    assert _config("qwen2", use_sliding_window=True, **given).windowed == (1,)
    gemma = _config("gemma3_text", sliding_window=64, sliding_window_pattern=2,
                    query_pre_attn_scalar=16, rope_local_base_freq=1e4)  # fmt: skip
    assert gemma.windowed == (0,)
    assert gemma.local_rope_theta == 1e4
    assert gemma.score_scale == 0.25
    assert config_of({"model_type": "gemma3", "text_config": {**COMMON, "head_dim": 8,
                      "model_type": "gemma3_text"}}).qk_norm  # fmt: skip


def test_what_is_unknown_is_named() -> None:
    with pytest.raises(TVMError, match=r"type 'qwen4'\n.*did you mean 'qwen3' or 'qwen2'"):
        config_of({"model_type": "qwen4"})
    with pytest.raises(TVMError, match="no entry 'vocab_size'"):
        config_of({k: v for k, v in CONFIGS["llama"].items() if k != "vocab_size"})
    with pytest.raises(TVMError, match=r"hidden_act in the configuration .*\n  found: 'relu6'"):
        _config("llama", hidden_act="relu6")
