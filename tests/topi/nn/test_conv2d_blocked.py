from __future__ import annotations

from typing import Any

import pytest

from tests.topi.nn.reference import conv_reference
from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


def blocked(x: Any, size: int) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c // size, size, h, w).transpose(0, 1, 3, 4, 2).copy()


@pytest.mark.parametrize("groups", [1, 2])
def test_blocks(groups: int) -> None:
    x, w = floats(1, 8, 5, 6), floats(8, 8 // groups, 3, 3, seed=1)
    wanted = conv_reference(x, w, 2, ([1, 1], [1, 1]), 1, groups)
    kernel = w.reshape(2, 4, 4 // groups, 2, 3, 3).transpose(0, 2, 4, 5, 3, 1).copy()
    op = lambda a, b: topi.nn.conv2d_NCHWc(a, b, 2, 1, 1, "NCHW2c", "NCHW4c")
    close(evaluate(op, blocked(x, 2), kernel), blocked(wanted, 4), 1e-4, 1e-4)
    whole = lambda a, b: topi.nn.unpack_NCHWc_to_nchw(op(a, b), "float32")
    close(evaluate(whole, blocked(x, 2), kernel), wanted, 1e-4, 1e-4)


def test_bytes() -> None:
    x = rng().integers(0, 255, (1, 8, 4, 4)).astype("uint8")
    w = rng(1).integers(-128, 127, (4, 8, 3, 3)).astype("int8")
    wanted = conv_reference(x.astype("int64"), w.astype("int64"), 1, ([0, 0], [0, 0]), 1, 1)
    kernel = w.reshape(1, 4, 1, 2, 4, 3, 3).transpose(0, 2, 5, 6, 3, 1, 4).copy()
    op = lambda a, b: topi.nn.conv2d_NCHWc_int8(a, b, 1, 0, 1, "NCHW8c", "NCHW4c")
    got = evaluate(op, blocked(x, 8), kernel)
    assert got.dtype == "int32"
    close(got, blocked(wanted, 4))


def test_refuses() -> None:
    with pytest.raises(ShapeError, match=r"data of 4 dimensions"):
        topi.nn.conv2d_NCHWc(
            te.placeholder((1, 2, 3, 4)), te.placeholder((1,) * 6), 1, 0, 1, "NCHW", "NCHW"
        )
