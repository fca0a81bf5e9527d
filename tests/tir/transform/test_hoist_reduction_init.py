import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import HoistReductionInit

pytestmark = pytest.mark.pure


class TestTwoLoops(PassTest):
    run = HoistReductionInit()

    @T.prim_func
    def Before(A: T.Buffer((4, 3, 5), "float32"), B: T.Buffer((4,), "float32")):
        for i, j, k in T.grid(4, 3, 5):
            if j == 0 and k == 0:
                B[i] = T.float32(0)
            B[i] = B[i] + A[i, j, k]

    @T.prim_func
    def Expected(A: T.Buffer((4, 3, 5), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.float32(0)
            for j, k in T.grid(3, 5):
                B[i] = B[i] + A[i, j, k]


class TestLoopThatMayBeEmpty(PassTest):
    run = HoistReductionInit()

    @T.prim_func
    def Before(a: T.handle, B: T.Buffer((1,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for k in range(n):
            if k == 0:
                B[0] = T.float32(0)
            B[0] = B[0] + A[k]

    @T.prim_func
    def Expected(a: T.handle, B: T.Buffer((1,), "float32")):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        if n > 0:
            B[0] = T.float32(0)
        for k in range(n):
            B[0] = B[0] + A[k]


class TestKeepsConditionsOnData(PassTest):
    run = HoistReductionInit()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "int32")):
        for k in range(4):
            if k == 0 and A[k] > 2:
                B[0] = 0
            B[0] = B[0] + A[k]

    Expected = Before
