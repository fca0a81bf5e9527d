import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import Simplify

pytestmark = pytest.mark.pure


class TestIndices(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((128,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 32:
                B[i] = A[i * 8 // 2 + 3]

    @T.prim_func
    def Expected(A: T.Buffer((128,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            B[i] = A[i * 4 + 3]


class TestKnowsConditions(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 4:
                if i < 8:
                    A[i] = 1.0
            else:
                A[i] = T.if_then_else(i >= 4, T.float32(2), T.float32(3))

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32")):
        for i in range(16):
            if i < 4:
                A[i] = 1.0
            else:
                A[i] = T.float32(2)


class TestSizesAreNotNegative(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            if 0 <= n:
                A[i] = 1.0

    @T.prim_func
    def Expected(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            A[i] = 1.0


class TestDropsStoresOfAnElementToItself(PassTest):
    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = A[i + 1 - 1]
            B[i] = A[i]

    def test_body(self):
        assert type(self._after()["main"].body.body).__name__ == "BufferStore"


class TestKeepsNamesForValues(PassTest):
    """A name says that a value is computed once; only trivial ones go."""

    run = Simplify()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.LetStmt(i * 4) as x:
                with T.LetStmt(3) as y:
                    B[i] = A[x + y - 2]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.LetStmt(i * 4) as x:
                B[i] = A[x + 1]
