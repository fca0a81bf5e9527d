import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import RemoveNoOp

pytestmark = pytest.mark.pure


class TestEmptyLoopsAndBranches(PassTest):
    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(0):
            A[i] = 1
        for i in range(16):
            T.evaluate(0)
        if n > 3:
            T.evaluate(0)
        else:
            A[0] = 2
        for i in range(16):
            A[i] = A[i]
        A[1] = 3

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), n: T.int32):
        if not (n > 3):
            A[0] = 2
        A[1] = 3


class TestNumbersAsConditions(PassTest):
    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), n: T.int32):
        if n:
            T.evaluate(0)
        else:
            A[0] = 2
        if n:
            A[1] = 3
        else:
            A[1] = 4

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), n: T.int32):
        if not (n != 0):
            A[0] = 2
        if n:
            A[1] = 3
        else:
            A[1] = 4


class TestKeepsEffects(PassTest):
    run = RemoveNoOp()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            T.evaluate(T.call_extern("int32", "touch", i))
        with T.LetStmt(T.call_extern("int32", "size")) as n:
            T.evaluate(n)

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32")):
        for i in range(16):
            T.evaluate(T.call_extern("int32", "touch", i))
        T.evaluate(T.call_extern("int32", "size"))


class TestUnusedScratch(PassTest):
    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32")):
        B_data = T.allocate([16], "int32", "global")
        B = T.decl_buffer((16,), "int32", data=B_data)
        for i in range(16):
            T.evaluate(B[i])

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32")):
        T.evaluate(0)


class TestUnusedScratchMemory(PassTest):
    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32")):
        B = T.decl_buffer((16,), "int32", scope="local")
        for i in range(16):
            A[i] = 1

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = 1


class TestNamesOfIndicesAreSeenThrough(PassTest):
    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i, j in T.grid(4, 4):
            k: T.int32 = 4 * i + j
            A[4 * i + j] = A[k]
            B[k] = 0

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i, j in T.grid(4, 4):
            k: T.int32 = 4 * i + j
            B[k] = 0
