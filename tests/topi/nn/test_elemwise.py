from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
nn = topi.nn


def test_activations() -> None:
    x = floats(2, 3, 4) * 15
    close(evaluate(nn.relu, x), np.maximum(x, 0))
    close(evaluate(lambda a: nn.leaky_relu(a, 0.1), x), np.where(x > 0, x, x * np.float32(0.1)))
    wide = x.astype("float64")
    smooth = np.where(wide * 0.5 > 5, wide, np.log1p(np.exp(np.minimum(wide * 0.5, 5))) / 0.5)
    close(evaluate(lambda a: nn.softplus(a, 0.5, 5.0), x), smooth, 1e-4, 1e-4)
    slope = floats(3, seed=1)
    wanted = np.where(x > 0, x, x * slope[:, None])
    close(evaluate(nn.prelu, x, slope), wanted)
    close(evaluate(nn.prelu, x, slope[:1]), np.where(x > 0, x, x * slope[0]))
    with pytest.raises(ShapeError, match=r"one, or as many as the axis is long"):
        nn.prelu(te.placeholder((2, 3)), te.placeholder((4,)))


def test_whole_numbers() -> None:
    x = np.array([-3, 0, 4], "int32")
    close(evaluate(nn.relu, x), [0, 0, 4])
