from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in (False, True) for b in (False, True)])
def test_matmul(left: bool, right: bool) -> None:
    a, b = floats(3, 5), floats(5, 4, seed=1)
    x, y = a.T if left else a, b.T if right else b
    close(evaluate(lambda p, q: topi.matmul(p, q, left, right), x, y), a @ b, 1e-4, 1e-5)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 2), (1, 0)), (1, 2)])
def test_tensordot(axes: Any) -> None:
    a, b = floats(3, 4, 5), floats(4, 5, 3, seed=1)
    if axes == ((0, 2), (1, 0)):
        b = floats(5, 3, 2, seed=1)
    if axes == 1:
        b = floats(5, 2, seed=1)
    if axes == (1, 2):
        b = floats(2, 3, 4, seed=1)
    close(
        evaluate(lambda p, q: topi.tensordot(p, q, axes), a, b),
        np.tensordot(a, b, axes),
        1e-4,
        1e-4,
    )


def test_refuses() -> None:
    a = te.placeholder((3, 4))
    with pytest.raises(ShapeError, match=r"found: 4 and 3"):
        topi.matmul(a, a)
    with pytest.raises(ShapeError, match=r"two matrices"):
        topi.matmul(a, te.placeholder((4,)))
    with pytest.raises(ShapeError, match=r"as many of each"):
        topi.tensordot(a, a, ((0, 1), (0,)))
