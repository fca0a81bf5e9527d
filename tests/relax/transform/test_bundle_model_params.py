from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir import assert_structural_equal
from tvm.relax.analysis import well_formed
from tvm.relax.transform import BundleModelParams
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @R.function
    def main(
        x: R.Tensor([16], "float32"), a: R.Tensor([16], "float32"), b: R.Tensor([16], "float32")
    ):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            lv = R.add(x, a)
            lv1 = R.add(lv, b)
            gv = R.add(lv1, b)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor([16], "float32"), a: R.Tensor([16], "float32")):
        return R.add(x, a)


def test_weights_are_one_tuple() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor([16], "float32"),
            model_params: R.Tuple(R.Tensor([16], "float32"), R.Tensor([16], "float32")),
        ):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                a = model_params[0]
                lv = R.add(x, a)
                b = model_params[1]
                lv1 = R.add(lv, b)
                b1 = model_params[1]
                gv = R.add(lv1, b1)
                R.output(gv)
            return gv

        @R.function
        def other(x: R.Tensor([16], "float32"), a: R.Tensor([16], "float32")):
            return R.add(x, a)

    after = BundleModelParams()(Before)
    assert_structural_equal(after, Expected)
    assert after["main"].params[1].name_hint == "model_params"


def test_the_name_of_the_tuple() -> None:
    after = BundleModelParams("weights")(Before)
    assert after["main"].params[1].name_hint == "weights"


def test_rejects_more_inputs_than_parameters() -> None:
    mod = BundleModelParams()(Before)
    many = mod.with_functions({mod.get_global_var("main"): mod["main"].with_attr("num_input", 5)})
    with pytest.raises(TVMError, match="5, of a function with 2 parameters"):
        BundleModelParams()(many)


def test_calls_within_the_module_put_weights_together() -> None:
    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor([16], "float32"), a: R.Tensor([16], "float32")):
            R.func_attr({"num_input": 1})
            cls = Calls
            with R.dataflow():
                y = cls.inner(x, a, a)
                R.output(y)
            return y

        @R.function
        def inner(
            x: R.Tensor([16], "float32"), a: R.Tensor([16], "float32"), b: R.Tensor([16], "float32")
        ) -> R.Tensor([16], "float32"):
            R.func_attr({"num_input": 1})
            y = R.add(a, b)
            z = R.add(x, y)
            return z

    after = BundleModelParams()(Calls)
    assert well_formed(after)
    assert well_formed(Calls)
    text = after["main"].script()
    assert "inner(x, (a, a1))" in text
    assert len(after["inner"].params) == len(after["main"].params) == 2
