import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import RewriteUnsafeSelect

pytestmark = pytest.mark.pure


class TestLoadsAndDivisions(PassTest):
    run = RewriteUnsafeSelect()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32"), n: T.int32):
        for i in range(5):
            B[i] = T.Select(i < 4, A[T.min(i, 3)], 0) + T.Select(n > 0, 8 // T.max(n, 1), n)
            B[i] = B[i] + T.Select(i < 4, i * 2, n // 4)

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), B: T.Buffer((5,), "int32"), n: T.int32):
        for i in range(5):
            B[i] = T.if_then_else(i < 4, A[T.min(i, 3)], 0) + T.if_then_else(
                n > 0, 8 // T.max(n, 1), n
            )
            B[i] = B[i] + T.Select(i < 4, i * 2, n // 4)


def test_a_value_made_safe_is_safe() -> None:
    @T.prim_func
    def func(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32")):
        for i in range(9):
            B[i] = T.Select(
                i // 2 > 3, T.Select(i > 2, A[i - 2], T.float32(0)), T.float32(4)
            )

    text = RewriteUnsafeSelect()(IRModule.from_expr(func)).script()
    assert "T.Select(i // 2 > 3, T.if_then_else(i > 2, A[i - 2]" in text
