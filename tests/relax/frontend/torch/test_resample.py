"""Pictures, resized and sampled: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.resample import interpolate

from .cases import FAMILIES, Case
from .running import check


@pytest.mark.parametrize("case", FAMILIES["resample"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_an_unknown_mode_is_refused() -> None:
    picture = relax.Var("x", relax.TensorStructInfo((1, 2, 8, 8), "float32"))
    with pytest.raises(OpAttributeUnImplemented, match="nearest-exact"):
        interpolate(BlockBuilder(), picture, 5, mode="lanczos")
