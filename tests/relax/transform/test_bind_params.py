"""BindParams and BindSymbolicVars."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.transform import BindParams, BindSymbolicVars
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"), w: R.Tensor((3, "m"), "float32")
    ) -> R.Tensor(("n", "m"), "float32"):
        with R.dataflow():
            gv = R.matmul(x, w)
            R.output(gv)
        return gv

    @R.function
    def other(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        gv = R.exp(x)
        return gv


W = np.arange(12, dtype="float32").reshape(3, 4)


def _shape(info: object) -> list[object]:
    return [getattr(e, "value", e) for e in info.shape.values]  # type: ignore[attr-defined]


@pytest.mark.parametrize("key", ["w", Mod["main"].params[1]], ids=["name", "variable"])
def test_bind_params(key: object) -> None:
    after = BindParams("main", {key: W})(Mod)
    assert [p.name_hint for p in after["main"].params] == ["x"]
    assert _shape(after["main"].ret_struct_info)[1] == 4  # a size of the weight is known with it
    assert after["other"] is Mod["other"]
    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(run_interp(after, [x]), x @ W)
    assert relax.analysis.well_formed(after)


def test_bind_params_of_an_unknown_function() -> None:
    with pytest.raises(TVMError) as caught:
        BindParams("mian", {"w": W})(Mod)
    assert str(caught.value) == (
        "BindParams: no Relax function 'mian'; did you mean 'main'?\n  legal: main, other"
    )


def test_bind_params_without_relax_functions() -> None:
    with pytest.raises(TVMError, match="legal: a module with a Relax function"):
        BindParams("main", {})(IRModule({}))


def test_bind_params_of_an_unknown_name() -> None:
    with pytest.raises((TVMError, ValueError), match="v"):
        BindParams("main", {"v": W})(Mod)


def test_bind_params_of_another_shape() -> None:
    with pytest.raises((TVMError, ValueError)):
        BindParams("main", {"w": np.zeros((2, 4), "float32")})(Mod)


def test_bind_symbolic_vars_in_one_function() -> None:
    after = BindSymbolicVars({"n": 2}, "main")(Mod)
    assert _shape(after["main"].params[0].struct_info) == [2, 3]
    assert _shape(after["main"].ret_struct_info)[0] == 2
    assert isinstance(_shape(after["other"].params[0].struct_info)[0], tir.Var)


def test_bind_symbolic_vars_in_all_functions() -> None:
    both = BindSymbolicVars({"n": 2, "m": 5})(Mod)
    assert _shape(both["main"].ret_struct_info) == [2, 5]
    assert _shape(both["other"].ret_struct_info) == [2]
    n = Mod["main"].params[0].struct_info.shape.values[0]
    one = BindSymbolicVars({n: 2})(Mod)
    assert _shape(one["main"].params[0].struct_info) == [2, 3]
    assert one["other"] is Mod["other"]


def test_bind_symbolic_vars_that_no_function_has() -> None:
    with pytest.raises(TVMError) as caught:
        BindSymbolicVars({"nn": 2})(Mod)
    assert str(caught.value) == (
        "BindSymbolicVars: no function of the module has a symbol 'nn'; did you mean 'n'?\n"
        "  legal: n, m"
    )


def test_bind_symbolic_vars_to_an_expression() -> None:
    k = tir.Var("k", "int64")
    after = BindSymbolicVars({"n": k * 2}, "main")(Mod)
    assert str(_shape(after["main"].params[0].struct_info)[0]) == "k * T.int64(2)"


def test_bind_symbolic_vars_of_an_unknown_function() -> None:
    with pytest.raises(ValueError, match="Cannot find global var 'mian'"):
        BindSymbolicVars({"n": 2}, "mian")(Mod)


def test_a_declared_result_is_bound_and_stays():
    @I.ir_module(check_well_formed=False)
    class Mod:
        @R.function
        def main(x: R.Shape([1, "m"])) -> R.Shape([1, "m"]):
            m = T.int64()
            R.func_attr({"relax.force_pure": True})
            y = R.call_dps_packed("test_fill", (x,), out_sinfo=R.Tensor((1, 5), "float32"))
            return y

    after = BindSymbolicVars({"m": 3})(Mod)
    assert str(after["main"].ret_struct_info) == "R.Shape([1, 3])"


def test_parameters_that_callers_give_are_not_bound():
    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            cls = Calls
            y = cls.inner(x, w)
            return y

        @R.function
        def inner(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
            y = R.add(x, w)
            return y

    with pytest.raises(TVMError, match="found: a use of it in 'main'"):
        BindParams("inner", {"w": np.ones(4, "float32")})(Calls)
    assert len(BindParams("main", {"w": np.ones(4, "float32")})(Calls)["main"].params) == 1
