"""Loops as functions that call themselves, run by the interpreter and as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.relax import op
from tvm.relax.interp import Interpreter
from tvm.relax.loops import scan, while_loop


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


def test_sizes_of_the_state_may_be_open() -> None:
    """`m` stands in no shape by itself: the function is told."""
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((n, 2), "float32"))
    y = relax.Var("y", relax.TensorStructInfo((m,), "float32"))
    limit, one = relax.const(9, "int64"), relax.const(1, "int64")

    def turn(state: Any, outer: Any) -> list[Any]:
        return [op.add(state[0], one), op.add(state[1], outer[0]), op.multiply(state[2], outer[1])]

    with bb.function("main", [x, y]):
        zero = relax.const(0, "int64")
        twice = bb.emit(op.concat([y, y], 0))
        found = while_loop(
            bb, [zero, x, twice], [x, twice], lambda s, _: op.less(s[0], limit), turn
        )
        bb.emit_func_output(bb.emit(relax.Tuple(found)))
    mod = bb.get()
    assert relax.analysis.well_formed(mod)
    for rows in (1, 3):
        a, b = np.full((rows, 2), 0.5, "float32"), np.full(rows + 1, 2, "float32")
        for found in (Interpreter(mod).run("main", a, b), _compiled(mod, a, b)):
            values = [v.numpy() if hasattr(v, "numpy") else v for v in found]
            np.testing.assert_allclose(values[1], a * 10)
            np.testing.assert_allclose(values[2], np.full(2 * rows + 2, 2.0**10))


def test_a_turn_keeps_the_kind_of_the_state() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    with bb.function("main", [x]):
        with pytest.raises(ValueError, match="legal: state that stays alike"):
            while_loop(
                bb, [x], [], lambda s, _: op.less(op.sum(s[0]), relax.const(1.0)),
                lambda s, _: [op.astype(s[0], "int32")],
            )  # fmt: skip
        bb.emit_func_output(x)


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_a_scan_stacks_what_its_turns_give(rows: int) -> None:
    n = tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((n, 2), "float32"))
    total = relax.Var("total", relax.TensorStructInfo((2,), "float32"))
    info = relax.TensorStructInfo((2,), "float32")

    def turn(state: Any, slices: Any, outer: Any) -> Any:
        made = bb.emit(op.add(state[0], slices[0]))
        return [made], [bb.emit(op.multiply(made, outer[0]))]

    with bb.function("main", [x, total]):
        state, stacks = scan(bb, [total], [x], [total], turn, [info])
        bb.emit_func_output(bb.emit(relax.Tuple([*state, *stacks])))
    mod = bb.get()
    a, b = np.arange(rows * 2, dtype="float32").reshape(rows, 2), np.array([1, 2], "float32")
    sums = b + np.cumsum(a, 0)
    for found in (Interpreter(mod).run("main", a, b), _compiled(mod, a, b)):
        last, stacked = [v.numpy() if hasattr(v, "numpy") else v for v in found]
        np.testing.assert_allclose(last, sums[-1] if rows else b)
        np.testing.assert_allclose(stacked, sums * b)
