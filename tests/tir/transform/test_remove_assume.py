import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import RemoveAssume

pytestmark = pytest.mark.pure


class TestAssume(PassTest):
    run = RemoveAssume()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), n: T.int32):
        T.evaluate(T.assume(n > 4))
        for i in range(16):
            T.evaluate(T.assume(A[i] < 100))
            A[i] = n

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(16):
            A[i] = n
