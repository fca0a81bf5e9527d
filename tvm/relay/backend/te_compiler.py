"""The tensor expressions of calls, and the ways that strategies name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ffi.object import Object
from tvm.ir.op import Op
from tvm.relay.expr import Call
from tvm.relay.op.strategies import (
    OpImplementation,
    best_implementation,
    valid_implementations,
)
from tvm.target import Target
from tvm.tir.expr import IntImm


class LoweredOutput(Object):
    """The tensors of a call, and the way they were made."""

    def __init__(self, outputs: Sequence[Any], implement: OpImplementation) -> None:
        self.outputs = list(outputs)
        self.implementation = implement


def get_shape(shape: Sequence[Any]) -> list[Any]:
    """Extents, as numbers where they are known."""
    return [int(dim.value) if isinstance(dim, IntImm) else dim for dim in shape]


def get_valid_implementations(
    op: Op, attrs: Any, inputs: Sequence[Any], out_type: Any, target: Target
) -> list[OpImplementation]:
    """All ways in which an operator may be computed for a call."""
    return valid_implementations(op, attrs, inputs, out_type, target)


def select_implementation(
    op: Op, attrs: Any, inputs: Sequence[Any], out_type: Any, target: Target,
    use_autotvm: bool = True,
) -> tuple[OpImplementation, list[Any]]:  # fmt: skip
    """The way of the highest level, and its tensors; `use_autotvm` has nothing to choose by."""
    best = best_implementation(valid_implementations(op, attrs, inputs, out_type, target))
    return best, best.compute(attrs, inputs, out_type)


def lower_call(
    call: Call, inputs: Sequence[Any], target: Target, otype: Any = None
) -> LoweredOutput:
    """The tensors of a call with types, for tensors of its operands."""
    assert isinstance(call.op, Op), "calls of operators are lowered"
    out_type = call.checked_type if otype is None else otype
    best, outputs = select_implementation(call.op, call.attrs, inputs, out_type, target)
    return LoweredOutput(outputs, best)
