import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import RenormalizeSplitPattern

pytestmark = pytest.mark.pure


class TestSplit(PassTest):
    run = RenormalizeSplitPattern()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(64):
            A[i] = i % 16 // 4 + (i + n) % 12 // 3 + i % 10 // 4

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(64):
            A[i] = i // 4 % 4 + (i + n) // 3 % 4 + i % 10 // 4


class TestSumsAndLimits(PassTest):
    """Of up to three parts of a sum, a product first; limits above one become quotients."""

    run = RenormalizeSplitPattern()

    @T.prim_func
    def Before(A: T.Buffer((1024,), "int32"), n: T.int32):
        for i, j, k in T.grid(4, 16, 16):
            if i * 256 + j * 16 + k < 100 and n >= 4 and n > 4 and not (n < 8):
                A[(i * 256 + j * 16 + k) // 64] = (i * 256 + j * 16 + k) % 64 // 16
            A[i] = (n * 8 + i * 4 + 5) // 8 + (n * 4 - i) // 8

    @T.prim_func
    def Expected(A: T.Buffer((1024,), "int32"), n: T.int32):
        for i, j, k in T.grid(4, 16, 16):
            if (i * 64 + (j * 4 + k // 4)) // 25 < 1 and 1 <= n // 4 and 4 < n and 1 <= n // 8:
                A[i * 4 + (j + k // 16) // 4] = (i * 16 + (j + k // 16)) % 4
            A[i] = (n + (i + 1) // 2) + (n * 4 - i) // 8


class TestOrder(PassTest):
    """Of floating numbers neither a comparison nor its opposite may hold."""

    run = RenormalizeSplitPattern()

    @T.prim_func
    def Before(A: T.Buffer((2,), "float32"), B: T.Buffer((4,), "bool")):
        B[0] = not A[0] <= A[1]
        B[1] = A[0] <= A[1]
        B[2] = not A[0] < A[1]
        B[3] = A[0] >= A[1]

    Expected = Before


def test_what_is_greater_stands_on_the_right() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        if A[0] > T.float32(1):
            A[1] = T.float32(0)

    mod = IRModule.from_expr(func)
    assert "if T.float32(1.0) < A[0]:" in RenormalizeSplitPattern()(mod).script()
