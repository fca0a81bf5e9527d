from __future__ import annotations

from typing import Any

import pytest

from tests.topi.nn.reference import conv_reference
from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


@pytest.mark.parametrize("size", [(4, 5), (9, 10)])
@pytest.mark.parametrize("padding", [0, 1, (0, 1, 2, 1)])
def test_both_layouts(size: Any, padding: Any) -> None:
    x, w = floats(2, 3, *size), floats(4, 3, 3, 3, seed=1)
    pads = nn.utils.get_pad_tuple_generic(padding, (3, 3))
    wanted = conv_reference(x, w, 1, pads, 1, 1)
    op = lambda a, b: nn.conv2d_winograd_nchw(a, b, 1, padding, 1, "float32")
    close(evaluate(op, x, w), wanted, 1e-3, 1e-3)
    op = lambda a, b: nn.conv2d_winograd_nhwc(a, b, 1, padding, 1, "float32")
    got = evaluate(op, x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy())
    close(got, wanted.transpose(0, 2, 3, 1), 1e-3, 1e-3)


@pytest.mark.parametrize("tile", [2, 4])
def test_kernel_transformed_beforehand(tile: int) -> None:
    x, w = floats(1, 3, 9, 9), floats(4, 3, 3, 3, seed=1)
    wanted = conv_reference(x, w, 1, ([1, 1], [1, 1]), 1, 1)
    ready = evaluate(lambda k: nn.conv2d_winograd_weight_transform(k, tile), w)
    assert ready.shape == (tile + 2, tile + 2, 4, 3)
    op = lambda a, b: nn.conv2d_winograd_nchw_without_weight_transform(a, b, 1, 1, 1, "float32")
    close(evaluate(op, x, ready.transpose(0, 1, 3, 2).copy()), wanted, 1e-3, 1e-3)
    op = lambda a, b: nn.conv2d_winograd_nhwc_without_weight_transform(a, b, 1, 1, 1, "float32")
    got = evaluate(op, x.transpose(0, 2, 3, 1).copy(), ready)
    close(got, wanted.transpose(0, 2, 3, 1), 1e-3, 1e-3)


def test_refuses() -> None:
    x, w = te.placeholder((1, 3, 9, 9)), te.placeholder((4, 3, 3, 3))
    with pytest.raises(ShapeError, match=r"strides \(2, 2\)"):
        nn.conv2d_winograd_nchw(x, w, (2, 2), 1, 1, "float32")
    with pytest.raises(ShapeError, match=r"a square one"):
        nn.conv2d_winograd_weight_transform(te.placeholder((4, 3, 3, 5)), 2)
