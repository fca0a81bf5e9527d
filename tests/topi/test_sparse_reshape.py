from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("new", [(4, 9), (-1, 9), (2, -1, 3), (36,)])
def test_indices_and_shape(new: tuple[int, ...]) -> None:
    old = (3, 4, 3)
    places = np.array([[0, 0, 0], [1, 2, 1], [2, 3, 2]], "int64")
    full = np.zeros(old).reshape(new).shape
    numbers = np.ravel_multi_index(tuple(places.T), old)
    wanted = np.stack(np.unravel_index(numbers, full), 1)
    op = lambda i, a, b: topi.sparse_reshape(i, a, b, (3, len(new)), (len(new),))
    indices, shape = evaluate(op, places, np.array(old, "int64"), np.array(new, "int64"))
    close(indices, wanted)
    close(shape, np.array(full))


def test_refuses() -> None:
    i, a = te.placeholder((3, 2), "int64"), te.placeholder((3,), "int64")
    with pytest.raises(ShapeError, match=r"one index for each extent"):
        topi.sparse_reshape(i, a, a, (3, 3), (3,))
