"""Convolutions over planes of any size."""

from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D
from tvm.target import Target

REASON = "rows of weights by shifted planes"


def conv(
    channels: int, filters: int, kernel: int, stride: int, pad: int, dilation: int = 1,
    epilogue: bool = True, batch: int | None = None,
) -> tir.PrimFunc:  # fmt: skip
    n, h, w = (te.size_var(name) for name in "nhw")
    x = te.placeholder((n if batch is None else batch, channels, h, w), name="X")
    weight = te.placeholder((filters, channels, kernel, kernel), name="W")
    y = topi.nn.conv2d_nchw(x, weight, stride, pad, dilation)
    if not epilogue:
        return te.create_prim_func([x, weight, y])
    bias = te.placeholder((filters, 1, 1), name="bias")
    return te.create_prim_func([x, weight, bias, topi.nn.relu(topi.add(y, bias))])


@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize(
    ("kernel", "stride", "pad", "dilation"),
    [(3, 1, 1, 1), (3, 2, 1, 1), (1, 1, 0, 1), (1, 2, 0, 1), (5, 3, 0, 1), (3, 1, 2, 2),
     (3, 2, 2, 2), (2, 2, 0, 1)],
)  # fmt: skip
def test_steps_windows_and_dilations(
    kernel: int, stride: int, pad: int, dilation: int, target: Target
) -> None:
    func = conv(3, 5, kernel, stride, pad, dilation, epilogue=stride < 3)
    after = scheduled(Conv2D(), func, target, {"n": 2, "h": 9, "w": 11})
    reason = str(after.attrs["schedule_reason"])
    one_run = (kernel, stride, pad) == (1, 1, 0)  # the plane is a matrix as it is
    assert ("packed into a panel" if one_run else REASON) in reason
    assert one_run is (REASON not in reason)


@pytest.mark.parametrize(("h", "w"), [(1, 1), (1, 20), (6, 1), (17, 3)])
def test_all_sizes(h: int, w: int) -> None:
    scheduled(Conv2D(), conv(2, 17, 3, 1, 1), SPR, {"n": 1, "h": h, "w": w})


def test_no_division_is_left_within_the_sums() -> None:
    text = scheduled(Conv2D(), conv(4, 8, 3, 1, 1), SPR, {"n": 1, "h": 5, "w": 6}).script()
    sums = [line for line in text.splitlines() if "_local[" in line and " * " in line]
    assert sums
    assert not any("T.where" in line for line in text.splitlines() if "_local" in line)


def test_one_and_three_dimensions() -> None:
    t = te.size_var("t")
    x, w = te.placeholder((2, 3, t), name="X"), te.placeholder((4, 3, 5), name="W")
    y = topi.nn.conv1d(x, w, 2, 2, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]), SPR, {"t": 13})
    assert REASON in str(after.attrs["schedule_reason"])
    x = te.placeholder((1, 2, 4, t, 5), name="X")
    w = te.placeholder((3, 2, 3, 3, 3), name="W")
    y = topi.nn.conv3d_ncdhw(x, w, 1, 1, 1, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]), SPR, {"t": 4})
    assert REASON in str(after.attrs["schedule_reason"])


def test_one_symbolic_side() -> None:
    w = te.size_var("w")
    x = te.placeholder((1, 3, 7, w), name="X")
    weight = te.placeholder((6, 3, 3, 3), name="W")
    y = topi.nn.conv2d_nchw(x, weight, (2, 1), 1, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, weight, y]), SPR, {"w": 9})
    assert REASON in str(after.attrs["schedule_reason"])
