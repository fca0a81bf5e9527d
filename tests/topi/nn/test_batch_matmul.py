from __future__ import annotations

import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in (False, True) for b in (False, True)])
@pytest.mark.parametrize("batches", [(2, 2), (1, 3), (3, 1)])
def test_products(left: bool, right: bool, batches: tuple[int, int]) -> None:
    a, b = floats(batches[0], 3, 5), floats(batches[1], 5, 4, seed=1)
    x, y = a.swapaxes(1, 2) if left else a, b.swapaxes(1, 2) if right else b
    op = lambda p, q: topi.nn.batch_matmul(p, q, transpose_a=left, transpose_b=right)
    close(evaluate(op, x, y), a @ b, 1e-4, 1e-5)


def test_refuses() -> None:
    a = te.placeholder((2, 3, 5))
    with pytest.raises(ShapeError, match=r"2 and 3"):
        topi.nn.batch_matmul(a, te.placeholder((3, 3, 5)))
    with pytest.raises(ShapeError, match=r"only support 3-dim"):
        topi.nn.batch_matmul(a, te.placeholder((3, 5)))
