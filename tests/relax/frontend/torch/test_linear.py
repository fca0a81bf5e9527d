"""Products and convolutions: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.linear import convolve

from .cases import FAMILIES, Case
from .running import check


@pytest.mark.parametrize("case", FAMILIES["linear"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_same_padding_with_strides_is_refused() -> None:
    picture = relax.Var("x", relax.TensorStructInfo((1, 2, 8, 8), "float32"))
    kernel = relax.Var("w", relax.TensorStructInfo((2, 2, 3, 3), "float32"))
    with pytest.raises(OpAttributeUnImplemented, match="'same'"):
        convolve(BlockBuilder(), picture, kernel, None, 2, "same")
