import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LowerInitBlock

pytestmark = pytest.mark.pure


class TestReduction(PassTest):
    run = LowerInitBlock()

    @T.prim_func
    def Before(A: T.Buffer((4, 3, 5), "float32"), B: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(4, 3, 5):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                T.reads(A[vi, vj, vk])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vj, vk]

    @T.prim_func
    def Expected(A: T.Buffer((4, 3, 5), "float32"), B: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(4, 3, 5):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SRR", [i, j, k])
                T.reads(A[vi, vj, vk])
                T.writes(B[vi])
                if vj == 0 and vk == 0:
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vj, vk]


class TestKeepsBlocksWithoutInit(PassTest):
    run = LowerInitBlock()

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]

    Expected = Before
