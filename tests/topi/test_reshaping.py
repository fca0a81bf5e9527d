from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError
from tvm.tir.data_layout import LayoutError

pytestmark = pytest.mark.pure


def test_axes_added_and_dropped() -> None:
    x = floats(3, 4)
    close(evaluate(lambda a: topi.expand_dims(a, 1), x), x[:, None])
    close(evaluate(lambda a: topi.expand_dims(a, -1, 2), x), x[:, :, None, None])
    y = floats(1, 3, 1)
    close(evaluate(topi.squeeze, y), y.squeeze())
    close(evaluate(lambda a: topi.squeeze(a, [0]), y), y[0])
    close(evaluate(lambda a, b: topi.expand_like(a, b, [1]), x, floats(3, 5, 4)),
          np.broadcast_to(x[:, None], (3, 5, 4)))  # fmt: skip
    with pytest.raises(ShapeError, match=r"axes of extent 1"):
        topi.squeeze(te.placeholder((3, 1)), [0])


@pytest.mark.parametrize("symbolic", [False, True])
def test_many_tensors_joined(symbolic: bool) -> None:
    """The element is found by halves: no nest of choices as deep as there are tensors."""
    several = [floats(2, 1 + i % 3) for i in range(150)]
    joined = np.concatenate(several, 1)
    close(evaluate(lambda *t: topi.concatenate(t, 1), *several, symbolic=symbolic), joined)
    alike = [floats(2, 3) for _ in range(150)]
    close(evaluate(lambda *t: topi.stack(t, 1), *alike, symbolic=symbolic), np.stack(alike, 1))


@pytest.mark.parametrize("axes", [None, (2, 0, 1), (-1, 0, 1)])
def test_transpose(axes: Any) -> None:
    x = floats(2, 3, 4)
    close(evaluate(lambda a: topi.transpose(a, axes), x), np.transpose(x, axes))
    close(evaluate(lambda a: topi.transpose(a, axes), x, symbolic=True), np.transpose(x, axes))


@pytest.mark.parametrize("shape", [(4, 6), (24,), (2, 2, 3, 2), (1, 24, 1)])
def test_reshape(shape: Any) -> None:
    x = floats(2, 3, 4)
    close(evaluate(lambda a: topi.reshape(a, shape), x), x.reshape(shape))
    close(evaluate(lambda a: topi.reshape(a, shape), x, dtype="int64"), x.reshape(shape))


def test_empty_tensors() -> None:
    close(evaluate(lambda a: topi.reshape(a, (0, 3)), floats(3, 0)), np.zeros((0, 3)))


def test_joined_and_cut() -> None:
    x, y, z = floats(2, 3), floats(2, 1, seed=1), floats(2, 4, seed=2)
    close(evaluate(lambda *t: topi.concatenate(t, 1), x, y, z), np.concatenate([x, y, z], 1))
    close(evaluate(lambda *t: topi.stack(t, 1), x, x + 1, x + 2), np.stack([x, x + 1, x + 2], 1))
    whole = floats(7, 3)
    for got, wanted in zip(
        evaluate(lambda a: topi.split(a, [2, 3], 0), whole), np.split(whole, [2, 3])
    ):
        close(got, wanted)
    pieces = evaluate(lambda a: topi.split(a, 3, 0), floats(6, 3))
    assert [p.shape for p in pieces] == [(2, 3)] * 3


def test_reversed() -> None:
    x = floats(3, 4)
    close(evaluate(lambda a: topi.flip(a, 1), x), x[:, ::-1])
    lengths = np.array([2, 4, 1], "int32")
    wanted = x.copy()
    for row, n in enumerate(lengths):
        wanted[row, :n] = x[row, :n][::-1]
    close(evaluate(lambda a, n: topi.reverse_sequence(a, n, 1, 0), x, lengths), wanted)


def test_repeated() -> None:
    x = floats(2, 3)
    close(evaluate(lambda a: topi.repeat(a, 2, 1), x), np.repeat(x, 2, 1))
    for reps in (2, (3, 2), (2, 1, 2)):
        close(evaluate(lambda a, reps=reps: topi.tile(a, reps), x), np.tile(x, reps))


def test_layout_transform() -> None:
    x = floats(1, 6, 2, 3)
    blocked = evaluate(lambda a: topi.layout_transform(a, "NCHW", "NCHW4c"), x)
    wide = np.zeros((1, 8, 2, 3), "float32")
    wide[:, :6] = x
    close(blocked, wide.reshape(1, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2))
    close(evaluate(lambda a: topi.layout_transform(a, "NCHW", "NHWC"), x), x.transpose(0, 2, 3, 1))
    same = te.placeholder((1, 2, 3, 4))
    assert topi.layout_transform(same, "NCHW", "NCHW") is same
    with pytest.raises(LayoutError, match=r"two layouts with the same axes"):
        topi.layout_transform(same, "NCHW", "NCDW")


def test_sliding_window() -> None:
    x = floats(2, 7, 6)
    got = evaluate(lambda a: topi.sliding_window(a, 1, [3, 2], [2, 1]), x)
    wanted = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (1, 2))[:, ::2]
    close(got, wanted)


def test_refuses() -> None:
    a, b = te.placeholder((2, 3)), te.placeholder((2, 4))
    with pytest.raises(ShapeError, match=r"6 elements of shape \(2, 3\), 8 in \(8\)"):
        topi.reshape(a, (8,))
    with pytest.raises(ShapeError, match=r"equal shapes but for the axis"):
        topi.concatenate([a, b], 0)
    with pytest.raises(ShapeError, match=r"legal: equal"):
        topi.stack([a, b])
    with pytest.raises(ShapeError, match=r"each axis once"):
        topi.transpose(a, (0, 0))
    with pytest.raises(ShapeError, match=r"at least 1"):
        topi.split(a, 0)
    with pytest.raises(ShapeError, match=r"as many|one of each"):
        topi.sliding_window(a, 0, [1], [1])
