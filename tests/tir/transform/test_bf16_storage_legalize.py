import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import BF16StorageLegalize

pytestmark = pytest.mark.pure


class TestBuffers(PassTest):
    run = BF16StorageLegalize()
    same_results = False  # the parameters have another type

    @T.prim_func
    def Before(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = T.Cast("float32", A[i])
            A[i] = T.bfloat16(0)

    @T.prim_func
    def Expected(A: T.Buffer((8,), "uint16"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            C[i] = T.Cast("float32", T.reinterpret("bfloat16", A[i]))
            A[i] = T.reinterpret("uint16", T.bfloat16(0))
