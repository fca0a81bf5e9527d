"""Losses: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.loss import mse_loss

from .cases import FAMILIES, Case
from .running import check

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["loss"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_an_unknown_reduction_is_refused() -> None:
    bb = BlockBuilder()
    with bb.function("main", [x]):
        with pytest.raises(OpAttributeUnImplemented, match="none, mean, sum"):
            mse_loss(bb, x, x, "median")
        bb.emit_func_output(x)
