"""Weights of few bits within a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serve import small_models
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models.storage import STORAGES, is_matrix, make_storage
from tvm.serve.model import LanguageModel
from tvm.topi.nn import few_bits

pytestmark = pytest.mark.cpu
TOKENS: Any = np.random.default_rng(1).integers(3, 259, 24)


def test_weights_of_few_bits_are_computed_with_exactly(tmp_path: Path) -> None:
    storage = "int4"
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


def test_what_is_stored() -> None:
    values = np.ones((40, 64), "float32")
    for name in STORAGES:
        found = make_storage(name).stored("model.layers.0.mlp.up_proj.weight", values)
        assert len(found) == 1 + name.startswith("int")
        norm = make_storage(name).stored("model.norm.weight", values[0])
        assert [array.dtype for array in norm.values()] == ["float32"]
    assert found["model.layers.0.mlp.up_proj.weight_scale"].shape == (3, 2, 16)
    with pytest.raises(TVMError, match="legal: float32, float16, bfloat16, int8, int4"):
        make_storage("int3")
