from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(accumulate: bool) -> None:
    x, i, j = floats(3, 4, 2), np.array([[0], [2]], "int64"), np.array([1, -1, 1], "int64")
    values = np.float32(1.5) * np.ones((2, 3, 2), "float32")
    wanted = x.copy()
    if accumulate:
        np.add.at(wanted, (i, j), values)
    else:
        wanted[i, j] = values
    got = evaluate(lambda a, v, *index: topi.index_put(a, index, v, accumulate), x, values, i, j)
    close(got, wanted)
    index = te.placeholder((2,), "int32")
    with pytest.raises(ShapeError, match=r"2 indices for 1 dimensions"):
        topi.index_put(te.placeholder((3,)), [index, index], te.placeholder((2,)))
