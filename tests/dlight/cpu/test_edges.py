"""Rows past the end are no copies with zeros."""

from __future__ import annotations

import pytest

from tests.dlight.programs import matmul, scheduled
from tvm import te, tir, topi
from tvm.dlight.base import ScheduleRule
from tvm.dlight.cpu import GEMM, Conv2D, Fallback


@pytest.mark.parametrize("m", [2, 3, 7, 17, 63, 65])
@pytest.mark.parametrize("n", [16, 33])
def test_the_last_row_is_read_again(m: int, n: int) -> None:
    after = scheduled(GEMM(), matmul(m, n, 5))
    rows = int(str(after.attrs["schedule_reason"]).partition("x")[0])
    text = after.script()
    assert "A_pad" not in text
    assert ("T.min(" in text) == (m % rows != 0)


@pytest.mark.parametrize(("b", "n"), [(1, 1), (2, 3), (1, 7), (3, 4), (0, 5)])
def test_fused_symbolic_rows(b: int, n: int) -> None:
    batch, length = te.size_var("b"), te.size_var("n")
    x, w = te.placeholder((batch, length, 9), name="X"), te.placeholder((9, 20), name="W")
    k = te.reduce_axis((0, 9), name="k")
    y = te.compute(
        (batch, length, 20), lambda i, j, c: te.sum(x[i, j, k] * w[k, c], axis=k), name="Y"
    )
    text = scheduled(GEMM(), te.create_prim_func([x, w, y]), sizes={"b": b, "n": n}).script()
    assert "T.min(" in text
    assert "X_" not in text


@pytest.mark.parametrize("m", [2, 5, 17])
def test_padding_of_the_user_is_none_of_ours(m: int) -> None:
    a, b = te.placeholder((m, 8), name="A"), te.placeholder((8, 32), name="B")
    for before, after in (((0, 0), (1, 0)), ((1, 0), (0, 0)), ((1, 0), (2, 0))):
        padded = topi.nn.pad(a, before, after, name="x_pad")
        scheduled(GEMM(), te.create_prim_func([a, b, topi.matmul(padded, b)]))
        columns = topi.nn.pad(b, before[::-1], after[::-1], name="y_reindex")
        scheduled(GEMM(), te.create_prim_func([a, b, topi.matmul(a, columns)]))


def with_border(inputs: list[te.Tensor], made: te.Tensor) -> tir.PrimFunc:
    """The result, doubled, before a row and a column of ones."""
    *lead, rows, columns = made.shape

    def place(*i: tir.Var) -> tir.PrimExpr:
        inside = tir.all(i[-2] < rows, i[-1] < columns)
        return tir.if_then_else(inside, made[i] * 2.0, tir.const(1.0, "float32"))

    out = te.compute((*lead, rows + 1, columns + 1), place, name="bordered")
    return te.create_prim_func([*inputs, out])


def test_the_border_of_a_product() -> None:
    a, b = te.placeholder((17, 9), name="A"), te.placeholder((9, 32), name="B")
    scheduled(GEMM(), with_border([a, b], topi.matmul(a, b)))
    scheduled(Fallback(), with_border([a, b], topi.matmul(a, b)))


@pytest.mark.parametrize(("size", "rule"), [(14, Fallback()), (32, Fallback()), (32, Conv2D())])
def test_the_border_of_a_convolution(size: int, rule: ScheduleRule) -> None:
    x, w = te.placeholder((1, 4, size, size), name="X"), te.placeholder((20, 4, 3, 3), name="W")
    scheduled(rule, with_border([x, w], topi.nn.conv2d_nchw(x, w, 1, 1, 1)))


def test_the_border_of_sums() -> None:
    a = te.placeholder((6, 5, 24), name="A")
    scheduled(Fallback(), with_border([a], topi.sum(a, 1)))
    scheduled(Fallback(), with_border([a], topi.nn.pool2d(
        topi.expand_dims(a, 0), (2, 2), (1, 1), (1, 1), (0, 0, 0, 0), "max"
    )))
