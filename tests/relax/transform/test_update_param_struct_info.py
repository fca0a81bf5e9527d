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
