import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import BF16ComputeLegalize

pytestmark = pytest.mark.pure


class TestArithmetic(PassTest):
    run = BF16ComputeLegalize()
    tolerance = 2e-2

    @T.prim_func
    def Before(
        A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")
    ):
        for i in range(8):
            C[i] = A[i] * B[i] + T.bfloat16(1.5)

    @T.prim_func
    def Expected(
        A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")
    ):
        for i in range(8):
            C[i] = T.Cast(
                "bfloat16",
                T.Cast("float32", A[i]) * T.Cast("float32", B[i]) + T.float32(1.5),
            )


class TestLetsCallsAndComparisons(PassTest):
    run = BF16ComputeLegalize()
    tolerance = 2e-2

    @T.prim_func
    def Before(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        for i in range(8):
            with T.LetStmt(T.exp(A[i])) as x:
                C[i] = T.Select(x > A[i], x, A[i])

    @T.prim_func
    def Expected(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        for i in range(8):
            with T.LetStmt(T.exp(T.Cast("float32", A[i]))) as x:
                C[i] = T.Cast(
                    "bfloat16",
                    T.Select(x > T.Cast("float32", A[i]), x, T.Cast("float32", A[i])),
                )


class TestKeepsOtherTypes(PassTest):
    run = BF16ComputeLegalize()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float16")):
        for i in range(8):
            A[i] = A[i] + T.float16(1)

    Expected = Before
