from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.nn.reference import conv_reference
from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError
from tvm.topi.nn.conv_nd import conv

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("stride", [1, (2, 1)])
@pytest.mark.parametrize("padding", [0, (1, 2), (0, 1, 2, 1), "SAME", "VALID"])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("groups", [1, 2])
def test_all_options(stride: Any, padding: Any, dilation: Any, groups: int) -> None:
    x, w = floats(2, 4, 7, 8), floats(6, 4 // groups, 3, 2, seed=1)
    op = lambda a, b: conv(a, b, stride, padding, dilation, groups, "NCHW", "OIHW")
    wide = [(k - 1) * dilation + 1 for k in (3, 2)]
    pads = topi.nn.utils.get_pad_tuple_generic(padding, wide)
    close(evaluate(op, x, w), conv_reference(x, w, stride, pads, dilation, groups), 1e-3, 1e-4)


@pytest.mark.parametrize(
    ("data", "kernel"), [("NHWC", "HWIO"), ("HWCN", "HWIO"), ("NHWC", "OHWI"), ("NCHW", "HWIO")]
)
def test_layouts(data: str, kernel: str) -> None:
    x, w = floats(2, 4, 5, 6), floats(3, 4, 3, 3, seed=1)
    turned_x = np.einsum(f"NCHW->{data}", x)
    turned_w = np.einsum(f"OIHW->{kernel}", w)
    got = evaluate(lambda a, b: conv(a, b, 1, 1, 1, 1, data, kernel), turned_x, turned_w)
    wanted = np.einsum(f"NCHW->{data}", conv_reference(x, w, 1, ([1, 1], [1, 1]), 1, 1))
    close(got, wanted, 1e-3, 1e-4)


def test_symbolic_batch_and_picture() -> None:
    x, w = floats(2, 3, 6, 7), floats(4, 3, 3, 3, seed=1)
    op = lambda a, b: conv(a, b, 1, 1, 1, 1, "NCHW", "OIHW")
    wanted = conv_reference(x, w, 1, ([1, 1], [1, 1]), 1, 1)
    close(evaluate(op, x, w, symbolic=True), wanted, 1e-3, 1e-4)
    close(evaluate(op, x, w, dtype="int64"), wanted, 1e-3, 1e-4)


def test_sums_in_another_type() -> None:
    x = np.full((1, 64, 3, 3), 100, "int8")
    w = np.full((1, 64, 3, 3), 100, "int8")
    got = evaluate(lambda a, b: conv(a, b, 1, 0, 1, 1, "NCHW", "OIHW", "int32"), x, w)
    assert got[0, 0, 0, 0] == 64 * 9 * 10000


def test_names_of_stage_and_axes() -> None:
    x, w = te.placeholder((1, 8, 8, 3)), te.placeholder((3, 3, 3, 4))
    out = topi.nn.conv2d_nhwc(x, w, 1, 1, 1)
    assert out.op.name == out.op.tag == "conv2d_nhwc"
    assert [a.var.name for a in out.op.axis] == ["nn", "yy", "xx", "ff"]
    assert [a.var.name for a in out.op.reduce_axis] == ["ry", "rx", "rc"]
    assert out.op.attrs["layout_free_placeholders"][0] == w


def test_refuses() -> None:
    x = te.placeholder((1, 4, 8, 8))
    for kernel, groups, text in (
        ((6, 3, 3, 3), 1, "a kernel with 4"),
        ((6, 1, 3, 3), 3, "in 3 groups"),
    ):
        with pytest.raises(ShapeError, match=text):
            conv(x, te.placeholder(kernel), 1, 0, 1, groups, "NCHW", "OIHW")
    w = te.placeholder((6, 4, 3, 3))
    with pytest.raises(ShapeError, match=r"strides\n.*3 values"):
        conv(x, w, (1, 1, 1), 0, 1, 1, "NCHW", "OIHW")
    with pytest.raises(ShapeError, match="axes O and I"):
        conv(x, w, 1, 0, 1, 1, "NCHW", "XYHW")


@pytest.mark.parametrize(
    "build",
    [
        lambda x, w: topi.nn.conv2d_nchw(x, w, 0, 0, 1),
        lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 0, (1, -1)),
        lambda x, w: topi.nn.group_conv2d_nchw(x, w, 1, 0, 1, 0),
        lambda x, w: topi.nn.conv2d_nchw(x, w, 1, 0, 3),  # the kernel does not fit
        lambda x, w: topi.nn.dilate(x, (1, 1, 0, 1)),
        lambda x, w: topi.nn.group_norm(x, None, None, 0, 1, [2, 3]),
    ],
)
def test_numbers_that_fit_nothing(build: Any) -> None:
    with pytest.raises(ShapeError):
        build(te.placeholder((1, 2, 5, 5)), te.placeholder((4, 2, 3, 3)))
