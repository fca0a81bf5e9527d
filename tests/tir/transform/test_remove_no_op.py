import pytest

from tvm.ir import IRModule, assert_structural_equal
from tvm.ir.transform import PassContext
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
        if not (n != 0):  # noqa: SIM202
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


class TestUnusedScratchMemoryKeepsItsPlace(PassTest):
    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32")):
        B = T.decl_buffer((16,), "int32", scope="local")
        for i in range(16):
            A[i] = 1

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32")):
        B_data = T.allocate([16], "int32", "local")
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


class TestUnusedNames(PassTest):
    """Also of a size: definitions of buffers use names."""

    run = RemoveNoOp()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), n: T.int32):
        z: T.int32 = 8
        y: T.int32 = T.max(n, 4)
        B = T.decl_buffer((y,), "int32", data=A.data)
        B[0] = 1

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), n: T.int32):
        y: T.int32 = T.max(n, 4)
        B = T.decl_buffer((y,), "int32", data=A.data)
        B[0] = 1


@pytest.mark.parametrize("dataflow", [False, True])
def test_what_flows(dataflow):
    """The call stays where its value is overwritten; what is there already is not stored again."""

    @T.prim_func
    def before(P: T.Buffer((6,), "int32")):
        for i in range(6):
            P[i] = T.call_extern("int32", "effect")
            P[i] = i * 2
        P[3] = 6
        P[4] = 6
        if P[5] > 3:
            P[4] = 6
            P[2] = 5

    @T.prim_func
    def after(P: T.Buffer((6,), "int32")):
        for i in range(6):
            T.evaluate(T.call_extern("int32", "effect"))
            P[i] = i * 2
        P[4] = 6
        if P[5] > 3:
            P[2] = 5

    with PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": dataflow}}):
        made = RemoveNoOp()(IRModule({"main": before}))["main"]
    assert_structural_equal(made.body, (after if dataflow else before).body, map_free_vars=True)
