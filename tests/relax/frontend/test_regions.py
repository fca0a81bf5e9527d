"""Means of places in the bins of regions, against a sum in numpy."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.relax.frontend.regions import mean_places, sides
from tvm.topi.testing import roi_align_nchw_python

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("ratio", [2, 0])
def test_a_mean_of_each_bin(ratio: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, 9, 7)).astype("float32")
    boxes = np.array([[1, 2, 9, 8], [0, 0, 6, 3], [-5, 3, 20, 30]], "float32")
    which = np.array([1, 0, 1], "int64")
    n, h, w = (tir.SizeVar(name, "int64") for name in "nhw")
    shapes = {"x": (2, 3, h, w), "boxes": (n, 4), "which": (n,)}
    kinds = ("float32", "float32", "int64")
    args = [te.placeholder(s, kind, name) for (name, s), kind in zip(shapes.items(), kinds)]
    made = mean_places(*args, sides(args[1].dtype, 0.5, ratio, moved=False), (3, 2))
    built = tvm.compile(te.create_prim_func([*args, made]), "llvm")
    found = tvm.runtime.tensor(np.zeros((3, 3, 3, 2), "float32"))
    built(*map(tvm.runtime.tensor, (x, boxes, which)), found)
    rois = np.concatenate([which[:, None].astype("float32"), boxes], 1)
    wanted = roi_align_nchw_python(x, rois, (3, 2), 0.5, ratio or -1, "avg")
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
