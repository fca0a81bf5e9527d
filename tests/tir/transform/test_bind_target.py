import pytest

from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform import BindTarget

pytestmark = pytest.mark.pure


@T.prim_func
def func(A: T.Buffer((4,), "int32")):
    A[0] = 1


def test_each_function_without_a_target():
    own = Target("llvm -mcpu=skylake")
    mod = BindTarget("llvm")(IRModule({"a": func, "b": func.with_attr("target", own)}))
    assert mod["a"].attrs["target"] == Target("llvm")
    assert mod["b"].attrs["target"] is own


def test_host_functions_get_the_host():
    mod = IRModule({"a": func.with_attr("tir.is_host_func", True)})
    bound = BindTarget(Target("cuda", host="llvm"))(mod)["a"]
    assert bound.attrs["target"].kind.name == "llvm"
    assert bound.attrs.get("tir.is_host_func") is None


def test_private_functions_are_bound_by_their_callers():
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def both(a: T.int32) -> T.int32:
            return a + 1

        @T.prim_func(private=True)
        def inner(a: T.int32) -> T.int32:
            return a + 2

        @T.prim_func(private=True)
        def on_device(a: T.int32) -> T.int32:
            return Module.inner(a)

        @T.prim_func(private=True)
        def on_host(a: T.int32) -> T.int32:
            return a + 3

        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            n: T.int32 = Module.both(Module.on_host(3))
            for i in T.thread_binding(n, "threadIdx.x"):
                A[i] = Module.both(Module.on_device(i))

    mod = BindTarget(Target("cuda", host="llvm"))(Module)
    kinds = {v.name_hint: f.attrs["target"].kind.name for v, f in mod.functions.items()}
    assert kinds == {"both": "cuda", "inner": "cuda", "on_device": "cuda", "on_host": "llvm",
                     "main": "cuda", "both_host": "llvm"}  # fmt: skip
    assert mod["both"].attrs["target"].host is None
    assert "both_host(Module.on_host(3))" in mod.script()
    assert "Module.both(Module.on_device(i))" in mod.script()


def test_hosts_belong_to_what_is_called_from_outside() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def public(A: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("cuda")})
            A[0] = T.float32(0)

        @T.prim_func(private=True)
        def private(A: T.Buffer((1,), "float32")):
            A[0] = T.float32(0)

    bound = BindTarget(Target("llvm", host="llvm"))(Module)
    assert bound["public"].attrs["target"].kind.name == "cuda"
    assert bound["public"].attrs["target"].host.kind.name == "llvm"
    assert bound["private"].attrs["target"].host is None
