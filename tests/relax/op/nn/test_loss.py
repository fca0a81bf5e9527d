"""Odd cases of losses."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def targets(*shape: object) -> object:
    return var(*shape, dtype="int64")


def test_shapes() -> None:
    assert shape_of(op.nn.nll_loss(var(N, 4), targets(N))) == ()
    assert shape_of(op.nn.nll_loss(var(N, 4, 3), targets(N, 3), reduction="none")) == (N, 3)
    assert shape_of(op.nn.nll_loss(var(4), targets(), var(4))) == ()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.nn.nll_loss(var(2, 4), targets(3)), "predictions and targets do not fit"),
        (lambda: op.nn.nll_loss(var(2, 4), targets(2, 4)), "one dimension more"),
        (lambda: op.nn.nll_loss(var(2, 4), var(2)), "targets must be integers"),
        (lambda: op.nn.nll_loss(var(2, 4), targets(2), var(3)), "one number for each class"),
        (lambda: op.nn.nll_loss(var(2, 4), targets(2), var(4, 1)), "weights must have 1"),
        (lambda: op.nn.nll_loss(var(2, 4), targets(2), reduction="max"), "unknown reduction"),
    ],
)
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_without_reduction_the_result_follows_the_predictions() -> None:
    targets = relax.Var("t", relax.TensorStructInfo((2, 6), "int64"))
    ranked = relax.Var("p", relax.TensorStructInfo(None, "float32", ndim=3))
    unknown = relax.Var("p", relax.TensorStructInfo(None, "float32"))
    vague = relax.Var("t", relax.TensorStructInfo(None, "int64", ndim=2))
    assert info(op.nn.nll_loss(ranked, targets, reduction="none")).ndim == 2
    assert info(op.nn.nll_loss(ranked, targets, reduction="none")).shape is None
    assert info(op.nn.nll_loss(unknown, targets, reduction="none")).ndim == -1
    found = info(op.nn.nll_loss(var(2, 4, 6), vague, reduction="none"))
    assert [int(e) for e in found.values] == [2, 6]
