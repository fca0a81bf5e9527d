"""Convolutions in groups of channels."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, results, scheduled
from tvm import te, topi
from tvm.dlight.base.transform import first_schedule
from tvm.dlight.cpu import Conv2D, default_rules
from tvm.ir.expr import PrimExpr
from tvm.target import Target
from tvm.tir.expr import Var


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(("filters", "groups", "stride"), [(6, 2, 1), (8, 4, 2), (4, 2, 1)])
def test_groups_of_any_size(filters: int, groups: int, stride: int, target: Target) -> None:
    """Each group is a convolution of its own over one copy of all planes."""
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n, 8, h, w), name="X")
    weight = te.placeholder((filters, 8 // groups, 3, 3), name="W")
    y = topi.nn.group_conv2d_nchw(x, weight, stride, 1, 1, groups)
    bias = te.placeholder((filters, 1, 1), name="bias")
    for func in (
        te.create_prim_func([x, weight, y]),
        te.create_prim_func([x, weight, bias, topi.nn.relu(topi.add(y, bias))]),
    ):
        after = scheduled(Conv2D(), func, target, {"n": 2, "h": 5, "w": 9})
        assert "of planes of any size" in str(after.attrs["schedule_reason"])


def test_depthwise_is_left_to_windows() -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    x, weight = te.placeholder((n, 8, h, w), name="X"), te.placeholder((8, 1, 3, 3), name="W")
    y = topi.nn.depthwise_conv2d_nchw(x, weight, 1, 1, 1)
    assert Conv2D().apply(te.create_prim_func([x, weight, y]), SPR, False) is None


@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize("plane", [(9,), (5, 9)])
def test_groups_of_known_size(plane: tuple[int, ...], target: Target) -> None:
    """They take the kernels of any size, also where an epilogue reads a part of the result."""
    x = te.placeholder((2, 8, *plane), name="X")
    weight = te.placeholder((6, 4, *(4 for _ in plane)), name="W")
    made = topi.nn.group_conv1d_ncw if len(plane) == 1 else topi.nn.group_conv2d_nchw
    y = made(x, weight, 1, 2, 1, 2)
    part = topi.strided_slice(y, [0] * y.ndim, [2, 6, *plane])
    for func in (
        te.create_prim_func([x, weight, y]),
        te.create_prim_func([x, weight, topi.nn.relu(part)]),
    ):
        after = scheduled(Conv2D(), func, target)
        assert "of planes of any size" in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize("window", [1, 3])
def test_groups_of_channels_that_are_last(window: int, target: Target) -> None:
    """No panel runs along a row of the plane: another rule schedules them."""
    x = te.placeholder((2, 6, 5, 12), name="X")
    weight = te.placeholder((window, window, 6, 16), name="W")
    y = topi.nn.group_conv2d_nhwc(x, weight, 1, window // 2, 1, 2)
    func = te.create_prim_func([x, weight, topi.nn.relu(y)])
    scheduled(next(one for one in default_rules() if one.apply(func, target, False)), func, target)


def test_known_multipliers_of_channels_are_left_to_windows() -> None:
    """Each filter sums up one channel: vectors along the plane, as for one filter a channel."""
    x, weight = te.placeholder((1, 3, 9, 9), name="X"), te.placeholder((6, 1, 3, 3), name="W")
    y = topi.nn.group_conv2d_nchw(x, weight, 1, 1, 1, 3)
    assert Conv2D().apply(te.create_prim_func([x, weight, y]), SPR, False) is None


def test_multipliers_of_channels_are_groups() -> None:
    """Two filters for each channel: f // 2 is the group."""
    h, w = te.size_var("h"), te.size_var("w")
    x, weight = te.placeholder((1, 3, h, w), name="X"), te.placeholder((6, 1, 3, 3), name="W")
    y = topi.nn.group_conv2d_nchw(x, weight, 1, 1, 1, 3)
    scheduled(Conv2D(), te.create_prim_func([x, weight, y]), SPR, {"h": 4, "w": 7})


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_plane_that_is_its_own_weight_is_left_to_others(dtype: str) -> None:
    """What is copied of one factor would be read as the other."""
    x = te.placeholder((1, 8, 12, 11), dtype, "X")
    c, s = te.reduce_axis((0, 8), "c"), te.reduce_axis((0, 3), "s")

    def product(n: Var, f: Var, h: Var, w: Var) -> PrimExpr:
        left, right = (x[n, c, h, s * 2 + at].astype("float32") for at in (w, f))
        return te.sum(left * right, [c, s])

    func = te.create_prim_func([x, te.compute((1, 7, 12, 7), product)])
    made = first_schedule(func, SPR, default_rules())
    assert made is not None
    np.testing.assert_allclose(results(func, made), results(func, func), rtol=1e-4)
