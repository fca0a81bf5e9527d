"""Operators on numbers of a few bits against plain arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.nn.reference import conv_reference
from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.error import DTypeError, ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


def numbers(bits: int, *shape: int, seed: int = 0) -> Any:
    return rng(seed).integers(0, 1 << bits, shape).astype("uint8")


def meaning(weights: Any, bits: int, unipolar: bool) -> Any:
    """Each bit of a unipolar weight stands for +1 or -1 times its power of two."""
    wide = weights.astype("int64")
    return 2 * wide - ((1 << bits) - 1) if unipolar else wide


def test_bitpack() -> None:
    x = numbers(2, 3, 16)
    packed = evaluate(lambda a: nn.bitpack(a, 2, 1, 0, "uint8"), x)
    for bit in (0, 1):
        np.testing.assert_array_equal(packed[bit], np.packbits((x >> bit) & 1, axis=1))
    assert nn.binary_op_multiplier("uint32") == 32
    with pytest.raises(ShapeError, match=r"12 elements in words of uint8"):
        nn.bitpack(te.placeholder((12,), "uint8"), 2, 0, 0, "uint8")


@pytest.mark.parametrize("unipolar", [False, True])
def test_dense(unipolar: bool) -> None:
    x, w = numbers(2, 3, 32), numbers(1 if unipolar else 2, 4, 32, seed=1)
    bits = 1 if unipolar else 2
    op = lambda a, b: nn.bitserial_dense(a, b, 2, bits, "uint8", "int32", unipolar)
    close(evaluate(op, x, w), x.astype("int64") @ meaning(w, bits, unipolar).T)


@pytest.mark.parametrize("unipolar", [False, True])
def test_convolution(unipolar: bool) -> None:
    x, w = numbers(2, 1, 8, 5, 6), numbers(1, 3, 8, 3, 3, seed=1)
    wanted = conv_reference(x.astype("int64"), meaning(w, 1, unipolar), 2, ([1, 1], [1, 1]), 1, 1)
    op = lambda a, b: nn.bitserial_conv2d_nchw(a, b, 2, 1, 2, 1, "uint8", "int32", unipolar)
    close(evaluate(op, x, w), wanted)
    op = lambda a, b: nn.bitserial_conv2d_nhwc(a, b, 2, 1, 2, 1, "uint8", "int32", unipolar)
    got = evaluate(op, x.transpose(0, 2, 3, 1).copy(), w.transpose(2, 3, 1, 0).copy())
    close(got, wanted.transpose(0, 2, 3, 1))


def test_signs() -> None:
    x, w = floats(3, 64), floats(4, 64, seed=1)
    op = lambda a, b: nn.binary_dense(nn.binarize_pack(a), nn.binarize_pack(b, 1))
    sign = lambda a: np.where(a >= 0, 1, -1)
    close(evaluate(op, x, w), sign(x) @ sign(w).T)
    with pytest.raises(ShapeError, match=r"a multiple of 32"):
        nn.binarize_pack(te.placeholder((3, 40)))
    with pytest.raises(DTypeError, match=r"legal: uint32"):
        nn.binary_dense(te.placeholder((3, 2)), te.placeholder((4, 2)))
