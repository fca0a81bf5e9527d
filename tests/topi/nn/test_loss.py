from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_nll_loss(reduction: str) -> None:
    x, w = floats(3, 4, 2), np.array([1, 2, 3, 4], "float32")
    t = np.array([[0, 1], [2, 3], [1, 1]], "int32")
    used = np.where(t == 1, 0, w[t])
    each = -np.take_along_axis(x, t[:, None], 1)[:, 0] * used
    wanted = {"none": each, "sum": each.sum(), "mean": each.sum() / used.sum()}[reduction]
    got = evaluate(lambda a, b, c: topi.nn.nll_loss(a, b, c, reduction, 1), x, t, w)
    close(got, wanted, 1e-4, 1e-5)


def test_without_batches() -> None:
    x, t, w = floats(4), np.array(2, "int32"), np.ones(4, "float32")
    got = evaluate(lambda a, b, c: topi.nn.nll_loss(a, b, c, "mean", -100), x, t, w)
    close(got, -x[2], 1e-5)
    with pytest.raises(ValueError, match=r"reduction 'max'"):
        topi.nn.nll_loss(*(te.placeholder((4,)) for _ in range(3)), "max", 0)
