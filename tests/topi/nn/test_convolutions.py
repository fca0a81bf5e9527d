"""The named convolutions, each against the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.topi.nn.reference import conv_reference, conv_transpose_reference
from tests.topi.numerics import close, evaluate, floats
from tvm import topi

pytestmark = pytest.mark.pure
nn = topi.nn


def turn(spec: str) -> Callable[[Any], Any]:
    return lambda a: np.ascontiguousarray(np.einsum(spec, a))


PICTURE, KERNEL = (2, 4, 6, 7), (6, 4, 3, 3)
LINE, ROW = (2, 4, 9), (6, 4, 3)
VOLUME, CUBE = (1, 4, 5, 6, 4), (6, 4, 3, 2, 3)
NONE = lambda a: a


def grouped(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], shape[1] // 2, *shape[2:])


CASES = [
    ("conv2d_nchw", PICTURE, KERNEL, NONE, NONE, 1),
    ("conv2d_nhwc", PICTURE, KERNEL, turn("nchw->nhwc"), turn("oihw->hwio"), 1),
    ("conv2d_hwcn", PICTURE, KERNEL, turn("nchw->hwcn"), turn("oihw->hwio"), 1),
    ("group_conv2d_nchw", PICTURE, grouped(KERNEL), NONE, NONE, 2),
    ("group_conv2d_nhwc", PICTURE, grouped(KERNEL), turn("nchw->nhwc"), turn("oihw->hwio"), 2),
    ("conv1d_ncw", LINE, ROW, NONE, NONE, 1),
    ("conv1d_nwc", LINE, ROW, turn("ncw->nwc"), turn("oiw->wio"), 1),
    ("group_conv1d_ncw", LINE, grouped(ROW), NONE, NONE, 2),
    ("group_conv1d_nwc", LINE, grouped(ROW), turn("ncw->nwc"), turn("oiw->wio"), 2),
    ("conv3d_ncdhw", VOLUME, CUBE, NONE, NONE, 1),
    ("conv3d_ndhwc", VOLUME, CUBE, turn("ncdhw->ndhwc"), turn("oidhw->dhwio"), 1),
]


@pytest.mark.parametrize(("name", "shape", "kernel", "lay", "lay_kernel", "groups"), CASES)
def test_direct(name: str, shape: Any, kernel: Any, lay: Any, lay_kernel: Any, groups: int) -> None:
    x, w = floats(*shape), floats(*kernel, seed=1)
    dims = len(shape) - 2
    wanted = lay(conv_reference(x, w, 2, ([1] * dims, [1] * dims), 1, groups))
    extra = [groups] if "group" in name or "conv3d" in name else []
    op = lambda a, b: getattr(nn, name)(a, b, 2, 1, 1, *extra, out_dtype="float32")
    close(evaluate(op, lay(x), lay_kernel(w)), wanted, 1e-3, 1e-4)


@pytest.mark.parametrize(
    ("name", "dims", "groups"),
    [
        ("conv1d_transpose_ncw", 1, 1),
        ("group_conv1d_transpose_ncw", 1, 2),
        ("conv2d_transpose_nchw", 2, 1),
        ("group_conv2d_transpose_nchw", 2, 2),
        ("conv3d_transpose_ncdhw", 3, 1),
        ("group_conv3d_transpose_ncdhw", 3, 2),
    ],
)
def test_transposed(name: str, dims: int, groups: int) -> None:
    x, w = floats(2, 4, *[3, 4, 2][:dims]), floats(4, 6 // groups, *[3, 2, 3][:dims], seed=1)
    whole = conv_transpose_reference(x, w, 2, groups)
    # one row more at the end, and one less on each side
    wanted = np.pad(whole, [(0, 0), (0, 0), *[(0, 1)] * dims])
    wanted = wanted[(slice(None), slice(None), *[slice(1, -1)] * dims)]
    extra = [groups] if "group" in name else []
    op = lambda a, b: getattr(nn, name)(a, b, 2, 1, "float32", (1,) * dims, *extra)
    close(evaluate(op, x, w), wanted, 1e-3, 1e-4)


def test_depthwise() -> None:
    x, w = floats(2, 4, 7, 6), floats(4, 2, 3, 3, seed=1)
    wanted = conv_reference(x, w.reshape(8, 1, 3, 3), 2, ([1, 1], [1, 1]), 1, 4)
    close(evaluate(lambda a, b: nn.depthwise_conv2d_nchw(a, b, 2, 1, 1), x, w), wanted, 1e-3, 1e-4)
    nhwc = turn("nchw->nhwc")
    op = lambda a, b: nn.depthwise_conv2d_nhwc(a, b, 2, 1, 1)
    close(evaluate(op, nhwc(x), turn("cmhw->hwcm")(w)), nhwc(wanted), 1e-3, 1e-4)
    op = lambda a, b: nn.depthwise_conv2d_nhwc(a, b, 2, 1, 1, "HWIO")
    close(evaluate(op, nhwc(x), turn("cmhw->hwmc")(w)), nhwc(wanted), 1e-3, 1e-4)


def test_depthwise_in_blocks() -> None:
    x, w = floats(1, 4, 6, 6), floats(8, 1, 3, 3, seed=1)
    wanted = conv_reference(x, w, 1, ([1, 1], [1, 1]), 1, 4)
    blocked_x = x.reshape(1, 2, 2, 6, 6).transpose(0, 1, 3, 4, 2)
    blocked_w = w.reshape(2, 4, 1, 3, 3, 1).transpose(0, 2, 3, 4, 5, 1)
    op = lambda a, b: nn.depthwise_conv2d_NCHWc(a, b, 1, 1, 1, "NCHW2c", "NCHW4c")
    got = evaluate(op, np.ascontiguousarray(blocked_x), np.ascontiguousarray(blocked_w))
    close(got.transpose(0, 1, 4, 2, 3).reshape(1, 8, 6, 6), wanted, 1e-3, 1e-4)


@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_gradients(stride: int) -> None:
    """By the definition: the sum over all uses of an element."""
    x, w = floats(2, 5, 6, 3).astype("float64"), floats(3, 3, 3, 2, seed=1).astype("float64")
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    oh, ow = (5 - 1) // stride + 1, (6 - 1) // stride + 1
    g = floats(2, oh, ow, 6, seed=2).astype("float64")
    split = g.reshape(2, oh, ow, 3, 2)
    dx, dw = np.zeros_like(padded), np.zeros_like(w)
    for i in range(3):
        for j in range(3):
            place = (slice(None), slice(i, i + (oh - 1) * stride + 1, stride),
                     slice(j, j + (ow - 1) * stride + 1, stride))  # fmt: skip
            dx[place] += np.einsum("nhwcm,cm->nhwc", split, w[i, j])
            dw[i, j] = np.einsum("nhwcm,nhwc->cm", split, padded[place])
    f32 = lambda a: a.astype("float32")
    got = evaluate(
        lambda a, b: nn.depthwise_conv2d_backward_input_nhwc(
            a, b, (2, oh, ow, 6), (2, 5, 6, 3), (stride, stride), (1, 1, 1, 1)
        ), f32(w), f32(g),
    )  # fmt: skip
    close(got, dx[:, 1:-1, 1:-1], 1e-3, 1e-4)
    got = evaluate(
        lambda a, b: nn.depthwise_conv2d_backward_weight_nhwc(
            a, b, (2, oh, ow, 6), (3, 3, 3, 2), (stride, stride), (1, 1, 1, 1)
        ), f32(x), f32(g),
    )  # fmt: skip
    close(got, dw, 1e-3, 1e-4)
