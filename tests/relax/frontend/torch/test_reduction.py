"""Reductions and scans: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.frontend.torch.reduction import vector_norm
from tvm.relax.interp import Interpreter

from .cases import FAMILIES, Case
from .running import assert_same, check, module_of

torch = pytest.importorskip("torch")
x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["reduction"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_norms_of_matrices_are_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="found: 'two'"):
        vector_norm(BlockBuilder(), x, "two")


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_a_nan_stays_in_a_running_maximum(name: str) -> None:
    x = torch.tensor([1.0, float("nan"), 3.0, float("nan"), 9.0])
    func = getattr(torch, name)
    mod = from_exported_program(torch.export.export(module_of(lambda x: func(x, 0)), (x,)))
    assert_same(Interpreter(mod).run("main", x.numpy()), func(x, 0))
