import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import FP8ComputeLegalize

pytestmark = pytest.mark.pure


class TestArithmetic(PassTest):
    run = FP8ComputeLegalize("float16")
    tolerance = 0.2

    @T.prim_func
    def Before(A: T.Buffer((8,), "float8_e4m3fn"), C: T.Buffer((8,), "float8_e4m3fn")):
        for i in range(8):
            C[i] = A[i] + A[i]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float8_e4m3fn"), C: T.Buffer((8,), "float8_e4m3fn")):
        for i in range(8):
            C[i] = T.Cast("float8_e4m3fn", T.Cast("float16", A[i]) + T.Cast("float16", A[i]))
