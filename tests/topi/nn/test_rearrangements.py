"""Operators that exchange batch, channel and space."""

from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


def test_space_to_depth() -> None:
    x = floats(2, 3, 4, 6)
    wanted = x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3)
    close(evaluate(lambda a: nn.space_to_depth(a, 2), x), wanted)
    got = evaluate(lambda a: nn.space_to_depth(a, 2, "NHWC"), x.transpose(0, 2, 3, 1).copy())
    close(got, wanted.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space(mode: str) -> None:
    x = floats(2, 12, 2, 3)
    if mode == "DCR":
        wanted = x.reshape(2, 2, 2, 3, 2, 3).transpose(0, 3, 4, 1, 5, 2)
    else:
        wanted = x.reshape(2, 3, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3)
    wanted = wanted.reshape(2, 3, 4, 6)
    close(evaluate(lambda a: nn.depth_to_space(a, 2, mode=mode), x), wanted)
    got = evaluate(lambda a: nn.depth_to_space(a, 2, "NHWC", mode), x.transpose(0, 2, 3, 1).copy())
    close(got, wanted.transpose(0, 2, 3, 1))


def test_pixel_shuffle() -> None:
    x = floats(2, 12, 2, 3)
    wanted = x.reshape(2, 3, 2, 2, 2, 3).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 4, 6)
    close(evaluate(lambda a: nn.pixel_shuffle(a, 2), x), wanted)
    with pytest.raises(ShapeError, match=r"10 channels"):
        nn.pixel_shuffle(te.placeholder((10, 2, 2)), 2)


def test_space_and_batches() -> None:
    x = floats(2, 3, 5, 2)
    padded = np.pad(x, [(0, 0), (1, 0), (0, 1), (0, 0)])
    wanted = padded.reshape(2, 2, 2, 3, 2, 2).transpose(2, 4, 0, 1, 3, 5).reshape(8, 2, 3, 2)
    there = evaluate(lambda a: nn.space_to_batch_nd(a, [2, 2], [1, 0], [0, 1]), x)
    close(there, wanted)
    back = evaluate(lambda a: nn.batch_to_space_nd(a, [2, 2], [1, 0], [0, 1]), there)
    close(back, x)


def test_flatten() -> None:
    x = floats(2, 3, 4)
    close(evaluate(nn.flatten, x), x.reshape(2, 12))


def test_fifo_buffer() -> None:
    new, old = floats(2, 2), floats(2, 5, seed=1)
    wanted = np.concatenate([old, new], 1)[:, 2:]
    close(evaluate(lambda a, b: nn.fifo_buffer(a, b, 1), new, old), wanted)


def test_scale_and_shift() -> None:
    x, s, t = floats(2, 3, 4, 5), floats(3, seed=1), floats(3, seed=2)
    wanted = x * s[:, None, None] + t[:, None, None]
    close(evaluate(nn.scale_shift_nchw, x, s, t), wanted)
    close(
        evaluate(nn.scale_shift_nhwc, x.transpose(0, 2, 3, 1).copy(), s, t),
        wanted.transpose(0, 2, 3, 1),
    )
    b, u, v = floats(2, 3, 4, 5, 6), floats(3, 6, seed=1), floats(3, 6, seed=2)
    wanted = b * u[:, None, None] + v[:, None, None]
    close(evaluate(nn.scale_shift_nchwc, b, u, v), wanted)


def test_blocks_are_found_by_truncated_divisions() -> None:
    x = te.placeholder((1, 8, 4, 4), name="x")
    text = te.create_prim_func([x, nn.depth_to_space(x, 2)]).script()
    assert "T.truncmod(v_i2, 2) * 4 + T.truncmod(v_i3, 2) * 2 + v_i1, T.Div(v_i2, 2)" in text
    text = te.create_prim_func([x, nn.space_to_depth(x, 2)]).script()
    assert "x[v_i0, T.truncmod(v_i1, 8), v_i2 * 2 + T.Div(v_i1, 16)" in text
