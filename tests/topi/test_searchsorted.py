from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, rng
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("right", [False, True])
def test_places(right: bool) -> None:
    side = "right" if right else "left"
    row = np.sort(rng().integers(0, 9, 12)).astype("int32")
    values = rng(1).integers(-2, 12, (3, 4)).astype("int32")
    search = lambda a, b: topi.searchsorted(a, b, right)
    close(evaluate(search, row, values), np.searchsorted(row, values, side))
    rows = np.sort(rng().integers(0, 9, (3, 5)), 1).astype("int32")
    wanted = np.stack([np.searchsorted(r, v, side) for r, v in zip(rows, values)])
    close(evaluate(search, rows, values), wanted)


def test_a_single_value() -> None:
    row, value = np.arange(5, dtype="float32"), np.array(2.5, "float32")
    close(evaluate(topi.searchsorted, row, value), np.array(3))


def test_refuses() -> None:
    with pytest.raises(ShapeError, match=r"leading dimensions"):
        topi.searchsorted(te.placeholder((3, 5)), te.placeholder((2, 5)))
