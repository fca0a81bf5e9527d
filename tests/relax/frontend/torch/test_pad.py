"""Padding: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.pad import pad

from .cases import FAMILIES, Case
from .running import check

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["pad"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="constant, reflect, replicate, circular"):
        pad(BlockBuilder(), x, [1, 1], "mirror")
