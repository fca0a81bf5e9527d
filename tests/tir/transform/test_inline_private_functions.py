import pytest

from tvm.script import ir as I
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InlinePrivateFunctions

pytestmark = pytest.mark.pure


class TestCall(PassTest):
    run = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in range(8):
                Before.one(A.data, i)

        @T.prim_func(private=True)
        def one(p: T.handle("float32"), i: T.int32):
            P = T.Buffer((8,), data=p)
            P[i] = T.Cast("float32", i * 2)

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            P = T.Buffer((8,), data=A.data)
            for i in range(8):
                P[i] = T.Cast("float32", i * 2)


class TestKeepsRecursion(PassTest):
    run = InlinePrivateFunctions()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            Before.down(A.data, 3)

        @T.prim_func(private=True)
        def down(p: T.handle("float32"), i: T.int32):
            P = T.Buffer((8,), data=p)
            P[i] = 1.0
            if i > 0:
                Before.down(p, i - 1)

    Expected = Before
