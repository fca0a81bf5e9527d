from __future__ import annotations

import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import topi

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("step", [1, 2, 3])
def test_slice_scatter(step: int) -> None:
    x = floats(3, 9)
    src = floats(*x[:, 1:8:step].shape, seed=1)
    wanted = x.copy()
    wanted[:, 1:8:step] = src
    close(evaluate(lambda a, s: topi.slice_scatter(a, s, 1, 8, step, 1), x, src), wanted)
