"""Relax built by frames, without text."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relax
from tvm.error import ScriptError
from tvm.ir import assert_structural_equal
from tvm.relax import TensorStructInfo
from tvm.script import relax as R
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import relax as B

pytestmark = pytest.mark.pure
TENSOR = TensorStructInfo((4,), "float32")


def test_a_whole_function() -> None:
    with IRBuilder() as ib:
        with B.function():
            B.func_name("main")
            B.func_attr({"k": 1})
            x = B.arg("x", TENSOR)
            c = B.arg("c", R.Tensor((), "bool"))
            B.func_ret_struct_info(TENSOR)
            with B.dataflow() as frame:
                lv = ib.name("lv", B.emit(R.exp(x)))
                gv = ib.name("gv", B.emit(R.add(lv, x)))
                B.output(gv)
            assert frame.output_vars == [gv]
            with B.If(c) as choice:
                with B.Then():
                    ib.name("r", B.emit(R.exp(gv)))
                with B.Else():
                    ib.name("r", B.emit(gv))
            B.func_ret_value(B.emit_match_cast(choice.var, TENSOR))
    func = ib.get()

    @R.function
    def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        R.func_attr({"k": 1})
        with R.dataflow():
            lv = R.exp(x)
            gv = R.add(lv, x)
            R.output(gv)
        if c:
            r = R.exp(gv)
        else:
            r = gv
        m = R.match_cast(r, R.Tensor((4,), "float32"))
        return m

    assert_structural_equal(func, main)


def _without_name() -> Any:
    with IRBuilder() as ib:
        with B.function():
            B.func_ret_value(B.arg("x", TENSOR))
    return ib.get()


def test_functions_without_a_name_have_no_symbol() -> None:
    assert "global_symbol" not in _without_name().attrs


def _outside() -> None:
    B.emit(relax.const(1))


def _output_outside() -> None:
    with B.function():
        B.output()


def _two_names() -> None:
    with B.function():
        B.func_name("a")
        B.func_name("b")


def _private_symbol() -> None:
    with B.function(is_private=True):
        B.func_attr({"global_symbol": "f"})


def _attribute_twice() -> None:
    with B.function():
        B.func_attr({"a": 1})
        B.func_attr({"a": 1})


def _dataflow_alone() -> None:
    with B.dataflow():
        pass


def _then_alone() -> None:
    with B.function(), B.Then():
        pass


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (_outside, "a binding of Relax stands in a function"),
        (_output_outside, "R.output needs to be under"),
        (_two_names, "Duplicate function name"),
        (_private_symbol, "private function may not have"),
        (_attribute_twice, "Duplicate function attr"),
        (_dataflow_alone, "stands directly in a function"),
        (_then_alone, "stands directly under R.If"),
    ],
)
def test_what_has_no_place(build: Any, wanted: str) -> None:
    with IRBuilder(), pytest.raises((ScriptError, ValueError), match=wanted):
        build()
