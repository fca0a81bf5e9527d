"""Uses of functions of a module: other names, stand-ins."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.ir.transform import ApplyPassToFunction
from tvm.relax.global_var_uses import rename_uses, stand_in
from tvm.relax.ir.instrument import WellFormedInstrument
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function(private=True)
    def helper(x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        return y

    @R.function
    def first(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
        cls = Mod
        d = R.sin(x)
        if c:
            y = cls.helper(x)
        else:
            y = cls.helper(d)
        return y

    @R.function
    def second(x: R.Tensor((4,), "float32")):
        d = R.sin(x)
        return x


def test_calls_follow_new_names_in_branches_too() -> None:
    new = Mod.replace_global_vars({"helper": "other"})
    assert relax.analysis.well_formed(new)
    assert "helper" not in new.script()
    assert str(new["first"]).count("other(") == 2
    func = Mod["first"]
    assert rename_uses(func, {Mod.get_global_var("second"): tvm.ir.GlobalVar("x")}) is func


def test_a_stand_in_has_the_signature() -> None:
    var = Mod.get_global_var("helper")
    made = stand_in(var)
    assert made.global_symbol == "dummy_helper"
    assert made.struct_info is var.struct_info


def test_a_pass_on_some_functions_sees_a_whole_module() -> None:
    only = ApplyPassToFunction(relax.transform.DeadCodeElimination(), "second|helper")
    assert only.info.name == "ApplyPassTosecond|helper"
    with tvm.transform.PassContext(instruments=[WellFormedInstrument()]):
        new = only(Mod)
    assert {v.name_hint for v in new.functions} == {"helper", "first", "second"}
    assert new["first"] is Mod["first"]
    assert "R.sin" not in str(new["second"])
    assert new["helper"].attrs.get("global_symbol") is None


def test_a_pass_on_some_functions_may_change_their_signatures() -> None:
    @I.ir_module
    class Weights:
        @R.function
        def transform_params(params: R.Tuple(R.Tensor((4,), "float32"))):
            w = params[0]
            y = R.exp(w)
            gv = (y,)
            return gv

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            return y

    only = ApplyPassToFunction(relax.transform.LazyTransformParams(fset_item=None), "transform")
    new = only(Weights)
    assert relax.analysis.well_formed(new)
    assert len(new.functions) == 2
    assert not new["transform_params"].params
    assert new["main"] is Weights["main"]
