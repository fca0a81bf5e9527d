from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError
from tvm.topi import scatter

pytestmark = pytest.mark.pure


def test_scatter_nd() -> None:
    x, i = floats(3, 4), np.array([[0, 2, 0], [1, 3, 1]], "int64")
    u = floats(3, seed=1)
    wanted = x.copy()
    np.add.at(wanted, (i[0], i[1]), u)
    close(evaluate(lambda *t: topi.scatter_nd(*t, "add"), x, i, u), wanted)
    for signed in (i - 3, i.astype("int32") - [[3], [4]]):
        at = signed.astype("int32")
        wanted = x.copy()
        np.add.at(wanted, (at[0], at[1]), u)
        got = evaluate(
            lambda a, b, c: topi.scatter_nd(a, scatter.counted_from_front(b, a.shape), c, "add"),
            x, at, u,
        )  # fmt: skip
        close(got, wanted)
    rows = floats(2, 4, seed=2)
    wanted = x.copy()
    wanted[[2, 0]] = rows
    index = np.array([[2, 0]], "int32")
    close(evaluate(lambda *t: topi.scatter_nd(*t, "update"), x, index, rows), wanted)


def test_refuses() -> None:
    a = te.placeholder((3, 4))
    i = te.placeholder((2, 5), "int32")
    with pytest.raises(ShapeError, match=r"shape of the updates\n.*\(3, 4\)\n.*legal: \(5\)"):
        topi.scatter_nd(a, i, a, "add")
    with pytest.raises(ShapeError, match=r"must not be larger"):
        topi.scatter_nd(a, te.placeholder((3, 5), "int32"), te.placeholder((5,)), "add")
    with pytest.raises(NotImplementedError, match=r"reduction 'xor'"):
        topi.scatter_nd(a, i, te.placeholder((5,)), "xor")
