from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("axis", [1, 3])
def test_lrn(axis: int) -> None:
    x = floats(2, 5, 3, 4)
    room = [(1, 1) if k == axis else (0, 0) for k in range(4)]
    squares = np.pad(x * x, room)
    total = sum(np.take(squares, range(k, k + x.shape[axis]), axis) for k in range(3))
    wanted = x / (2 + 0.5 / 3 * total) ** 0.75
    close(evaluate(lambda a: topi.nn.lrn(a, 3, axis, 0.5), x), wanted, 1e-4, 1e-5)
    with pytest.raises(ShapeError, match=r"an odd size"):
        topi.nn.lrn(te.placeholder((1, 2, 3, 4)), 2)


def test_alpha_is_a_float32() -> None:
    x = te.placeholder((1, 4, 3, 3), name="x")
    text = te.create_prim_func([x, topi.nn.lrn(x, 3)]).script()
    assert "T.float32(9.9999997473787516e-05)" in text
