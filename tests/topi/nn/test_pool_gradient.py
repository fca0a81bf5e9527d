from __future__ import annotations

from typing import Any

import pytest

from tests.topi.numerics import close, evaluate, floats
from tvm import te, topi
from tvm.error import ShapeError
from tvm.topi import testing

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding"),
    [
        ((2, 2), (2, 2), (0, 0, 0, 0)),
        ((3, 2), (1, 2), (1, 0, 1, 1)),
        ((3, 3), (2, 1), (1, 1, 0, 1)),
        ((2, 2), (3, 3), (0, 0, 0, 0)),  # elements between windows, and behind the last one
    ],
)
def test_gradient(
    kind: str, ceil: bool, counted: bool, kernel: Any, stride: Any, padding: Any
) -> None:
    x = floats(1, 2, 6, 7)
    pooled = testing.poolnd_python(
        x, kernel, stride, (1, 1), padding[:2], padding[2:], kind, counted, ceil
    )
    g = floats(*pooled.shape, seed=1)
    wanted = testing.pool_grad_nchw(x, g, kernel, stride, padding, kind, ceil, counted)
    op = lambda a, b: topi.nn.pool_grad(a, b, kernel, stride, padding, kind, ceil, counted)
    close(evaluate(op, g, x), wanted, 1e-4, 1e-5)


def test_channels_last_and_refusals() -> None:
    x, g = floats(1, 4, 4, 2), floats(1, 2, 2, 2, seed=1)
    op = lambda a, b: topi.nn.pool_grad(a, b, (2, 2), (2, 2), (0,) * 4, "max", layout="NHWC")
    first = testing.pool_grad_nchw(
        x.transpose(0, 3, 1, 2), g.transpose(0, 3, 1, 2), (2, 2), (2, 2), (0,) * 4, "max", False
    )
    close(evaluate(op, g, x), first.transpose(0, 2, 3, 1))
    a = te.placeholder((1, 2, 4, 4))
    with pytest.raises(ValueError, match=r"pool_type 'sum'"):
        topi.nn.pool_grad(a, a, (2, 2), (2, 2), (0,) * 4, "sum")
    with pytest.raises(ShapeError, match=r"legal: 2, 2 and 4"):
        topi.nn.pool_grad(a, a, (2, 2), (2, 2), (0, 0), "max")


@pytest.mark.parametrize(
    ("extent", "stride", "behind"),
    [(6, 2, False), (7, 2, True), (8, 3, False), (10, 3, True)],
)
def test_windows_are_asked_for_where_an_element_may_lie_behind_them(
    extent: int, stride: int, behind: bool
) -> None:
    x = te.placeholder((1, 1, extent, extent), name="x")
    count = (extent - 2) // stride + 1
    g = te.placeholder((1, 1, count, count), name="g")
    made = topi.nn.pool_grad(g, x, (2, 2), (stride, stride), (0, 0, 0, 0), "max", False)
    text = te.create_prim_func([g, x, made]).script()
    assert (f"- v_wh < {count}" in text) == behind
