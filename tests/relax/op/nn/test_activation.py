"""Odd cases of activations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax
from tvm.error import TVMError
from tvm.relax import interp, op

pytestmark = pytest.mark.pure


def test_relu_takes_integers_and_gelu_does_not() -> None:
    assert info(op.nn.relu(var(2, dtype="int32"))).dtype == "int32"
    with pytest.raises(TVMError, match=r"relax\.nn\.gelu: data must have a float dtype"):
        info(op.nn.gelu(var(2, dtype="int32")))


def test_relu6() -> None:
    x = var(3)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.nn.relu6(x)))
    np.testing.assert_array_equal(interp.run(bb.get(), np.float32([-1, 2, 9])), [0, 2, 6])


def test_dropout_gives_a_mask() -> None:
    assert len(info(op.nn.dropout(var(2, 3))).fields) == 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.nn.softmax(var(2, dtype="int32")), "must have a float dtype"),
        (lambda: op.nn.prelu(var(2, 3), var(2)), "alpha does not fit data"),
        (lambda: op.nn.prelu(var(2, 3), var(3, 1)), "alpha must have 1 dimension"),
        (lambda: op.nn.cross_entropy_with_logits(var(2, 3), var(2, 4)), "the shapes differ"),
        (lambda: op.nn.cross_entropy_with_logits(var(2, 3), var(2)), "differ in dimensions"),
    ],
)
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_loss_is_a_scalar() -> None:
    assert shape_of(op.nn.cross_entropy_with_logits(var(2, 3), var(2, 3))) == ()
