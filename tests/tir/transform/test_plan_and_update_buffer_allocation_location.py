import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import PlanAndUpdateBufferAllocationLocation

pytestmark = pytest.mark.pure


class TestMovesIntoLoop(PassTest):
    run = PlanAndUpdateBufferAllocationLocation()

    @T.prim_func
    def Before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        B = T.alloc_buffer((16, 16))
        for i in range(16):
            for j in range(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = A[vi, vj] + 1.0
            for j in range(16):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(B[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = B[vi, vj] * 2.0

    @T.prim_func
    def Expected(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.block(""):
                T.reads(A[i, 0:16])
                T.writes(C[i, 0:16])
                B = T.alloc_buffer((16, 16))
                for j in range(16):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.reads(A[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = A[vi, vj] + 1.0
                for j in range(16):
                    with T.block("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.reads(B[vi, vj])
                        T.writes(C[vi, vj])
                        C[vi, vj] = B[vi, vj] * 2.0


class TestAccumulatorStaysOutsideOfReduction(PassTest):
    run = PlanAndUpdateBufferAllocationLocation()

    @T.prim_func
    def Before(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((4,))
        for i in range(4):
            for k in range(16):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vi, vk])
                    T.writes(B[vi], C[vi])
                    if vk == 0:
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
                    C[vi] = B[vi]

    def test_place(self):
        body = self._after()["main"].body
        loop = body.block.body if hasattr(body, "block") else body
        assert [b.name for b in loop.body.block.alloc_buffers] == ["B"]


class TestBlocksDoNotNameWhatIsAllocatedInThem(PassTest):
    """C moves into the block that alone uses it, D into a loop of it."""

    run = PlanAndUpdateBufferAllocationLocation()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        C = T.alloc_buffer((4, 8))
        D = T.alloc_buffer((4, 8))
        for i in range(4):
            with T.block("outer"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi, 0:8], C[vi, 0:8], D[vi, 0:8])
                T.writes(B[vi, 0:8], C[vi, 0:8], D[vi, 0:8])
                for j in range(8):
                    with T.block("c"):
                        vj = T.axis.spatial(8, j)
                        T.reads(A[vi, vj])
                        T.writes(C[vi, vj])
                        C[vi, vj] = A[vi, vj] * 2.0
                for j in range(8):
                    with T.block("d"):
                        vj = T.axis.spatial(8, j)
                        T.reads(C[vi, vj])
                        T.writes(D[vi, vj])
                        D[vi, vj] = C[vi, vj] + 1.0
                    with T.block("b"):
                        vj = T.axis.spatial(8, j)
                        T.reads(D[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = D[vi, vj]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            with T.block("outer"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi, 0:8])
                T.writes(B[vi, 0:8])
                C = T.alloc_buffer((4, 8))
                for j in range(8):
                    with T.block("c"):
                        vj = T.axis.spatial(8, j)
                        T.reads(A[vi, vj])
                        T.writes(C[vi, vj])
                        C[vi, vj] = A[vi, vj] * 2.0
                for j in range(8):
                    with T.block(""):
                        T.reads(C[vi, j])
                        T.writes(B[vi, j])
                        D = T.alloc_buffer((4, 8))
                        with T.block("d"):
                            vj = T.axis.spatial(8, j)
                            T.reads(C[vi, vj])
                            T.writes(D[vi, vj])
                            D[vi, vj] = C[vi, vj] + 1.0
                        with T.block("b"):
                            vj = T.axis.spatial(8, j)
                            T.reads(D[vi, vj])
                            T.writes(B[vi, vj])
                            B[vi, vj] = D[vi, vj]
