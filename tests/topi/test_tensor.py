from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


def test_constants() -> None:
    x = floats(2, 3)
    close(evaluate(lambda a: topi.full((2, 3), "float32", 2.5), x), np.full((2, 3), 2.5))
    close(evaluate(lambda a: topi.full_like(a, -1), x), np.full((2, 3), -1))
    value = np.array(7, "float32")
    close(evaluate(lambda v: topi.full((4,), "float32", v), value), np.full(4, 7))


def test_sum_of_tensors() -> None:
    parts = [floats(3, 4, seed=k) for k in range(3)]
    close(evaluate(lambda *t: topi.elemwise_sum(t), *parts), sum(parts), 1e-5, 1e-5)
    with pytest.raises(ShapeError, match=r"no tensors"):
        topi.elemwise_sum([])


def test_eye() -> None:
    one = floats(1)
    for args in ((4,), (3, 5), (4, 4, 1), (4, 3, -2)):
        close(evaluate(lambda a, args=args: topi.eye(*args), one), np.eye(*args, dtype="float32"))
