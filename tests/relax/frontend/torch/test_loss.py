"""Losses: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.loss import cross_entropy_loss, mse_loss

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


def test_classes_on_the_last_axis_are_named_from_the_end() -> None:
    bb = BlockBuilder()
    scores = relax.Var("scores", relax.TensorStructInfo((4, 3), "float32"))
    labels = relax.Var("labels", relax.TensorStructInfo((4,), "int64"))
    with bb.function("main", [scores, labels]):
        out = cross_entropy_loss(bb, scores, labels)
        bb.emit_func_output(bb.emit(out))
    softmax = bb.get()["main"].body.blocks[0].bindings[0].value
    assert softmax.attrs.axis == -1
