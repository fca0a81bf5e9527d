import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.transform import AnnotateDeviceRegions, SplitHostDevice

pytestmark = pytest.mark.pure


@T.prim_func
def main(A: T.Buffer((4,), "float32"), n: T.int32):
    if n > 0:
        i = T.launch_thread("threadIdx.x", 4)
        A[i] = T.Cast("float32", n)


def split():
    func = main.with_attr("target", Target("cuda", host="llvm"))
    return SplitHostDevice()(AnnotateDeviceRegions()(IRModule.from_expr(func)))


def test_the_host_calls_the_kernel():
    mod = split()
    assert [v.name_hint for v in mod.get_global_vars()] == ["main", "main_kernel"]
    (call,) = [n for n in walk(mod["main"].body) if getattr(n, "op", None) in mod.functions]
    assert [str(a.dtype) for a in call.args] == ["handle", "int32"]


def test_the_kernel_takes_what_it_uses():
    kernel = split()["main_kernel"]
    assert [str(p.dtype) for p in kernel.params] == ["handle", "int32"]
    assert kernel.attrs["target"].kind.name == "cuda"
    assert kernel.attrs["tir.is_global_func"]
    assert kernel.body.attr_key == "thread_extent"


def test_keeps_host_functions():
    mod = IRModule.from_expr(main)
    assert SplitHostDevice()(mod) is mod
