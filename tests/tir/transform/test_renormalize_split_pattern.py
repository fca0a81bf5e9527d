import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import RenormalizeSplitPattern

pytestmark = pytest.mark.pure


class TestSplit(PassTest):
    run = RenormalizeSplitPattern()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(64):
            A[i] = i % 16 // 4 + (i + n) % 12 // 3 + i % 10 // 4

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(64):
            A[i] = i // 4 % 4 + (i + n) // 3 % 4 + i % 10 // 4
