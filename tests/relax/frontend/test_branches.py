"""Choices between two ways to compute, run by the interpreter and as machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.relax import op
from tvm.relax.frontend.branches import either
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu


def _program() -> tvm.IRModule:
    """x + y and its sum where it is chosen, else the first row of x, twice, and x's sum."""
    n = tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    chosen = relax.Var("chosen", relax.TensorStructInfo((), "bool"))
    x, y = (relax.Var(name, relax.TensorStructInfo((n, 2), "float32")) for name in "xy")

    def added(around: Any) -> list[Any]:
        total = bb.emit(op.add(around[0], around[1]))
        return [total, op.sum(total)]

    def doubled(around: Any) -> list[Any]:
        first = bb.emit(op.strided_slice(around[0], [0], [0], [1]))
        return [op.concat([first, first], 0), op.sum(around[0])]

    with bb.function("main", [chosen, x, y]):
        with bb.dataflow():
            made, total = either(bb, chosen, [x, y], added, doubled)
            out = bb.emit_output(relax.Tuple([made, op.multiply(total, total)]))
        bb.emit_func_output(out)
    return bb.get()


def test_one_way_is_taken_and_extents_may_differ() -> None:
    mod = _program()
    assert relax.analysis.well_formed(mod)
    info = mod["main"].ret_struct_info.fields[0]
    assert (info.ndim, info.shape) == (2, None), "the ways differ in their rows"
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    x = np.arange(6, dtype="float32").reshape(3, 2)
    y = np.ones_like(x)
    for chosen, made in ((True, x + y), (False, np.stack([x[0], x[0]]))):
        total = (x + y).sum() if chosen else x.sum()
        for found, square in (
            Interpreter(mod).run("main", np.array(chosen), x, y),
            [v.numpy() for v in vm["main"](np.array(chosen), x, y)],
        ):
            np.testing.assert_allclose(found, made)
            np.testing.assert_allclose(square, total * total)
