"""Slices, diagonals, windows, and writes to them: imported, against torch's numbers."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.slicing import setitem

from .cases import FAMILIES, Case
from .running import check


@pytest.mark.parametrize("case", FAMILIES["slicing"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_writes_to_symbolic_shapes_are_refused() -> None:
    n = tvm.tir.SizeVar("n", "int64")
    rows = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))
    with pytest.raises(OpAttributeUnImplemented, match="extents that are numbers"):
        setitem(BlockBuilder(), rows, 0, 1.0)
