from __future__ import annotations

import numpy as np
import pytest

from tests.topi.nn.reference import conv_reference
from tests.topi.numerics import close, evaluate, floats
from tvm import topi

pytestmark = pytest.mark.pure
nn = topi.nn


@pytest.mark.parametrize("groups", [1, 2])
def test_without_offsets_it_is_a_convolution(groups: int) -> None:
    x, w = floats(1, 4, 6, 7), floats(6, 4 // groups, 3, 3, seed=1)
    wanted = conv_reference(x, w, 1, ([1, 1], [1, 1]), 1, groups)
    zero = np.zeros((1, 2 * 9 * 2, 6, 7), "float32")
    op = lambda a, o, b: nn.deformable_conv2d_nchw(a, o, b, 1, 1, 1, 2, groups, None)
    close(evaluate(op, x, zero, w), wanted, 1e-3, 1e-4)


def test_offsets_move_the_taps() -> None:
    x, w = floats(1, 2, 6, 7), floats(3, 2, 1, 1, seed=1)
    offset = np.zeros((1, 2, 6, 7), "float32")
    offset[0, 0], offset[0, 1] = 1.0, 0.5
    wide = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)])
    moved = 0.5 * wide[:, :, 1:7, 0:7] + 0.5 * wide[:, :, 1:7, 1:8]
    wanted = np.einsum("nchw,oc->nohw", moved, w[:, :, 0, 0])
    op = lambda a, o, b: nn.deformable_conv2d_nchw(a, o, b, 1, 0, 1, 1, 1, "float32")
    close(evaluate(op, x, offset, w), wanted, 1e-4, 1e-5)
    op = lambda a, o, b: nn.deformable_conv2d_nhwc(a, o, b, 1, 0, 1, 1, 1, "float32")
    got = evaluate(
        op, *(a.transpose(0, 2, 3, 1).copy() for a in (x, offset)), w.transpose(2, 3, 1, 0).copy()
    )
    close(got, wanted.transpose(0, 2, 3, 1), 1e-4, 1e-5)


def test_nothing_lies_before_the_first_row_or_column() -> None:
    x, w = np.arange(1, 5, dtype="float32").reshape(1, 1, 2, 2), np.ones((1, 1, 1, 1), "float32")
    for rows, columns, wanted in (
        (-0.25, 0.0, [[0, 0], [2.5, 3.5]]),
        (0.0, -0.5, [[0, 1.5], [0, 3.5]]),
        (0.5, 0.0, [[2, 3], [1.5, 2]]),  # behind the last row zeros are mixed in
    ):
        offsets = np.zeros((1, 2, 2, 2), "float32")
        offsets[0, 0], offsets[0, 1] = rows, columns
        op = lambda d, o, k: nn.deformable_conv2d_nchw(d, o, k, 1, 0, 1, 1, 1, "float32")
        found = evaluate(op, x, offsets, w)
        close(found, np.array(wanted, "float32").reshape(1, 1, 2, 2))
