import pytest

import tvm
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LowerOpaqueBlock
from tvm.tir.transform.lower_opaque_block import extents_of

pytestmark = pytest.mark.pure


class TestAllocationAndPredicate(PassTest):
    run = LowerOpaqueBlock()

    @T.prim_func
    def Before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.block(""):
                T.where(i < 12)
                T.reads(A[i, 0:16])
                T.writes(C[i, 0:16])
                B = T.alloc_buffer((1, 16))
                for j in range(16):
                    with T.block(""):
                        T.reads(A[i, j])
                        T.writes(B[0, j])
                        B[0, j] = A[i, j] + 1.0
                for u, j in T.grid(1, 16):
                    C[i, j] = B[u, j] * 2.0

    @T.prim_func
    def Expected(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            B_data = T.allocate([1, 16], "float32", "global")
            B = T.decl_buffer((1, 16), data=B_data)
            if i < 12:
                for j in range(16):
                    B[0, j] = A[i, j] + 1.0
                for j in range(16):
                    C[i, j] = B[0, j] * 2.0


class TestPragma(PassTest):
    run = LowerOpaqueBlock()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32")):
        for i in T.serial(16, annotations={"pragma_auto_unroll_max_step": 4, "mine": 1}):
            A[i] = 0.0

    def test_attributes(self):
        body = self._after()["main"].body
        body = getattr(body, "block", body)
        body = getattr(body, "body", body) if type(body).__name__ == "Block" else body
        assert body.attr_key == "pragma_auto_unroll_max_step"
        assert body.node is body.body.loop_var
        assert list(body.body.annotations) == ["mine"]

    def test_is_well_formed(self):
        """The attribute names the variable of the loop that it stands in front of."""

    round_trip = False


class TestSingleThread(PassTest):
    """A thread that is alone is the first one."""

    run = LowerOpaqueBlock()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32")):
        for t in T.thread_binding(1, "threadIdx.x"):
            for i in range(16):
                A[i + t] = 0.0

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32")):
        t = T.launch_thread("threadIdx.x", 1)
        for i in range(16):
            A[T.Add(i, 0)] = 0.0


def test_keeps_trivial_loops_on_request():
    @T.prim_func
    def func(A: T.Buffer((1,), "float32")):
        for i in range(1):
            A[i] = 0.0

    mod = IRModule.from_expr(func)
    with PassContext(config={"tir.debug_keep_trivial_loop": True}):
        kept = LowerOpaqueBlock()(mod)["func"].body
    assert type(kept).__name__ == "For"
    assert type(LowerOpaqueBlock()(mod)["func"].body).__name__ == "BufferStore"


class TestRejectsBlocksWithVariables(PassTest):
    run = LowerOpaqueBlock()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads()
                T.writes(A[vi])
                A[vi] = 0.0


def test_rows_whose_stride_is_no_multiple_of_the_next_have_room():
    @T.prim_func
    def func(A: T.Buffer((24,), "float32")):
        with T.block("root"):
            T.reads()
            T.writes()
            B = T.alloc_buffer((3, 4, 2), "float32", strides=(9, 2, 1))
            B[2, 3, 1] = A[0]

    lowered = LowerOpaqueBlock()(IRModule.from_expr(func))["func"].body
    extents = [int(extent) for extent in lowered.extents]
    assert extents[0] * extents[1] * extents[2] >= 2 * 9 + 3 * 2 + 1 + 1


def test_room_for_neighbours_that_lie_apart() -> None:
    apart = tvm.tir.decl_buffer((18,), strides=(3,))
    assert [int(x) for x in extents_of(apart)] == [54]
    rows = tvm.tir.decl_buffer((4, 6), strides=(16, 2))
    assert [int(x) for x in extents_of(rows)] == [4, 16]
