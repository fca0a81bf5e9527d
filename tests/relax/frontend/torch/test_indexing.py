"""Gathers and scatters: imported, against torch's numbers."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.indexing import counted_from_front, embedding_bag

from .cases import FAMILIES, Case
from .running import check

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["indexing"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_known_indices_are_counted_while_importing() -> None:
    index = relax.const([[-1, 0], [1, -3]], "int64")
    found = counted_from_front(BlockBuilder(), index, 3)
    tvm.ir.assert_structural_equal(found, relax.const([[2, 0], [1, 0]], "int64"))


def test_bags_of_largest_rows_are_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="'sum' or 'mean'"):
        embedding_bag(BlockBuilder(), x, x, x, mode=2)
