import pytest

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
