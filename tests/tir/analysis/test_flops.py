"""Counting operations."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.script import tir as T
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
    assert estimate_tir_flops(branches.body) == 4 * 4 * (1 + 2)


def test_symbolic_extent() -> None:
    n = e.Var("n", "int32")
    body = s.For(e.Var("i", "int32"), 0, n, 0, s.Evaluate(n + 1))
    with pytest.raises(TVMError, match="legal: extents with a known upper bound"):
        estimate_tir_flops(body)


def test_a_function_may_tell_its_count() -> None:
    told = matmul.with_attr("estimated_flops", 32)
    assert estimate_tir_flops(IRModule({"main": told, "other": branches})) == 32 + 48
    assert estimate_tir_flops(told.body) > 32
