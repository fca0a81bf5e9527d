"""Lowered Relax functions as TIR over registers."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.vm_build import _vmcodegen, _vmlink
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@tvm.register_global_func("test.codegen.add", override=True)
def _add(a: object, b: object) -> object:
    return tvm.runtime.tensor(a.numpy() + b.numpy())  # type: ignore[attr-defined]


@tvm.register_global_func("test.codegen.mul", override=True)
def _mul(a: object, b: object) -> object:
    return tvm.runtime.tensor(a.numpy() * b.numpy())  # type: ignore[attr-defined]


@I.ir_module
class Branch:
    @R.function(pure=False)
    def ife(cond: R.Tensor((), "bool"), x: R.Tensor) -> R.Tensor:
        R.func_attr({"global_symbol": "ife"})
        if cond:
            w = R.call_packed("test.codegen.add", x, x, sinfo_args=(R.Tensor))
        else:
            w = R.call_packed("test.codegen.mul", x, x, sinfo_args=(R.Tensor))
        return w


def _tir(mod: IRModule) -> IRModule:
    return _vmcodegen(relax.ExecBuilder(), mod, exec_mode="compiled")


def test_branches() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func
        def __vmtir__ife(ctx_ptr: T.handle, r: T.handle, c: T.handle, f: T.handle):
            T.func_attr({"global_symbol": "__vmtir__ife"})
            if T.Call("bool", tvm.ir.Op.get("tir.tvm_call_packed"),
                      ["vm.builtin.read_if_cond", T.anylist_getitem(r, T.int32(0))]):
                T.anylist_setitem_call_packed(
                    r, T.int32(4), "test.codegen.add", T.anylist_getitem(r, T.int32(1)),
                    T.anylist_getitem(r, T.int32(1)))
                T.anylist_setitem_call_packed(
                    r, T.int32(3), "vm.builtin.copy", T.anylist_getitem(r, T.int32(4)))
            else:
                T.anylist_setitem_call_packed(
                    r, T.int32(5), "test.codegen.mul", T.anylist_getitem(r, T.int32(1)),
                    T.anylist_getitem(r, T.int32(1)))
                T.anylist_setitem_call_packed(
                    r, T.int32(3), "vm.builtin.copy", T.anylist_getitem(r, T.int32(5)))
            T.anylist_setitem_call_packed(
                r, T.int32(2), "vm.builtin.copy", T.anylist_getitem(r, T.int32(3)))

    tvm.ir.assert_structural_equal(_tir(Branch), Expected)


def test_kernels_constants_and_context() -> None:
    @I.ir_module
    class Before:
        @T.prim_func
        def kernel(H: T.Buffer(T.int64(4), "int64")):
            T.func_attr({"global_symbol": "kernel"})
            H[T.int64(0)] = H[T.int64(1)]

        @R.function(pure=False)
        def main(x: R.Tensor([4], "int64")):
            R.func_attr({"global_symbol": "main"})
            z = R.call_packed("test.codegen.add", x, R.const([1, 2], "int64"),
                              sinfo_args=R.Tensor([4], "int64"))
            _ = Before.kernel(z)
            h = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(4),),
                                        sinfo_args=(R.Object,))
            R.vm.kill_object(h)
            return z

    @I.ir_module
    class Expected:
        @T.prim_func
        def __vmtir__main(ctx_ptr: T.handle, r: T.handle, c: T.handle, f: T.handle):
            T.func_attr({"global_symbol": "__vmtir__main"})
            T.anylist_setitem_call_packed(
                r, T.int32(2), "test.codegen.add", T.anylist_getitem(r, T.int32(0)),
                T.anylist_getitem(c, T.int32(0)))
            T.call_cpacked("kernel", T.anylist_getitem(r, T.int32(2)),
                           T.reinterpret("handle", T.int64(0)))
            T.anylist_setitem_call_packed(
                r, T.int32(3), "vm.builtin.alloc_shape_heap", ctx_ptr, T.int64(4))
            T.anylist_setitem_call_packed(r, T.int32(3), "vm.builtin.null_value")
            T.anylist_setitem_call_packed(
                r, T.int32(1), "vm.builtin.copy", T.anylist_getitem(r, T.int32(2)))

    tvm.ir.assert_structural_equal(_tir(Before)["__vmtir__main"], Expected["__vmtir__main"])


def test_operators_are_refused() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor([4], "float32")):
            y = R.exp(x)
            return y

    with pytest.raises(TVMError, match=r"operator relax\.exp has no code of its own"):
        _tir(Before)


@pytest.mark.parametrize("mode", ["bytecode", "compiled"])
def test_what_is_linked_runs(mode: str) -> None:
    builder = relax.ExecBuilder()
    rest = _vmcodegen(builder, Branch, exec_mode=mode)
    executable = _vmlink(builder, tvm.target.Target("llvm"), rest)
    vm = relax.VirtualMachine(executable, tvm.cpu())
    x = np.array([1.0, 3.0], "float32")
    for taken, wanted in ((True, x + x), (False, x * x)):
        np.testing.assert_array_equal(vm["ife"](np.array(taken), x).numpy(), wanted)


def test_results_come_before_operands() -> None:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor):
            R.func_attr({"global_symbol": "main"})
            t = (x, x)
            u = t[1]
            y = R.call_packed("f", u, R.tuple(), R.str("text"), sinfo_args=R.Object)
            return y

    @I.ir_module
    class Expected:
        @T.prim_func
        def __vmtir__main(ctx_ptr: T.handle, r: T.handle, c: T.handle, f: T.handle):
            T.func_attr({"global_symbol": "__vmtir__main"})
            T.anylist_setitem_call_packed(
                r, T.int32(2), "vm.builtin.make_tuple", T.anylist_getitem(r, T.int32(0)),
                T.anylist_getitem(r, T.int32(0)))
            T.anylist_setitem_call_packed(
                r, T.int32(3), "vm.builtin.tuple_getitem", T.anylist_getitem(r, T.int32(2)),
                T.int64(1))
            T.anylist_setitem_call_packed(r, T.int32(5), "vm.builtin.make_tuple")
            T.anylist_setitem_call_packed(
                r, T.int32(4), "f", T.anylist_getitem(r, T.int32(3)),
                T.anylist_getitem(r, T.int32(5)), T.anylist_getitem(c, T.int32(0)))
            T.anylist_setitem_call_packed(
                r, T.int32(1), "vm.builtin.copy", T.anylist_getitem(r, T.int32(4)))

    assert_structural_equal(_tir(Mod)["__vmtir__main"], Expected["__vmtir__main"])
