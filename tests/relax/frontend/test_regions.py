"""Means of places in the bins of regions, against a sum in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.relax.frontend.regions import mean_places, pooled, sides
from tvm.tir.functor import statements
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


def kernels() -> dict[str, tir.PrimFunc]:
    n, h, w = (tir.SizeVar(name, "int64") for name in "nhw")
    x = te.placeholder((2, 12, h, w), "float32", "x")
    boxes = te.placeholder((n, 4), "float32", "boxes")
    which = te.placeholder((n,), "int64", "which")
    rois = te.placeholder((n, 5), "float32", "rois")

    def bounds(table: Any, r: Any, axis: int, o: Any) -> tuple[Any, Any]:
        first = table[r, 1 + axis].astype("int64") + o
        return first, first + 2

    place = sides("float32", 0.5, 2, moved=False)
    return {
        "mean_places": te.create_prim_func(
            [x, boxes, which, mean_places(x, boxes, which, place, (3, 2))]
        ),
        "pooled": te.create_prim_func([x, rois, pooled(x, rois, bounds, (3, 2), "max")]),
        "pooled apart": te.create_prim_func(
            [x, rois, pooled(x, rois, bounds, (3, 2), "mean", apart=True)]
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["mean_places", "pooled", "pooled apart"])
def test_regions_share_no_memory(name: str) -> None:
    """What a parallel loop writes beside its results is allocated within it."""
    body = kernels()[name].body
    loops = [s for s in statements(body, tir.For) if s.kind == tir.ForKind.PARALLEL]
    assert len(loops) == 1
    made = list(statements(body, tir.Allocate))
    assert made
    assert len(list(statements(loops[0].body, tir.Allocate))) == len(made)
