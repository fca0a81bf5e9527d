"""Dilated convolutions without the steps of the window that are outside of the plane."""

from __future__ import annotations

import pytest

from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D
from tvm.dlight.cpu.weights import LAYOUT_FREE
from tvm.target import Target
from tvm.tir.expr import PrimExpr

REASON = "without steps of the window that are outside"
Sizes = tuple[int | PrimExpr, ...]


def conv(
    shape: Sizes, dilation: int, pad: int, *, kernel: int = 3, stride: int | tuple[int, int] = 1,
    filters: int = 6, free: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    x = te.placeholder(shape, name="X")
    weight = te.placeholder((filters, shape[1], kernel, kernel), name="W")
    bias = te.placeholder((filters, 1, 1), name="bias")
    y = topi.nn.relu(topi.add(topi.nn.conv2d_nchw(x, weight, stride, pad, dilation), bias))
    func = te.create_prim_func([x, weight, bias, y])
    return func.with_attr(LAYOUT_FREE, [1]) if free else func


def any_size(channels: int = 3) -> Sizes:
    n, h, w = (te.size_var(name) for name in "nhw")
    return n, channels, h, w


@pytest.mark.parametrize(
    ("target", "free", "h", "w"),
    [(SPR, False, 3, 3), (SPR, True, 5, 9), (HASWELL, True, 11, 6), (NEON, False, 5, 9)],
)
def test_steps_that_meet_the_plane(target: Target, free: bool, h: int, w: int) -> None:
    """All of the window in some places, its middle alone in others."""
    func = conv(any_size(2), 4, 4, free=free)
    after = scheduled(Conv2D(), func, target, {"n": 2, "h": h, "w": w})
    assert REASON in str(after.attrs["schedule_reason"])


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "pad"),
    [(3, (2, 1), 3, 3), (5, 1, 2, 4), (2, 1, 2, 7)],
)
def test_windows_and_borders(
    kernel: int, stride: int | tuple[int, int], dilation: int, pad: int
) -> None:
    """A border of 7 around a window of 3 elements: results of which no step meets the plane."""
    func = conv(any_size(2), dilation, pad, kernel=kernel, stride=stride)
    after = scheduled(Conv2D(), func, HASWELL, {"n": 2, "h": 4, "w": 7})
    assert REASON in str(after.attrs["schedule_reason"])


def test_a_panel_of_several_images_and_of_a_part_of_a_row() -> None:
    for sizes in ({"n": 5, "h": 2, "w": 2}, {"n": 1, "h": 2, "w": 70}):
        scheduled(Conv2D(), conv(any_size(1), 6, 6, filters=2), SPR, sizes)


def test_weights_of_a_step_are_one_run() -> None:
    made = Conv2D().apply(conv(any_size(), 4, 4, filters=8, free=True), SPR, False)
    assert made is not None
    text = made.mod["main"].script()
    assert "T.alloc_buffer((1, 3, 3, 3, 8))" in text
    assert "W_global[of_panel, step + v_ry, " in text


@pytest.mark.parametrize(("size", "skips"), [(6, True), (40, False)])
def test_known_sizes_where_it_saves_products(size: int, skips: bool) -> None:
    func = conv((1, 2, size, size), 6, 6)
    made = Conv2D().apply(func, HASWELL, False)
    assert made is not None
    assert (REASON in made.mod["main"].script()) is skips
    if skips:
        scheduled(Conv2D(), func, HASWELL)


def test_three_dimensions_and_one() -> None:
    """Sequences are longer than windows: nothing is outside of them."""
    t = te.size_var("t")
    x = te.placeholder((1, 2, 4, t, 5), name="X")
    w = te.placeholder((3, 2, 3, 3, 3), name="W")
    y = topi.nn.conv3d_ncdhw(x, w, 1, 3, 3, 1)
    after = scheduled(Conv2D(), te.create_prim_func([x, w, y]), SPR, {"t": 4})
    assert REASON in str(after.attrs["schedule_reason"])
    x, w = te.placeholder((2, 3, t), name="X"), te.placeholder((4, 3, 3), name="W")
    made = Conv2D().apply(te.create_prim_func([x, w, topi.nn.conv1d(x, w, 1, 8, 8)]), SPR, False)
    assert made is not None
    assert REASON not in made.mod["main"].script()


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(2, 4, 4), (1, 4, 0), (1, 1, 1)])
def test_others_stay(stride: int, dilation: int, pad: int) -> None:
    """Steps of two elements along rows, no border to speak of, and windows without gaps."""
    made = Conv2D().apply(conv(any_size(), dilation, pad, stride=stride), SPR, False)
    assert made is not None
    assert REASON not in made.mod["main"].script()


@pytest.mark.parametrize(
    ("target", "dilation", "skips"), [(SPR, 2, False), (SPR, 6, True), (HASWELL, 2, False)]
)
def test_channels_along_vectors_where_little_is_skipped(
    target: Target, dilation: int, skips: bool
) -> None:
    func = conv(any_size(4), dilation, dilation, filters=16, free=True)
    made = Conv2D().apply(func, target, False)
    assert made is not None
    assert (REASON in made.mod["main"].script()) is skips
