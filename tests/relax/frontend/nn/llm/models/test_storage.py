"""Weights of few bits within a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.serve import small_models
from tvm import tir
from tvm.error import TVMError
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn.llm.models.storage import STORAGES, is_matrix, make_storage
from tvm.relax.frontend.nn.spec import Tensor
from tvm.runtime import tensor
from tvm.runtime.vm import VirtualMachine
from tvm.serve.model import LanguageModel
from tvm.target import Target
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


@pytest.mark.parametrize("cpu", ["haswell", ""])
def test_bfloat16_rounds_inputs_of_products_on_every_machine(cpu: str) -> None:
    """One step of bfloat16 at 1 is 1/128: the input is between two, and the sum is not rounded."""
    target = Target(f"llvm -mcpu={cpu}" if cpu else "llvm")
    values = np.full((16, 32), 2.0**-9, "float32")
    values[:, 0] = 1
    layer = make_storage("bfloat16").linear(32, 16, bias=False)
    with target:
        mod, _ = layer.export_tvm({"forward": {"x": Tensor((3, 32), "float32")}})[:2]
        vm = VirtualMachine(tvm.compile(mod, target), tvm.cpu())
    x = np.full((3, 32), 1 + 2.0**-8 + 2.0**-12, "float32")
    (stored,) = make_storage("bfloat16").stored("up_proj.weight", values).values()
    found = vm["forward"](tensor(x), tensor(stored)).numpy()
    assert (found == (1 + 2.0**-7) * (1 + 31 * 2.0**-9)).all()


def test_layers_share_the_kernels_of_a_target() -> None:
    first, second = (make_storage("int8").linear(64, 48, bias=False) for _ in range(2))

    class Two(nn.Module):
        def __init__(self) -> None:
            self.first, self.second = first, second

        def forward(self, x: nn.Tensor) -> Any:
            return self.first(x) + self.second(x)

    def kernels(target: str) -> list[tir.PrimFunc]:
        with Target(target):
            mod, _ = Two().export_tvm({"forward": {"x": Tensor(("n", 64), "float32")}})
        return [func for func in mod.functions.values() if isinstance(func, tir.PrimFunc)]

    (made,), (again,) = kernels("llvm"), kernels("llvm")
    assert made is again
    (other,) = kernels("cuda")
    assert not tvm.ir.structural_equal(made, other)
