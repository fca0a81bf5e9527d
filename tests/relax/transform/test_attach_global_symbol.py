"""AttachGlobalSymbol."""

import pytest

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
