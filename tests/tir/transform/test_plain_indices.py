"""Views that data picks from have indices without remainders, and wrong picks are refused."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax, tir
from tvm.ir import assert_structural_equal
from tvm.relax import op
from tvm.script import tir as T
from tvm.tir.transform.plain_indices import PlainIndices


def after(func: tir.PrimFunc) -> tir.PrimFunc:
    return PlainIndices()(tvm.IRModule({"main": func}))["main"]


def test_a_view_that_data_picks_from() -> None:
    @T.prim_func
    def before(x: T.Buffer((3, 4), "float32"), at: T.Buffer((2,), "int64"),
               y: T.Buffer((2,), "float32")):  # fmt: skip
        flat = T.alloc_buffer((12,))
        for i in range(12):
            with T.block("flat"):
                v = T.axis.spatial(12, i)
                T.reads(x[v // 4, v % 4])
                T.writes(flat[v])
                flat[v] = x[v % 12 // 4, v % 4]
        for i in range(2):
            with T.block("pick"):
                v = T.axis.spatial(2, i)
                T.reads(flat[at[v]], at[v])
                T.writes(y[v])
                y[v] = flat[at[v]]

    @T.prim_func
    def expected(x: T.Buffer((3, 4), "float32"), at: T.Buffer((2,), "int64"),
                 y: T.Buffer((2,), "float32")):  # fmt: skip
        flat = T.alloc_buffer((12,))
        for i in range(12):
            with T.block("flat"):
                v = T.axis.spatial(12, i)
                T.reads(x[v // 4, v % 4])
                T.writes(flat[v])
                flat[v] = x[v // 4, v % 4]
        for i in range(2):
            with T.block("pick"):
                v = T.axis.spatial(2, i)
                T.reads(flat[at[v]], at[v])
                T.writes(y[v])
                y[v] = flat[at[v]]

    found = after(before)
    assert_structural_equal(found.with_attr("global_symbol", "f"),
                            expected.with_attr("global_symbol", "f"))  # fmt: skip


def test_without_picks_nothing_changes() -> None:
    @T.prim_func
    def before(x: T.Buffer((3, 4), "float32"), y: T.Buffer((12,), "float32")):
        for i in range(12):
            with T.block("flat"):
                v = T.axis.spatial(12, i)
                y[v] = x[v % 12 // 4, v % 4]

    assert after(before) is before


@pytest.mark.cpu
@pytest.mark.parametrize("pick", [op.take, op.gather_elements])
def test_wrong_picks_from_a_flat_view_are_refused(pick: object) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, 4), "float32"))
    at = relax.Var("at", relax.TensorStructInfo((2,), "int64"))
    with bb.function("main", [x, at]):
        with bb.dataflow():
            flat = bb.emit(op.reshape(x, (-1,)))
            out = bb.emit_output(pick(flat, at, 0))
        bb.emit_func_output(out)
    machine = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    values = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(machine["main"](values, np.array([11, 0])).numpy(), [11, 0])
    for wrong in ([0, 12], [-1, 3], [10**9, 1], [0, -12]):
        with pytest.raises(IndexError, match="index"):
            machine["main"](values, np.array(wrong))
