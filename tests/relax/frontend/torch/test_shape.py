"""Shapes and orders of axes: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.shape import repeat_interleave

from .cases import FAMILIES, Case
from .running import check

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["shape"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_repeats_of_each_element_are_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="found: a tensor"):
        repeat_interleave(BlockBuilder(), x, x)
