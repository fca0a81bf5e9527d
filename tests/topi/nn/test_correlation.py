from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("multiply", [True, False])
@pytest.mark.parametrize(("kernel", "stride"), [(1, 1), (3, 2)])
def test_correlation(multiply: bool, kernel: int, stride: int) -> None:
    x, y = floats(1, 2, 9, 9), floats(1, 2, 9, 9, seed=1)
    got = evaluate(
        lambda a, b: topi.nn.correlation_nchw(a, b, kernel, 2, stride, 1, 1, multiply), x, y
    )
    p, q = (np.pad(a, [(0, 0), (0, 0), (1, 1), (1, 1)]) for a in (x, y))
    join = np.multiply if multiply else lambda a, b: np.abs(a - b)
    for number in (0, 7, 12, 24):
        dy, dx = number // 5 - 2, number % 5 - 2
        for i, j in ((0, 0), (1, 1)):
            r, c = i * stride + 2, j * stride + 2
            a = p[:, :, r : r + kernel, c : c + kernel]
            b = q[:, :, r + dy : r + dy + kernel, c + dx : c + dx + kernel]
            close(got[0, number, i, j], np.mean(join(a, b), dtype="float32"), 1e-4, 1e-5)


def test_refuses() -> None:
    with pytest.raises(ShapeError, match=r"different shapes"):
        topi.nn.correlation_nchw(
            te.placeholder((1, 2, 8, 8)), te.placeholder((1, 2, 8, 9)), 1, 1, 1, 1, 0, True
        )


def test_the_mean_is_a_stage_of_its_own() -> None:
    x, y = (te.placeholder((1, 3, 10, 10), name=name) for name in "xy")
    found = topi.nn.correlation_nchw(x, y, 3, 3, 1, 2, 4, True)
    assert found.op.name == "T_divide"
    assert "/ T.float32(27.0)" in te.create_prim_func([x, y, found]).script()
