import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.transform import DecorateDeviceScope

pytestmark = pytest.mark.pure


def test_whole_body():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        A[0] = 0.0

    body = DecorateDeviceScope()(IRModule.from_expr(func))["func"].body
    assert body.attr_key == "device_scope"
    assert body.body is func.body
