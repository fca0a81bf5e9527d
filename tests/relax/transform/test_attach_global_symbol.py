"""AttachGlobalSymbol."""

import pytest

from tvm.ir import IRModule
from tvm.relax.transform import AttachGlobalSymbol
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((4,), "float32")):
        x[0] = T.float32(1)

    @T.prim_func
    def public(x: T.Buffer((4,), "float32")):
        x[0] = T.float32(2)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return x


def test_every_function_gets_its_name():
    after = AttachGlobalSymbol()(Mod)
    for var, func in after.functions.items():
        assert func.attrs["global_symbol"] == var.name_hint


def test_symbols_that_are_there_stay():
    assert AttachGlobalSymbol()(Mod)["public"] is Mod["public"]


def test_a_prefix_is_part_of_the_names_of_kernels():
    @I.ir_module
    class Before:
        I.module_attrs({"system_lib_prefix": "hello_"})

        @T.prim_func(private=True)
        def add(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
            B[0] = A[0]

        @R.function
        def main(x: R.Tensor((2,), "float32")):
            cls = Before
            y = R.call_tir(cls.add, (x,), out_sinfo=R.Tensor((2,), "float32"))
            return y

    after = AttachGlobalSymbol()(Before)
    assert after["hello_add"].attrs["global_symbol"] == "hello_add"
    assert after["main"].attrs["global_symbol"] == "main"
    call = after["main"].body.blocks[0].bindings[0].value
    assert call.args[0].same_as(after.get_global_var("hello_add"))


def test_another_symbol_gives_way_to_the_name():
    @R.function
    def f(x: R.Object):
        return x

    mod = AttachGlobalSymbol()(IRModule({"g": f}))
    assert mod["g"].attrs["global_symbol"] == "g"
