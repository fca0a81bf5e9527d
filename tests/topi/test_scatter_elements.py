from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure
JOIN = {
    "update": lambda old, new: new, "add": np.add, "mul": np.multiply, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


@pytest.mark.parametrize("reduction", JOIN)
@pytest.mark.parametrize("axis", [0, 1])
def test_updates(reduction: str, axis: int) -> None:
    x, u = floats(4, 5), floats(3, 5, seed=1)
    index = np.array([[0, 1, -1, 2, 0], [0, 3, 1, 1, 1], [2, 2, 0, 0, -2]], "int64")
    wanted = x.copy()
    for r, c in np.ndindex(3, 5):
        place = (index[r, c], c) if axis == 0 else (r, index[r, c])
        wanted[place] = JOIN[reduction](wanted[place], u[r, c])
    got = evaluate(lambda *t: topi.scatter_elements(*t, axis, reduction), x, index, u)
    close(got, wanted)


def test_mean() -> None:
    x, u, i = floats(3), floats(4, seed=1), np.array([0, 0, 2, 0], "int32")
    halfway = (((x[0] + u[0]) / 2 + u[1]) / 2 + u[3]) / 2
    wanted = np.array([halfway, x[1], (x[2] + u[2]) / 2], "float32")
    close(evaluate(lambda *t: topi.scatter_elements(*t, 0, "mean"), x, i, u), wanted)
    wanted[0] = (x[0] + u[0] + u[1] + u[3]) / 4
    close(evaluate(lambda *t: topi.scatter_elements_mean(*t, 0), x, i, u), wanted)


def test_refuses() -> None:
    a, i = te.placeholder((3,)), te.placeholder((3,), "int32")
    with pytest.raises(NotImplementedError, match=r"reduction 'xor'"):
        topi.scatter_elements(a, i, a, 0, "xor")
    with pytest.raises(ShapeError, match=r"as many of data, indices and updates"):
        topi.scatter_elements(a, i, te.placeholder((3, 3)))
