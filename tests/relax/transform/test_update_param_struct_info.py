"""UpdateParamStructInfo."""

import pytest

from tvm import relax
from tvm.error import ShapeError
from tvm.relax.transform import UpdateParamStructInfo
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        a = R.add(x, y)
        b = R.exp(a)
        return b


def test_what_follows_is_derived_anew():
    half = relax.TensorStructInfo((4,), "float16")
    after = UpdateParamStructInfo(lambda var: half)(Mod)
    main = after["main"]
    assert [p.struct_info.dtype for p in main.params] == ["float16", "float16"]
    assert main.ret_struct_info.dtype == "float16"
    assert {b.var.struct_info.dtype for b in main.body.blocks[0].bindings} == {"float16"}
    assert relax.analysis.well_formed(after)


def test_none_keeps_a_parameter():
    assert UpdateParamStructInfo(lambda var: None)(Mod)["main"] is Mod["main"]
    wider = relax.TensorStructInfo(None, "float32", ndim=1)
    after = UpdateParamStructInfo(lambda var: wider if var.name_hint == "x" else None)(Mod)
    assert after["main"].params[0].struct_info.shape is None
    assert after["main"].params[1] is Mod["main"].params[1]
    assert after["main"].ret_struct_info.shape is None


def test_an_update_that_does_not_fit_is_refused():
    other = relax.TensorStructInfo((5,), "float32")
    with pytest.raises(ShapeError, match="not broadcastable"):
        UpdateParamStructInfo(lambda var: other if var.name_hint == "x" else None)(Mod)


@I.ir_module
class Calls:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Calls
        a = cls.twice(x)
        b = cls.again(a)
        return b

    @R.function(private=True)
    def twice(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.add(x, x)
        return a

    @R.function(private=True)
    def again(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Calls
        c = R.call_pure_packed("done", x, sinfo_args=R.Tensor((), "bool"))
        if c:
            y = R.exp(x)
        else:
            z = R.negative(x)
            y = cls.again(z)
        return y


def test_calls_follow_what_is_called():
    half = relax.TensorStructInfo((4,), "float16")
    after = UpdateParamStructInfo(lambda var: half)(Calls)
    assert relax.analysis.well_formed(after)
    assert after["twice"].ret_struct_info == half
    assert after["main"].body.blocks[0].bindings[0].var.struct_info == half
    # a circle starts from the result that it had: float16 in one branch, float32 in the other
    assert after["again"].params[0].struct_info == half
    assert after["again"].ret_struct_info == relax.TensorStructInfo((4,), "")
    assert relax.analysis.well_formed(Calls)
    assert Calls["again"].ret_struct_info.dtype == "float32"


def test_callers_of_what_changed_are_inferred_too():
    pair = relax.TensorStructInfo(None, "float32", ndim=1)
    inner = Calls["twice"].params[0]
    after = UpdateParamStructInfo(lambda var: pair if var is inner else None)(Calls)
    assert after["twice"].ret_struct_info.shape is None
    assert after["main"].body.blocks[0].bindings[0].var.struct_info.shape is None
    assert after["again"] is Calls["again"]


def test_parameters_of_local_functions():
    @I.ir_module
    class Local:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            @R.function
            def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
                z = R.add(y, y)
                return z

            return inner

    half = UpdateParamStructInfo(lambda v: relax.TensorStructInfo(v.struct_info.shape, "float16"))
    inner = half(Local)["main"].body.blocks[0].bindings[0]
    assert str(inner.value.ret_struct_info) == 'R.Tensor((2,), dtype="float16")'
    assert str(inner.var.struct_info.params[0]) == 'R.Tensor((2,), dtype="float16")'
