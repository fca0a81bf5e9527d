import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import SkipAssert

pytestmark = pytest.mark.pure


class TestAssert(PassTest):
    run = SkipAssert()

    @T.prim_func
    def Before(A: T.Buffer((2,), "int32"), n: T.int32):
        assert n >= 0, "n is not negative"
        A[0] = n

    @T.prim_func
    def Expected(A: T.Buffer((2,), "int32"), n: T.int32):
        A[0] = n
