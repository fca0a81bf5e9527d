"""Tables of open axes are those of axes whose extents are numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.relax.frontend.resampling import Axis, Resampling, nearest_indices, taps
from tvm.relax.frontend.torch.open_taps import open_filter, open_taps

pytestmark = pytest.mark.cpu
WAYS = {
    "nearest": Resampling("nearest", "asymmetric", "floor"),
    "nearest-exact": Resampling("nearest", "half_pixel", "round_prefer_ceil"),
    "linear": Resampling("linear", "half_pixel"),
    "corners": Resampling("linear", "align_corners"),
    "cubic": Resampling("cubic", "half_pixel"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_same_sums(way: str) -> None:
    """Places may differ where their weights are zero: compare what becomes of an axis."""
    how = WAYS[way]
    size, out = te.var("size", "int64"), te.var("out", "int64")
    x = te.placeholder((size,), "float32", "x")
    y = te.placeholder((out,), "float32", "y")
    made = open_taps(size, out, None, how, "float32")
    run = tvm.compile(te.create_prim_func([x, y, *made]), target="llvm")
    for n, m in ((5, 9), (9, 4), (7, 7), (3, 1), (1, 6)):
        values = np.random.default_rng(n).random(n).astype("float32")
        count = made[0].shape[0]
        where = tvm.runtime.tensor(np.zeros((int(count), m), "int64"))
        weights = tvm.runtime.tensor(np.zeros((int(count), m), "float32"))
        run(tvm.runtime.tensor(values), tvm.runtime.tensor(np.zeros(m, "float32")), where, weights)
        found = (values[where.numpy()] * weights.numpy()).sum(0)
        axis = Axis(n, m, m / n)
        if how.mode == "nearest":
            wanted = values[nearest_indices(axis, how)]
        else:
            places, shares = taps(axis, how)
            wanted = (values[places] * shares).sum(0)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_widened_filters(mode: str) -> None:
    how = Resampling(mode, "half_pixel", cubic_a=-0.5, exclude_outside=True, antialias=True)
    size, out = te.var("size", "int64"), te.var("out", "int64")
    x = te.placeholder((size,), "float32", "x")
    y = te.placeholder((out,), "float32", "y")
    made = open_filter(size, out, None, how, "float32")
    run = tvm.compile(te.create_prim_func([x, y, made]), target="llvm")
    for n, m in ((9, 4), (5, 9), (7, 7), (8, 1)):
        shares = tvm.runtime.tensor(np.zeros((n, m), "float32"))
        run(*(tvm.runtime.tensor(np.zeros(k, "float32")) for k in (n, m)), shares)
        places, weights = taps(Axis(n, m, m / n), how)
        wanted = np.zeros((n, m))
        np.add.at(wanted, (places, np.arange(m)[None]), weights)
        np.testing.assert_allclose(shares.numpy(), wanted, atol=1e-6)
