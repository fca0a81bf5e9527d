"""Parameters from published names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.serve import small_models
from tvm.relax.frontend.nn.llm.models.checkpoint import Safetensors
from tvm.relax.frontend.nn.llm.models.config import config_of
from tvm.relax.frontend.nn.llm.models.decoder import DecoderLM
from tvm.relax.frontend.nn.llm.models.weights import read_parameter

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", small_models.CONFIGS)
def test_every_array_is_read_once(name: str, tmp_path: Path) -> None:
    given = small_models.CONFIGS[name]
    arrays = small_models.weights(given)
    checkpoint = Safetensors(small_models.save(tmp_path / name, given, arrays))
    config = config_of(given)
    values = {
        parameter: read_parameter(checkpoint, config, parameter)
        for parameter, _ in DecoderLM(config).named_parameters()
    }
    assert sum(v.size for v in values.values()) == sum(a.size for a in arrays.values())
    for parameter, wanted in DecoderLM(config).named_parameters():
        assert list(values[parameter].shape) == wanted.shape
    qkv = values["model.layers.1.self_attn.qkv_proj.weight"]
    if name == "gpt2":
        assert (qkv == arrays["h.1.attn.c_attn.weight"].T).all()
        return
    parts = [arrays[f"model.layers.1.self_attn.{x}_proj.weight"] for x in "qkv"]
    assert (qkv == np.concatenate(parts)).all()
    norm = arrays["model.layers.1.input_layernorm.weight"] + (name == "gemma3")
    np.testing.assert_array_equal(values["model.layers.1.input_layernorm.weight"], norm)


def test_models_that_see_keep_the_language_model_apart(tmp_path: Path) -> None:
    given = small_models.CONFIGS["gemma3"]
    arrays = small_models.weights(given)
    moved = {f"language_model.{name}": values for name, values in arrays.items()}
    checkpoint = Safetensors(small_models.save(tmp_path / "m", given, moved))
    found = read_parameter(checkpoint, config_of(given), "model.embed_tokens.weight")
    assert (found == arrays["model.embed_tokens.weight"]).all()
