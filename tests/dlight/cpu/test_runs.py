"""Planes that are only used whole are runs of one size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tvm
from tests.dlight.programs import HASWELL, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D, Fallback
from tvm.dlight.cpu.runs import as_runs
from tvm.target import Target

Epilogue = Callable[[te.Tensor, te.Tensor], te.Tensor]
N, H, W = (te.size_var(name) for name in "nhw")


def conv(epilogue: Epilogue) -> tir.PrimFunc:
    """A convolution of windows of one place, and an epilogue of it and of another plane."""
    x, rest = te.placeholder((N, 5, H, W), name="X"), te.placeholder((N, 7, H, W), name="R")
    weight, bias = te.placeholder((7, 5, 1, 1), name="W"), te.placeholder((7, 1, 1), name="bias")
    y = topi.add(topi.nn.conv2d_nchw(x, weight, 1, 0, 1), bias)
    return te.create_prim_func([x, weight, bias, rest, epilogue(y, rest)])


def residual(y: te.Tensor, rest: te.Tensor) -> te.Tensor:
    return topi.nn.relu(topi.add(y, rest))


def mirrored(y: te.Tensor, rest: te.Tensor) -> te.Tensor:
    return topi.add(y, topi.flip(rest, 3))


def turned(y: te.Tensor, rest: te.Tensor) -> te.Tensor:
    return topi.transpose(y, (0, 2, 3, 1))


def by_rows(y: te.Tensor, rest: te.Tensor) -> te.Tensor:
    return te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] * i.astype("float32"), "Y")


@pytest.mark.parametrize("target", [SPR, HASWELL])
@pytest.mark.parametrize("sizes", [(2, 3, 7), (3, 0, 4)])
def test_a_plane_is_one_dimension(sizes: tuple[int, int, int], target: Target) -> None:
    after = scheduled(Conv2D(), conv(residual), target, dict(zip("nhw", sizes)))
    text = after.script()
    assert text.count("T.decl_buffer") == 3  # of both inputs and the result
    assert "// w" not in text
    assert "% w" not in text
    assert "planes of any size" in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("epilogue", [mirrored, turned, by_rows])
def test_planes_that_are_used_in_another_way_stay(epilogue: Epilogue) -> None:
    assert as_runs(conv(epilogue), [H, W]) is None
    scheduled(Conv2D(), conv(epilogue), HASWELL, {"n": 2, "h": 3, "w": 5})


def test_windows_of_several_places_stay() -> None:
    x, weight = te.placeholder((N, 5, H, W), name="X"), te.placeholder((7, 5, 3, 3), name="W")
    func = te.create_prim_func([x, weight, topi.nn.conv2d_nchw(x, weight, 1, 1, 1)])
    assert as_runs(func, [H, W]) is None


@pytest.mark.cpu
def test_planes_that_are_summed_over_are_runs() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n, 3, h, w), name="X")
    i, j = te.reduce_axis((0, h), name="i"), te.reduce_axis((0, w), name="j")
    y = te.compute((n, 3), lambda b, c: te.sum(x[b, c, i, j], axis=[i, j]), name="Y")
    mod = tvm.IRModule({"main": te.create_prim_func([x, y])})
    with Target("llvm"):
        after = tvm.dlight.ApplyDefaultSchedule(Fallback())(mod)
    assert " = h * w" in after.script()
    built = tvm.compile(after, target="llvm")
    for shape in [(1, 3, 7, 7), (2, 3, 1, 40), (1, 3, 16, 16), (2, 3, 3, 0)]:
        data = np.random.default_rng(0).standard_normal(shape).astype("float32")
        out = tvm.runtime.empty(shape[:2])
        built["main"](tvm.runtime.tensor(data), out)
        np.testing.assert_allclose(out.numpy(), data.sum((2, 3)), rtol=1e-4, atol=1e-5)
