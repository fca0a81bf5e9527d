import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import ConvertBlocksToOpaque

pytestmark = pytest.mark.pure


class TestElementwise(PassTest):
    run = ConvertBlocksToOpaque()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i, j in T.grid(3, 6):
            with T.block("B"):
                vi = T.axis.spatial(16, i * 6 + j)
                T.where(i * 6 + j < 16)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] + 1.0

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i, j in T.grid(3, 6):
            with T.block("B"):
                T.where(i * 6 + j < 16)
                T.reads(A[i * 6 + j])
                T.writes(B[i * 6 + j])
                B[i * 6 + j] = A[i * 6 + j] + 1.0


class TestNested(PassTest):
    run = ConvertBlocksToOpaque()

    @T.prim_func
    def Before(A: T.Buffer((8, 8), "float32")):
        for i in range(8):
            with T.block("outer"):
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(A[vi, 0:8])
                for j in range(8):
                    with T.block("inner"):
                        vj = T.axis.spatial(8, j)
                        T.reads()
                        T.writes(A[vi, vj])
                        A[vi, vj] = T.Cast("float32", vi * vj)

    @T.prim_func
    def Expected(A: T.Buffer((8, 8), "float32")):
        for i in range(8):
            with T.block("outer"):
                T.reads()
                T.writes(A[i, 0:8])
                for j in range(8):
                    with T.block("inner"):
                        T.reads()
                        T.writes(A[i, j])
                        A[i, j] = T.Cast("float32", i * j)


class TestRejectsInit(PassTest):
    run = ConvertBlocksToOpaque()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.reduce(4, i)
                T.reads(A[vi])
                T.writes(B[0])
                with T.init():
                    B[0] = 0.0
                B[0] = B[0] + A[vi]


def test_rejects_a_predicate_over_own_variables() -> None:
    @T.prim_func(check_well_formed=False)
    def func(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("A"):
                v = T.axis.spatial(16, i)
                T.where(v < 9)
                A[v] = T.float32(0)

    with pytest.raises(TVMError, match="own variables"):
        ConvertBlocksToOpaque()(IRModule.from_expr(func))
