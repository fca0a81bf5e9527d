"""Weighted sums of elements that tables look up."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import te
from tvm.tir import interp
from tvm.topi.image.taps import weighted_taps


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("count", [1, 2, 4, 9])
@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_each_axis(axis: int, count: int, kind: str) -> None:
    rng = np.random.default_rng(count)
    x = rng.standard_normal((3, 5, 4)).astype("float32")
    places = rng.integers(0, x.shape[axis], (count, 7)).astype(kind)
    weights = rng.standard_normal((count, 7)).astype("float32")
    tables = [te.placeholder(t.shape, str(t.dtype), n) for t, n in ((places, "p"), (weights, "w"))]
    data = te.placeholder(x.shape, "float32", "x")
    made = weighted_taps(data, *tables, axis)
    shape = [int(extent) for extent in made.shape]  # type: ignore[arg-type]
    out = np.zeros(shape, "float32")
    interp.run(te.create_prim_func([data, *tables, made]), x, places, weights, out)
    along = [1] * x.ndim
    along[axis] = 7
    terms = [np.take(x, p, axis) * w.reshape(along) for p, w in zip(places, weights)]
    np.testing.assert_allclose(out, sum(terms), rtol=1e-5, atol=1e-6)
