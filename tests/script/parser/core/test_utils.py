"""What decorated functions and classes see."""

from __future__ import annotations

import sys

import pytest

from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script.parser.core import utils

pytestmark = pytest.mark.pure
GLOBAL = 3


def _closure() -> object:
    inner = 4

    def func() -> int:
        return inner + GLOBAL

    return func


def test_functions_capture_globals_and_closures() -> None:
    names = utils.inspect_function_capture(_closure())  # type: ignore[arg-type]
    assert (names["inner"], names["GLOBAL"]) == (4, 3)
    assert utils.get_func_nonlocals(_closure()) == {"inner": 4}  # type: ignore[arg-type]


def test_classes_capture_what_their_functions_do() -> None:
    func = _closure()
    assert utils.inspect_class_capture(type("C", (), {"f": func}))["inner"] == 4


def test_names_around_a_decorator() -> None:
    local = 5
    assert utils.caller_names(sys._getframe(0))["local"] == local


class Plain:
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        A[0] = GLOBAL

    @I.ir_module
    class Inner:
        @T.prim_func
        def main(A: T.Buffer((4,), "int32")):
            A[0] = GLOBAL


def test_only_module_classes_keep_their_functions_for_later() -> None:
    assert type(Plain.func).__name__ == "PrimFunc"
    assert type(Plain.Inner).__name__ == "IRModule"
    assert Plain.Inner["main"].body.value.value == 3
