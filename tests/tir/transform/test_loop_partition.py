import pytest

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LoopPartition

pytestmark = pytest.mark.pure


class TestTail(PassTest):
    run = LoopPartition()

    @T.prim_func
    def Before(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i, j in T.grid((n + 7) // 8, 8):
            if T.likely(i * 8 + j < n):
                B[i * 8 + j] = A[i * 8 + j] + 1.0

    def test_main_loop_has_no_guard(self):
        main, rest = self._after()["main"].body.seq
        assert type(main.body.body).__name__ == "BufferStore"
        assert type(rest.body.body).__name__ == "IfThenElse"


class TestBothEndsWithHint(PassTest):
    run = LoopPartition()

    @T.prim_func
    def Before(A: T.Buffer((37,), "float32"), B: T.Buffer((37,), "float32")):
        for i in T.serial(37, annotations={"pragma_loop_partition_hint": 1}):
            B[i] = T.if_then_else(i >= 3 and i < 35, A[i - 3], T.float32(0))

    def test_three_parts(self):
        parts = self._after()["main"].body.seq
        assert [int(p.extent) for p in parts] == [3, 32, 2]
        assert type(parts[1].body.value).__name__ == "BufferLoad"


@T.prim_func
def guarded(A: T.Buffer((60,), "float32")):
    for i, j in T.grid(8, 8):
        if T.likely(i * 8 + j < 60):
            A[i * 8 + j] = 0.0


def test_constant_loops_only_on_request():
    mod = IRModule.from_expr(guarded)
    assert type(LoopPartition()(mod)["guarded"].body).__name__ == "For"
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
        body = LoopPartition()(mod)["guarded"].body
    assert type(body).__name__ == "SeqStmt"


class TestKeepsGuardsOnData(PassTest):
    run = LoopPartition()

    @T.prim_func
    def Before(a: T.handle, P: T.Buffer((8,), "int32")):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            if P[i % 8] + i < n:
                A[i] = 0.0

    Expected = Before
