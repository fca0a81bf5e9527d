"""Division that rounds down, in terms of division that rounds towards zero."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform import LowerIntrin

pytestmark = pytest.mark.pure


class TestPowersOfTwo(PassTest):
    run = LowerIntrin()

    @T.prim_func
    def Before(A: T.Buffer((2,), "int32"), n: T.int32):
        A[0] = n // 8
        A[1] = n % 8

    @T.prim_func
    def Expected(A: T.Buffer((2,), "int32"), n: T.int32):
        A[0] = T.shift_right(n, 3)
        A[1] = T.bitwise_and(n, 7)


class TestPositiveDivisor(PassTest):
    run = LowerIntrin()

    @T.prim_func
    def Before(A: T.Buffer((2,), "int64"), n: T.int64):
        A[0] = n // T.int64(3)
        A[1] = n % T.int64(3)

    @T.prim_func
    def Expected(A: T.Buffer((2,), "int64"), n: T.int64):
        A[0] = T.Div(n, T.int64(3)) + T.shift_right(T.truncmod(n, T.int64(3)), T.int64(63))
        A[1] = T.truncmod(n, T.int64(3)) + T.bitwise_and(
            T.int64(3), T.shift_right(T.truncmod(n, T.int64(3)), T.int64(63))
        )


class TestKnownLeastDividend(PassTest):
    run = LowerIntrin()

    @T.prim_func
    def Before(A: T.Buffer((40,), "int32")):
        for i in range(40):
            A[i] = (i - 20) // 3 + (i - 20) % 3

    @T.prim_func
    def Expected(A: T.Buffer((40,), "int32")):
        for i in range(40):
            A[i] = T.Div(i - 20 + 21, 3) - 7 + T.truncmod(i - 20 + 21, 3)


class TestNegativeDivisor(PassTest):
    run = LowerIntrin()

    @T.prim_func
    def Before(A: T.Buffer((1,), "int32"), n: T.int32):
        A[0] = n % -3

    @T.prim_func
    def Expected(A: T.Buffer((1,), "int32"), n: T.int32):
        r = T.int32()
        A[0] = T.Let(T.Select(r <= 0, r, r + -3), where={r: T.truncmod(n, -3)})


class TestUnsigned(PassTest):
    run = LowerIntrin()

    @T.prim_func
    def Before(A: T.Buffer((1,), "uint8"), n: T.uint8, m: T.uint8):
        A[0] = n // m + n % m

    @T.prim_func
    def Expected(A: T.Buffer((1,), "uint8"), n: T.uint8, m: T.uint8):
        A[0] = T.Div(n, m) + T.truncmod(n, m)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("by", [-8, -3, -1, 1, 2, 3, 8, None])
def test_values(dtype: str, by: int | None) -> None:
    x, y, out = tir.Var("x", dtype), tir.Var("y", dtype), tir.decl_buffer((4,), dtype)
    handle = tir.Var("h", "handle")
    divisor = y if by is None else tir.const(by, dtype)
    near = tir.min(tir.max(x, tir.const(-7, dtype)), tir.const(9, dtype))
    values = [tir.floordiv(x, divisor), tir.floormod(x, divisor),
              tir.floordiv(near, divisor), tir.floormod(near, divisor)]  # fmt: skip
    stores = tir.SeqStmt([tir.BufferStore(out, value, [i]) for i, value in enumerate(values)])
    before = IRModule({"main": tir.PrimFunc([x, y, handle], stores, buffer_map={handle: out})})
    after = LowerIntrin()(before)
    info = np.iinfo(dtype)
    for one in (-8, -7, -1, 0, 1, 5, 9, 10, info.max, info.min + 8):
        for other in (by,) if by is not None else (-5, -2, 1, 3, 8):
            found = [np.zeros(4, dtype), np.zeros(4, dtype)]
            run(before["main"], one, other, found[0])
            run(after["main"], one, other, found[1])
            near_one = min(max(one, -7), 9)
            wanted = [one // other, one % other, near_one // other, near_one % other]
            assert found[0].tolist() == found[1].tolist() == wanted, (one, other)


def test_a_sum_that_would_not_fit_is_not_made() -> None:
    x = tir.Var("x", "int32")
    value = tir.floordiv(tir.max(x, -3), 5)
    func = LowerIntrin()(IRModule({"main": tir.PrimFunc([x], tir.Evaluate(value))}))["main"]
    assert "T.shift_right(T.truncmod(T.max(x, -3), 5), 31)" in str(func)
