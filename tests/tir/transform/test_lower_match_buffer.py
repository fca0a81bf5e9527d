import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.ir import IRModule, Range
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir import Evaluate, SeqStmt
from tvm.tir.functor import StmtExprMutator, rewrite
from tvm.tir.transform import LowerMatchBuffer

pytestmark = pytest.mark.pure


class TestRow(PassTest):
    run = LowerMatchBuffer()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("row"):
                T.reads(A[i, 2:6])
                T.writes(C[i])
                s = T.int32()
                e = T.int32()
                R = T.match_buffer(A[i, 2:6], (4,), strides=(s,), elem_offset=e, offset_factor=1)
                C[i] = R[0] + R[3] + T.Cast("float32", e * 10 + s)

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("row"):
                T.reads(A[i, 2:6])
                T.writes(C[i])
                C[i] = A[i, 2] + A[i, 5] + T.Cast("float32", (i * 8 + 2) * 10 + 1)


def test_rejects_wrong_extents() -> None:
    """Scripts refuse them where they are read; nodes whose extents are open may be made."""
    n = tir.Var("n", "int32")
    A, R = tir.decl_buffer((4, 8), name="A"), tir.decl_buffer((4,), name="R", offset_factor=1)
    row = tir.BufferRegion(A, [Range(0, 1), Range(0, n * 8)])
    view = tir.MatchBufferRegion(R, row)
    block = tir.Block([], [row], [], "row", tir.Evaluate(R[0]), match_buffers=[view])
    func = tir.PrimFunc([A.data, n], tir.BlockRealize([], True, block))
    with pytest.raises(TVMError):
        LowerMatchBuffer()(IRModule({"main": func}))


class TestRejectsUnalignedOffset(PassTest):
    run = LowerMatchBuffer()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("row"):
                T.reads(A[i, 0:4])
                T.writes(C[i])
                R = T.match_buffer(A[i, 0:4], (4,), offset_factor=4)
                C[i] = R[0]


def test_statements_that_do_nothing_stay():
    @T.prim_func
    def before(A: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.block("b"):
                S = T.match_buffer(A[i, 0:16], (1, 16), offset_factor=1, strides=[16, 1])
                T.evaluate(1)
                S[0, 0] = T.float32(1)

    class NothingInstead(StmtExprMutator):
        def visit_evaluate_(self, op):
            return Evaluate(0)

        def visit_seq_stmt_(self, op):
            return SeqStmt([self.visit_stmt(part) for part in op.seq])

    idle = rewrite(NothingInstead(), before)
    text = LowerMatchBuffer()(IRModule({"main": idle})).script()
    assert text.index("T.evaluate(0)") < text.index("A[i, 0] = T.float32(1.0)")
