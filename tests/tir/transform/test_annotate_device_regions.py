import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform import AnnotateDeviceRegions

pytestmark = pytest.mark.pure


@T.prim_func
def func(A: T.Buffer((4,), "float32")):
    i = T.launch_thread("threadIdx.x", 4)
    j = T.launch_thread("threadIdx.y", 1)
    A[i + j] = 0.0


def test_outermost_launch():
    mod = IRModule({"f": func.with_attr("target", Target("cuda", host="llvm"))})
    body = AnnotateDeviceRegions()(mod)["f"].body
    assert (body.attr_key, body.node.kind.name, body.node.host) == ("target", "cuda", None)
    assert body.body is func.body


def test_keeps_functions_without_a_host():
    mod = IRModule({"f": func.with_attr("target", Target("cuda"))})
    assert AnnotateDeviceRegions()(mod) is mod
