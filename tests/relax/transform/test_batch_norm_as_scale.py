"""Batch norms as one multiply and one add."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import arguments, assert_same, calls, run_interp
from tvm import relax
from tvm.ir import IRModule, SourceName, Span
from tvm.ir.span import span_scope
from tvm.relax import op
from tvm.relax.transform import FoldConstant
from tvm.relax.transform.batch_norm_as_scale import BatchNormAsScale

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(2)


def _statistics(bb: relax.BlockBuilder, constant: bool) -> list[relax.Expr]:
    if not constant:
        info = relax.TensorStructInfo((4,), "float32")
        return [relax.Var(name, info) for name in ("gamma", "beta", "mean", "var")]
    lows = (-1.0, -1.0, -1.0, 0.5)
    return [relax.const(RNG.uniform(low, 1, 4).astype("float32")) for low in lows]


def _module(axis: int = 1, constant: bool = True, dataflow: bool = True, **norm: Any) -> IRModule:
    bb = relax.BlockBuilder()
    shape = [2, 3, 3]
    shape.insert(axis % 4, 4)
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    statistics = _statistics(bb, constant)
    params = [x, *(s for s in statistics if isinstance(s, relax.Var))]
    with bb.function("main", params):
        with span_scope(Span(SourceName("norm"), 1, 1, 1, 1)):
            call = op.nn.batch_norm(x, *statistics, axis=axis, training=False, **norm)
            if dataflow:
                with bb.dataflow():
                    out = bb.emit_output(bb.emit(call)[0])
            else:
                out = bb.emit(bb.emit(call)[0])
        bb.emit_func_output(out)
    return bb.get()


def decomposed(mod: IRModule) -> IRModule:
    after = BatchNormAsScale()(mod)
    args = arguments(mod["main"])
    args[4:5] = [np.abs(a) + np.float32(0.5) for a in args[4:5]]  # a variance
    assert_same(run_interp(mod, args), run_interp(after, args), 1e-4)
    assert relax.analysis.well_formed(after)
    assert "relax.nn.batch_norm" not in calls(after)
    return after


@pytest.mark.parametrize(
    "options",
    [{}, {"axis": 3}, {"axis": -1}, {"axis": 0}, {"center": False}, {"scale": False},
     {"epsilon": 0.1}, {"dataflow": False}, {"constant": False}],
    ids=str,
)  # fmt: skip
def test_means_the_same(options: dict[str, Any]) -> None:
    decomposed(_module(**options))


def test_constant_statistics_leave_a_multiply_and_an_add() -> None:
    after = FoldConstant()(decomposed(_module()))
    assert calls(after) == ["relax.multiply", "relax.add"]


def test_spans_are_those_of_the_norm() -> None:
    after = BatchNormAsScale()(_module())
    spans = [b.value.span for b in after["main"].body.blocks[0].bindings]
    names = {s.source_name.name for s in spans if s is not None}
    assert names == {"norm"}


def test_norms_in_training_stay() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 4, 3, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        parts = bb.emit(op.nn.batch_norm(x, *_statistics(bb, True), axis=1))
        bb.emit_func_output(bb.emit(parts[0]))
    mod = bb.get()
    assert BatchNormAsScale()(mod)["main"] is mod["main"]


def test_running_statistics_are_results_too() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2, 4, 3, 3), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            parts = bb.emit(op.nn.batch_norm(x, *_statistics(bb, True), axis=1, training=False))
            out = bb.emit_output(relax.Tuple([bb.emit(parts[i]) for i in range(3)]))
        bb.emit_func_output(out)
    decomposed(bb.get())
