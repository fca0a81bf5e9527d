import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import CommonSubexprElimTIR

pytestmark = pytest.mark.pure


class TestSharedInLoop(PassTest):
    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(4):
            for j in range(4):
                B[i * 16 + j * 4] = A[i * 16 + j * 4]
                B[i * 16 + j * 4 + 1] = A[i * 16 + j * 4 + 1]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(4):
            for j in range(4):
                with T.LetStmt(i * 16 + j * 4) as x:
                    with T.LetStmt(x + 1) as y:
                        B[x] = A[x]
                        B[y] = A[y]


class TestInsideOfTheLoop(PassTest):
    """A loop may not run at all, so what only its body computes is named in there."""

    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(8):
            for j in range(8):
                B[i * 8 + j] = A[i * 8 + 7 - j]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(8):
            for j in range(8):
                with T.LetStmt(i * 8) as x:
                    B[x + j] = A[x + 7 - j]


class TestBranches(PassTest):
    """What one branch computes twice is named in it; what both compute, around the condition."""

    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), i: T.int32, j: T.int32, k: T.int32):
        if i > 3:
            A[i] = j + k
            A[j] = j + k
            A[k] = i + k
        else:
            A[i] = i + k
        if i + j > 3 and i + j < 9:
            A[0] = 1

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), i: T.int32, j: T.int32, k: T.int32):
        with T.LetStmt(i + k) as x:
            if i > 3:
                with T.LetStmt(j + k) as y:
                    A[i] = y
                    A[j] = y
                    A[k] = x
            else:
                A[i] = x
            s = T.int32()
            if T.Let(s > 3 and s < 9, where={s: i + j}):
                A[0] = 1


class TestLargestFirst(PassTest):
    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), i: T.int32, j: T.int32, k: T.int32):
        A[0] = (i + j) + k
        A[1] = (i + j) + k
        A[2] = i + j

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), i: T.int32, j: T.int32, k: T.int32):
        with T.LetStmt(i + j) as x:
            with T.LetStmt(x + k) as y:
                A[0] = y
                A[1] = y
                A[2] = x

    def test_names(self):
        first = self._after()["main"].body
        assert (first.var.name, first.body.var.name) == ("cse_v2", "cse_v1")


class TestLetsOfTheProgram(PassTest):
    """A value that already has a name is not computed again; thread axes are in no name."""

    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), i: T.int32):
        tx = T.launch_thread("threadIdx.x", 4)
        with T.LetStmt(i * 4) as x:
            A[x + tx * 2] = i * 4
            A[x + tx * 2] = 0

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), i: T.int32):
        with T.LetStmt(i * 4) as y:
            tx = T.launch_thread("threadIdx.x", 4)
            with T.LetStmt(y) as x:
                A[x + tx * 2] = y
                A[x + tx * 2] = 0


class TestKeepsLoads(PassTest):
    """Memory may change between two loads."""

    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(P: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = P[i] + 1
            P[i] = 0
            B[i] = B[i] + (P[i] + 1)

    Expected = Before


class TestSwitchedOff(PassTest):
    run = CommonSubexprElimTIR(enable_cse_tir=False)

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32")):
        for i in range(8):
            A[i * 8] = A[i * 8] + 1.0

    Expected = Before


class TestEquivalentTerms(PassTest):
    run = CommonSubexprElimTIR(identify_equiv_terms=True)

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(8):
            A[(i + 1) * 4] = B[i * 4 + 4]

    def test_one_name(self):
        body = self._after()["main"].body.body
        assert type(body).__name__ == "LetStmt"
        assert body.body.indices[0] is body.body.value.indices[0]


class TestKeepsTheFormOfWhatOccursOnce(PassTest):
    run = CommonSubexprElimTIR(identify_equiv_terms=True)

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), i: T.int32, j: T.int32, k: T.int32):
        A[0] = i + (j + k)

    Expected = Before


class TestKeepsWhatBlocksBind(PassTest):
    """Variables of a block, and of what it matches, have no place outside of it."""

    run = CommonSubexprElimTIR()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((8, 8), "float32"), n: T.int32):
        for i, j in T.grid(7, 7):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.where(i * n + j < 50 and i * n + j > 2)
                T.reads(A[vi * 8 + vj : vi * 8 + vj + 2])
                T.writes(B[vi, vj])
                offset = T.int32()
                window = T.match_buffer(
                    A[vi * 8 + vj : vi * 8 + vj + 2], (2,), elem_offset=offset, offset_factor=1
                )
                B[vi, vj] = window[0] + T.Cast("float32", (offset + 1) * (offset + 1))

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((8, 8), "float32"), n: T.int32):
        for i, j in T.grid(7, 7):
            with T.LetStmt(i * n + j) as x:
                with T.block("copy"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.where(x < 50 and x > 2)
                    T.reads(A[vi * 8 + vj : vi * 8 + vj + 2])
                    T.writes(B[vi, vj])
                    offset = T.int32()
                    window = T.match_buffer(
                        A[vi * 8 + vj : vi * 8 + vj + 2], (2,), elem_offset=offset, offset_factor=1
                    )
                    B[vi, vj] = window[0] + T.Cast("float32", (offset + 1) * (offset + 1))


def test_parts_of_what_cannot_be_named_count_once() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 16)
        for k in range(4):
            A[0] = A[k * 16 + tx]
            B[k * 16 + tx] = A[1]

    mod = IRModule({"main": func})
    assert "cse_v1" not in CommonSubexprElimTIR()(mod).script()
