"""Pooling: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax, tir
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.pool import avg_pool

from .cases import FAMILIES, Case
from .running import check


@pytest.mark.parametrize("case", FAMILIES["pool"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_a_divisor_with_partial_windows_of_open_pictures_is_refused() -> None:
    size = tir.SizeVar("n", "int64")
    picture = relax.Var("x", relax.TensorStructInfo((1, 2, size, 8), "float32"))
    with pytest.raises(OpAttributeUnImplemented, match="extents that are numbers"):
        avg_pool(BlockBuilder(), picture, 2, 3, ceil_mode=True, divisor_override=2)
