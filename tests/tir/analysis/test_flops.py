"""Counting operations."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm import tir
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.tir import decl_buffer
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis import estimate_tir_flops

pytestmark = pytest.mark.pure


@T.prim_func
def branches(A: T.Buffer((16,), "float32")) -> None:
    for i in range(4):
        for j in range(4 - i):
            if A[i] > T.float32(0):
                A[i * 4 + j] = A[i] * A[j] + T.exp(A[i])
            else:
                A[i] = T.float32(1)


def test_counts() -> None:
    assert estimate_tir_flops(IRModule({"main": matmul})) == 2 * 128**3 + 128**2
    assert estimate_tir_flops(matmul.body) == 2 * 128**3 + 128**2
    assert estimate_tir_flops(branches.body) == 4 * 4 * 2


def test_a_loop_without_a_bound_counts_once() -> None:
    for dtype, most in (("int64", 1), ("int32", 2**31 - 1)):
        n = e.Var("n", dtype)
        buffer = decl_buffer((1,), dtype)
        store = s.BufferStore(buffer, n + 1, [0])
        assert estimate_tir_flops(s.For(e.Var("i", dtype), 0, n, 0, store)) == most


@T.prim_func
def padded(A: T.Buffer((24,), "int32"), B: T.Buffer((24,), "int32")) -> None:
    for i in range(24):
        if i % 2 == 0:
            A[i] = B[i]
        else:
            A[i] = B[i] + B[i]


def count(expr: e.PrimExpr, dtype: str = "int32") -> float:
    return estimate_tir_flops(s.BufferStore(decl_buffer((1,), dtype), expr, [0]))


def test_what_costs_nothing() -> None:
    assert estimate_tir_flops(padded.body) == 24
    x, y, f = e.Var("x", "int32"), e.Var("y", "int32"), e.Var("f", "float32")
    assert count(e.LT(x + 1, y * 2), "bool") == 0
    assert count(e.And(e.Not(e.EQ(x + y, 1)), e.Or(x > 1, y > 1)), "bool") == 0
    assert count(e.Cast("int32", f * f)) == 1
    assert count(tir.exp(f + f) * f, "float32") == 2
    assert estimate_tir_flops(s.Evaluate(x + y)) == 0
    assert count(tir.min(x % 3, tir.floordiv(x, y))) == 3


def test_branches_are_compared_by_their_types() -> None:
    x, f = e.Var("x", "int32"), e.Var("f", "float32")
    integers = e.Cast("float32", x + x + x)
    assert count(e.Select(x > 1, integers, f + f), "float32") == 2 + 1
    assert count(e.Select(x > 1, f + f + f, f + f), "float32") == 2


def test_a_function_may_tell_its_count() -> None:
    told = matmul.with_attr("estimated_flops", 32)
    assert estimate_tir_flops(IRModule({"main": told, "other": branches})) == 32 + 32
    assert estimate_tir_flops(told.body) > 32


def test_a_function_is_no_statement() -> None:
    with pytest.raises(TypeError, match="found a PrimFunc; legal: Stmt, IRModule"):
        estimate_tir_flops(matmul)  # type: ignore[arg-type]
