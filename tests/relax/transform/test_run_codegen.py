"""RunCodegen: functions for other code generators, and what becomes of their calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import assert_structural_equal
from tvm.relax.transform import RunCodegen
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @R.function
    def twice_halfway(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        R.func_attr({"Codegen": "halfway"})
        y = R.add(x, R.const(np.ones(3, "float32")))
        return y

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        cls = Before
        y = cls.twice_halfway(x)
        z = cls.twice_halfway(y)
        return z


class _Library(tvm.runtime.Module):
    kind = "test.halfway"

    def __init__(self, symbols: list[str]) -> None:
        super().__init__()
        self._symbols = symbols

    def function_names(self) -> list[str]:
        return self._symbols

    def _find(self, name: str) -> Any:
        def add(x: Any, out: Any) -> None:
            out.copyfrom(x.numpy() + 1)

        return add if name in self._symbols else None


@pytest.fixture
def asked() -> Iterator[list[Any]]:
    """What the code generator was asked for."""
    seen: list[Any] = []

    def generate(functions: Any, options: Any, constants: Any) -> list[Any]:
        seen.append((list(functions), dict(options), list(constants.values())))
        return [_Library([str(f.attrs["global_symbol"]) for f in functions])]

    tvm.register_global_func("relax.ext.halfway", generate, override=True)
    yield seen
    tvm.ffi.remove_global_func("relax.ext.halfway")


def test_calls_are_those_of_the_compiled_form(asked: list[Any]) -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            y = R.call_dps_packed("twice_halfway", (x,), out_sinfo=R.Tensor((3,), "float32"))
            z = R.call_dps_packed("twice_halfway", (y,), out_sinfo=R.Tensor((3,), "float32"))
            return z

    after = RunCodegen({"halfway": {"level": 3}}, entry_functions=["main"])(Before)
    (functions, options, constants), = asked
    assert [f.attrs["Codegen"] for f in functions] == ["halfway"]
    assert options == {"level": 3}
    assert [str(name) for name in constants] == ["twice_halfway_const_0"]
    held = after.attrs["const_name_to_constant"]["twice_halfway_const_0"]
    np.testing.assert_array_equal(held.numpy(), [1, 1, 1])
    plain = after.without_attr("external_mods").without_attr("const_name_to_constant")
    assert_structural_equal(plain, Expected)


def test_a_generator_finds_names_by_the_constants_in_its_functions() -> None:
    found: list[str] = []

    def generate(functions: Any, options: Any, names: Any) -> list[Any]:
        def look(expr: Any) -> None:
            if isinstance(expr, relax.Constant):
                assert expr in names
                found.append(names[expr])

        for func in functions:
            relax.analysis.post_order_visit(func, look)
        return []

    tvm.register_global_func("relax.ext.halfway", generate, override=True)
    try:
        RunCodegen()(Before)
    finally:
        tvm.ffi.remove_global_func("relax.ext.halfway")
    assert found == ["twice_halfway_const_0"]


@pytest.mark.cpu
def test_the_compiled_form_is_linked(asked: list[Any]) -> None:
    vm = relax.VirtualMachine(tvm.compile(RunCodegen()(Before), "llvm"), tvm.cpu())
    np.testing.assert_array_equal(vm["main"](np.zeros(3, "float32")).numpy(), [2, 2, 2])


def test_modules_without_such_functions_stay() -> None:
    plain = Before.with_functions({})
    after = RunCodegen()(plain)
    assert not after.attrs or "external_mods" not in after.attrs


def test_rejects_a_generator_that_nobody_registered() -> None:
    with pytest.raises(TVMError, match=r"Codegen is not found: relax\.ext\.halfway"):
        RunCodegen()(Before)
