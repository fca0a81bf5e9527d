"""Loops as functions that call themselves, run by the interpreter and as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.relax import op
from tvm.relax.frontend.loops import while_loop
from tvm.relax.interp import Interpreter


def _program(bound: int) -> tvm.IRModule:
    """i, a = 0, x; while i < bound: i, a = i + 1, a + y."""
    bb = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorStructInfo((2,), "float32")) for name in "xy")
    limit, one = relax.const(bound, "int64"), relax.const(1, "int64")

    def turn(state: Any, outer: Any) -> list[Any]:
        return [op.add(state[0], one), op.add(state[1], outer[0])]

    with bb.function("main", [x, y]):
        zero = relax.const(0, "int64")
        number, total = while_loop(bb, [zero, x], [y], lambda s, _: op.less(s[0], limit), turn)
        bb.emit_func_output(bb.emit(relax.Tuple([number, total])))
    return bb.get()


@pytest.mark.parametrize("bound", [0, 1, 40])
def test_turns(bound: int) -> None:
    mod = _program(bound)
    assert relax.analysis.well_formed(mod)
    x, y = np.array([1, 2], "float32"), np.array([0.5, -1], "float32")
    for number, total in (
        Interpreter(mod).run("main", x, y),
        [part.numpy() for part in _compiled(mod, x, y)],
    ):
        assert number == bound
        np.testing.assert_allclose(total, x + bound * y, rtol=1e-6)


def _compiled(mod: tvm.IRModule, *arrays: Any) -> Any:
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    return vm["main"](*[tvm.runtime.tensor(array) for array in arrays])


def test_shapes_have_to_be_known() -> None:
    x = relax.Var("x", relax.TensorStructInfo((tir.Var("n", "int64"),), "float32"))
    with pytest.raises(ValueError, match="legal: shapes that are known"):
        while_loop(relax.BlockBuilder(), [x], [], lambda s, _: s[0], lambda s, _: s)
