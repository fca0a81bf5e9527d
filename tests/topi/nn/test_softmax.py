from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax(axis: int) -> None:
    x = floats(3, 4, 5) * 10
    powers = np.exp(x - x.max(axis, keepdims=True))
    wanted = powers / powers.sum(axis, keepdims=True)
    close(evaluate(lambda a: topi.nn.softmax(a, axis), x), wanted, 1e-5, 1e-6)
    close(evaluate(lambda a: topi.nn.fast_softmax(a, axis), x), wanted, 1e-4, 1e-6)
    close(evaluate(lambda a: topi.nn.log_softmax(a, axis), x), np.log(wanted), 1e-4, 1e-5)


def test_stages_are_named() -> None:
    x = te.placeholder((3, 4))
    out = topi.nn.softmax(x)
    assert out.op.name == "T_softmax_norm"
    assert out.op.tag == "softmax_output"
    assert out.op.attrs["axis"] == 1
    with pytest.raises(ShapeError, match=r"axis 2 of a tensor of 2 dimensions"):
        topi.nn.softmax(x, 2)
