"""NormalizeGlobalVar: names follow symbols."""

import pytest

from tests.relax.programs import assert_same, run_interp
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import GlobalVar, IRModule
from tvm.relax.transform import NormalizeGlobalVar
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @T.prim_func(private=True)
    def kernel(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi] * T.float32(2)

    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = R.call_tir(Mod.kernel, (x,), R.Tensor((4,), "float32"))
        return y

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        y = Mod.helper(x)
        return y


def _with_symbol(mod: IRModule, name: str, symbol: str) -> IRModule:
    functions = dict(mod.functions)
    var = mod.get_global_var(name)
    functions[var] = functions[var].with_attr("global_symbol", symbol)
    return mod.with_functions(functions)


def test_names_that_fit_stay():
    assert NormalizeGlobalVar()(Mod) is Mod


def test_a_public_function_takes_its_symbol_and_calls_follow():
    after = NormalizeGlobalVar()(_with_symbol(Mod, "helper", "twice"))
    assert {v.name_hint for v in after.functions} == {"kernel", "twice", "main"}
    assert relax.analysis.well_formed(after)
    import numpy as np

    x = np.ones(4, "float32")
    assert_same(run_interp(Mod, [x]), run_interp(after, [x]))


def test_a_private_function_takes_the_next_number():
    @I.ir_module(check_well_formed=False)
    class Mod:
        @R.function(private=True)
        def f(x: R.Tensor((4,), "float32")):
            return x

        @R.function
        def f1(x: R.Tensor((4,), "float32")):
            R.func_attr({"global_symbol": "f"})
            return x

    names = [var.name_hint for var in NormalizeGlobalVar()(Mod).functions]
    assert sorted(names) == ["f", "f1"]


def test_a_private_function_gives_way():
    after = NormalizeGlobalVar()(_with_symbol(Mod, "main", "helper"))
    names = {v.name_hint for v in after.functions}
    assert "helper" in names
    assert len(names) == 3
    assert "main" not in names
    assert relax.analysis.well_formed(after)


def test_calls_in_tir_follow():
    callee = GlobalVar("inner")
    body = tir.Evaluate(tir.Call("void", callee, []))
    mod = IRModule({
        callee: tir.PrimFunc([], tir.Evaluate(0), attrs={"global_symbol": "renamed"}),
        GlobalVar("outer"): tir.PrimFunc([], body, attrs={"global_symbol": "outer"}),
    })  # fmt: skip
    after = NormalizeGlobalVar()(mod)
    assert after["outer"].body.value.op is after.get_global_var("renamed")


def test_rejects_one_symbol_for_two_functions():
    mod = _with_symbol(_with_symbol(Mod, "main", "same"), "helper", "same")
    with pytest.raises(TVMError) as caught:
        NormalizeGlobalVar()(mod)
    assert str(caught.value) == (
        "NormalizeGlobalVar: functions 'helper' and 'main' have the same global symbol 'same'; "
        "legal: one each"
    )
