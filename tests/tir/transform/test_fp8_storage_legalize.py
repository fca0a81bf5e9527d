import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import FP8StorageLegalize

pytestmark = pytest.mark.pure


class TestBuffers(PassTest):
    run = FP8StorageLegalize()
    same_results = False  # the parameters have another type

    @T.prim_func
    def Before(A: T.Buffer((8,), "float8_e5m2"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = T.Cast("float32", A[i])

    @T.prim_func
    def Expected(A: T.Buffer((8,), "uint8"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = T.Cast("float32", T.reinterpret("float8_e5m2", A[i]))
