import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import ConvertForLoopsToSerial

pytestmark = pytest.mark.pure


class TestParallel(PassTest):
    run = ConvertForLoopsToSerial()

    @T.prim_func
    def Before(A: T.Buffer((4, 4), "int32")):
        for i in T.parallel(4):
            for j in T.vectorized(4):
                A[i, j] = i

    @T.prim_func
    def Expected(A: T.Buffer((4, 4), "int32")):
        for i in range(4):
            for j in T.vectorized(4):
                A[i, j] = i
