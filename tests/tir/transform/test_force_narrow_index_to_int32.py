import pytest

from tvm.error import TVMError
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import ForceNarrowIndexToInt32

pytestmark = pytest.mark.pure


class TestEverything(PassTest):
    run = ForceNarrowIndexToInt32()

    @T.prim_func
    def Before(a: T.handle, n: T.int64):
        m = T.int64()
        A = T.match_buffer(a, (m,))
        for i in range(m):
            A[i] = T.Cast("float32", i * T.int64(2) + n)

    @T.prim_func
    def Expected(a: T.handle, n: T.int32):
        m = T.int32()
        A = T.match_buffer(a, (m,))
        for i in range(m):
            A[i] = T.Cast("float32", i * 2 + n)


class TestRejectsWideParameters(PassTest):
    run = ForceNarrowIndexToInt32()
    Expected = TVMError

    @T.prim_func
    def Before(A: T.Buffer((4,), "int64")):
        A[0] = T.int64(1)
