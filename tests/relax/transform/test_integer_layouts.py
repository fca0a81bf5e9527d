"""Convolutions of integers get their channels last; those of floats keep their layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform.integer_layouts import IntegerLayouts
from tvm.relax.transform.rebuild import all_bindings

pytestmark = pytest.mark.pure


def program(groups: int = 1) -> IRModule:
    """Two convolutions of integers with a step between them, then one of floats."""
    rng = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((1, 4, 6, 6), "int32"))
    first, second = (relax.const(rng.integers(-3, 4, (4, 4 // groups, 3, 3)).astype("int32"))
                     for _ in range(2))  # fmt: skip
    third = relax.const(rng.integers(-3, 4, (2, 4, 1, 1)).astype("float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(op.nn.conv2d(x, first, padding=1, groups=groups))
            lv = bb.emit(op.add(lv, relax.const(rng.integers(0, 9, (1, 4, 1, 1)).astype("int32"))))
            lv = bb.emit(op.nn.conv2d(lv, second, groups=groups))
            y = bb.emit_output(op.nn.conv2d(bb.emit(op.astype(lv, "float32")), third))
        bb.emit_func_output(y)
    return bb.get()


def calls(mod: IRModule, name: str) -> list[Any]:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    return [b.value for b in all_bindings(main) if is_call_of(b.value, name)]


def test_changes() -> None:
    mod = program()
    after = IntegerLayouts()(mod)
    assert relax.analysis.well_formed(after)
    layouts = [call.attrs.data_layout for call in calls(after, "relax.nn.conv2d")]
    assert layouts == ["NHWC", "NHWC", "NCHW"]
    moved = [c for c in calls(after, "relax.permute_dims") if isinstance(c.args[0], relax.Var)]
    assert len(moved) == 2  # before the first, after the second; what lies between follows
    x = np.random.default_rng(1).integers(-9, 9, (1, 4, 6, 6)).astype("int32")
    np.testing.assert_array_equal(run_interp(after, [x]), run_interp(mod, [x]))


def test_keeps() -> None:
    """Two groups have no form."""
    mod = program(groups=2)
    assert IntegerLayouts()(mod)["main"] is mod["main"]


def test_rows() -> None:
    """Of two convolutions along a row the second is too short to move channels for."""
    rng = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((1, 48, 7), "int32"))
    long, short = (relax.const(rng.integers(-3, 4, (48, 48, taps)).astype("int32"))
                   for taps in (3, 1))  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(op.nn.conv1d(x, long, padding=1))
            y = bb.emit_output(op.nn.conv1d(lv, short))
        bb.emit_func_output(y)
    mod = bb.get()
    after = IntegerLayouts()(mod)
    assert relax.analysis.well_formed(after)
    layouts = [call.attrs.data_layout for call in calls(after, "relax.nn.conv1d")]
    assert layouts == ["NWC", "NCW"]
    value = rng.integers(-9, 9, (1, 48, 7)).astype("int32")
    np.testing.assert_array_equal(run_interp(after, [value]), run_interp(mod, [value]))
