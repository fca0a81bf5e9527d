from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import topi

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("dilation", [1, 2])
def test_dilation(dilation: int) -> None:
    x, w = floats(1, 2, 6, 7) - 5, floats(2, 3, 2, seed=1)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    rows, columns = 8 - 2 * dilation, 9 - dilation
    taps = [
        padded[:, :, i * dilation : i * dilation + rows : 2, j * dilation : j * dilation + columns]
        + w[:, i, j, None, None]
        for i in range(3)
        for j in range(2)
    ]
    wanted = np.max(taps, 0)
    op = lambda a, b: topi.image.dilation2d_nchw(a, b, (2, 1), 1, dilation)
    close(evaluate(op, x, w), wanted)
    op = lambda a, b: topi.image.dilation2d_nhwc(a, b, (2, 1), 1, dilation)
    last = evaluate(op, x.transpose(0, 2, 3, 1).copy(), w.transpose(1, 2, 0).copy())
    close(last, wanted.transpose(0, 2, 3, 1))
