"""Elements as others of the same bits, against numpy's views."""

from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import evaluate
from tvm.relax.frontend.bits import reinterpreted

PAIRS = [("float32", "int32"), ("int64", "float64"), ("float32", "uint8"), ("int32", "int16"),
         ("uint16", "uint8"), ("float64", "float32")]  # fmt: skip


@pytest.mark.pure
@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_there_and_back(one: str, other: str) -> None:
    count = np.dtype(one).itemsize // np.dtype(other).itemsize
    x = np.random.default_rng(1).standard_normal((3, 4)).astype("float64") * 1000
    x = x.astype(one)
    parts = evaluate(lambda t: reinterpreted(t, other), x)
    wanted = x.view(other).reshape((3, 4, count) if count > 1 else (3, 4))
    np.testing.assert_array_equal(parts.view("uint8"), wanted.view("uint8"))
    back = evaluate(lambda t: reinterpreted(t, one), wanted)
    np.testing.assert_array_equal(back, x)
