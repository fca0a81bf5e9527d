from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.topi.numerics import close, evaluate, floats
from tvm import te, tir, topi

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("step", [1, 2, 3])
def test_slice_scatter(step: int) -> None:
    x = floats(3, 9)
    src = floats(*x[:, 1:8:step].shape, seed=1)
    wanted = x.copy()
    wanted[:, 1:8:step] = src
    close(evaluate(lambda a, s: topi.slice_scatter(a, s, 1, 8, step, 1), x, src), wanted)


@pytest.mark.parametrize("bounds", [(-3, 8), (-9, -6), (2, -4)])
@pytest.mark.parametrize("extent", [8, tir.SizeVar("n", "int64")], ids=["known", "open"])
def test_bounds_from_the_end(bounds: tuple[int, int], extent: Any) -> None:
    """Below zero they count from the end, for an extent that only running tells too."""
    start, end = bounds
    x = np.arange(24, dtype="float32").reshape(3, 8)
    wanted = x.copy()
    wanted[:, start:end] = src = -1 - wanted[:, start:end]
    into, new = te.placeholder((3, extent)), te.placeholder((3, src.shape[1]))
    made = te.create_prim_func([into, new, topi.slice_scatter(into, new, start, end, 1, 1)])
    out = tvm.runtime.tensor(np.zeros_like(x))
    tvm.compile(made, "llvm")(tvm.runtime.tensor(x), tvm.runtime.tensor(src), out)
    np.testing.assert_array_equal(out.numpy(), wanted)
