from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi

pytestmark = pytest.mark.pure
ONE = floats(1)


@pytest.mark.parametrize("args", [(5,), (2, 9), (0, 10, 3), (9, 0, -2), (0.0, 1.0, 0.25), (5, 5)])
def test_arange(args: Any) -> None:
    dtype = "float32" if isinstance(args[0], float) else "int32"
    wanted = np.arange(*args).astype(dtype)
    close(evaluate(lambda a: topi.arange(*args, dtype=dtype), ONE), wanted)


def test_meshgrid() -> None:
    x, y = floats(3), floats(4, seed=1)
    for indexing in ("ij", "xy"):
        got = evaluate(lambda a, b, i=indexing: topi.meshgrid([a, b], i), x, y)
        for g, w in zip(got, np.meshgrid(x, y, indexing=indexing)):
            close(g, w)
    with pytest.raises(ValueError, match=r"legal: 'ij', 'xy'"):
        topi.meshgrid([te.placeholder((3,))], "yx")


def test_shapes_as_tensors() -> None:
    x = floats(3, 4, 5)
    close(evaluate(topi.shape, x, symbolic=True), np.array([3, 4, 5], "int32"))
    close(evaluate(topi.tensor_size, x), np.array(60, "int32"))


def test_hamming_window() -> None:
    make = lambda n, p: lambda a: topi.hamming_window(n, p, 0.54, 0.46, "float32")
    close(evaluate(make(8, False), ONE), np.hamming(8), 1e-5, 1e-5)
    close(evaluate(make(8, True), ONE), np.hamming(9)[:8], 1e-5, 1e-5)
    close(evaluate(make(1, True), ONE), np.ones(1))
