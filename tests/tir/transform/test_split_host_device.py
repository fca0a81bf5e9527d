import pytest

import tvm
from tvm.error import CheckError
from tvm.ir.module import IRModule
from tvm.script import ir as I
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
    assert kernel.body.buffer.data is kernel.params[0]  # declared in front of its code
    assert kernel.body.body.attr_key == "thread_extent"


def test_keeps_host_functions():
    mod = IRModule.from_expr(main)
    assert SplitHostDevice()(mod) is mod


def test_no_variable_is_shared() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((64,), "float32"), n: T.int32):
            with T.attr(T.target("cuda"), "target", 0):
                bx = T.launch_thread("blockIdx.x", n)
                for i in range(4):
                    A[bx * 4 + i] = 0.0

    split = SplitHostDevice()(Module)
    kernel, main = split["main_kernel"], split["main"]
    assert not set(kernel.params) & set(main.params)
    assert tvm.tir.analysis.verify_well_formed(split)


def test_code_for_a_cpu_tells_errors() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(n: T.int32):
            T.func_attr({"target": T.target("llvm", host="llvm")})
            with T.attr(T.target("llvm"), "target", 0):
                T.evaluate(n)

    split = SplitHostDevice()(Module)
    assert split["main_kernel"].ret_type.dtype == "int32"
    assert "return 0" in split["main_kernel"].script()
    text = split["main"].script()
    assert "err: T.int32 = " in text
    assert 'assert err == 0, "Error executing compute kernel"' in text


@pytest.mark.parametrize("scope", ["shared", "shared.dyn", "local", "warp"])
def test_memory_of_threads_around_their_kernel(scope: str) -> None:
    """As a parameter it would be one memory for all threads, and no longer on the chip."""

    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        T.func_attr({"target": T.target("cuda", host="llvm")})
        S = T.decl_buffer((4,), "float32", scope=scope)
        i = T.launch_thread("threadIdx.x", 4)
        S[i] = A[i]
        A[i] = S[3 - i]

    regions = AnnotateDeviceRegions()(IRModule.from_expr(func))
    with pytest.raises(CheckError, match=f"memory S of scope {scope}\n  found: .*around"):
        SplitHostDevice()(regions)
