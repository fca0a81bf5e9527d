"""Functions of a module that stay Python functions."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.ir import IRModule, assert_structural_equal
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Module:
    @I.pyfunc
    def halve(values: Any, by: int = 2) -> Any:
        # comments stay
        return [value / by for value in values]

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)


TEXT = """\
    @I.pyfunc
    def halve(values: Any, by: int = 2) -> Any:
        # comments stay
        return [value / by for value in values]
"""


def test_the_module_has_the_function_and_knows_its_text() -> None:
    assert Module.__name__ == "Module"
    assert set(Module.pyfuncs) == {"halve"}
    assert Module.pyfuncs["halve"]([4, 6]) == [2, 3]
    func = Module["halve"]
    assert func.TYPE_KEY == "relax.expr.ExternFunc"
    assert func.attrs["is_pyfunc"] is True
    assert func.attrs["function_name"] == "halve"
    assert func.attrs["python_source"].startswith("def halve(values: Any, by: int = 2) -> Any:\n")


def test_prints_as_it_was_written_and_reads_back() -> None:
    assert TEXT in Module.script()
    again: IRModule = from_source(Module.script())
    assert_structural_equal(again, Module)
    assert again["halve"].attrs["python_source"] == Module["halve"].attrs["python_source"]
    assert again.pyfuncs == {}  # a text is never executed


def test_passes_keep_the_functions() -> None:
    assert Module.with_attr("a", 1).pyfuncs == Module.pyfuncs
    assert Module.clone().pyfuncs == Module.pyfuncs
    assert IRModule(Module.functions).pyfuncs == {}


class Wrapped:
    def __init__(self, mod: IRModule) -> None:
        self.mod = mod

    @classmethod
    def __ir_module__(cls, mod: IRModule) -> Wrapped:
        return cls(mod)


def test_a_base_class_may_wrap_the_module() -> None:
    @I.ir_module
    class Other(Wrapped):
        @T.prim_func
        def main(n: T.int32):
            T.evaluate(n)

    assert isinstance(Other, Wrapped)
    assert "main" in Other.mod
