"""Reductions and scans: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.reduction import vector_norm

from .cases import FAMILIES, Case
from .running import check

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["reduction"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_norms_of_matrices_are_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="found: 'nuc'"):
        vector_norm(BlockBuilder(), x, "nuc")
