from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (1, 4)])
def test_dilate(strides: tuple[int, int]) -> None:
    x = floats(3, 4)
    wanted = np.full([(n - 1) * s + 1 for n, s in zip(x.shape, strides)], 0.5, "float32")
    wanted[:: strides[0], :: strides[1]] = x
    close(evaluate(lambda a: topi.nn.dilate(a, strides, 0.5), x), wanted)


def test_refuses() -> None:
    with pytest.raises(ShapeError, match=r"dismatch : 1 vs 2"):
        topi.nn.dilate(te.placeholder((3,)), (1, 2))
