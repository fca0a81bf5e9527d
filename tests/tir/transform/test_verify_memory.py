import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform import VerifyMemory

pytestmark = pytest.mark.pure


@T.prim_func
def plain(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = 1.0


def test_host_functions_pass():
    mod = IRModule({"plain": plain.with_attr("target", Target("llvm"))})
    assert VerifyMemory()(mod) is mod


def test_device_memory_without_threads():
    mod = IRModule({"plain": plain.with_attr("target", Target("cuda"))})
    with pytest.raises(TVMError, match="Did you forget to bind"):
        VerifyMemory()(mod)
