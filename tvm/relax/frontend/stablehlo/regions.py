"""Regions: those that combine scalars, as reductions do, and those that are parts of the program.

    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %0 = stablehlo.maximum %a, %b            ->      lambda a, b: (tir.max(a, b),)
      stablehlo.return %0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tvm import tir
from tvm.error import message
from tvm.relax import op
from tvm.relax.expr import Constant

from .program import Operation, Region
from .registry import convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter

SCALAR_REGIONS: Final = frozenset(
    {"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.sort", "stablehlo.scatter"}
)

_DIRECTIONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "EQ": tir.EQ, "NE": tir.NE, "LT": tir.LT, "LE": tir.LE, "GT": tir.GT, "GE": tir.GE,
}  # fmt: skip


def _boolean(logical: Any, bitwise: Any) -> Callable[[Operation, Any, Any], Any]:
    return lambda node, a, b: logical(a, b) if str(a.dtype) == "bool" else bitwise(a, b)


def _quotient(a: Any, b: Any) -> Any:
    return tir.truncdiv(a, b) if "int" in str(a.dtype) else a / b


def _sign(a: Any) -> Any:
    zero, one = tir.const(0, a.dtype), tir.const(1, a.dtype)
    return tir.Select(a > zero, one, tir.Select(a < zero, -one, a))


_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "exponential": tir.exp, "exponential_minus_one": lambda a: tir.exp(a) - tir.const(1, a.dtype),
    "log": tir.log, "log_plus_one": tir.log1p, "logistic": tir.sigmoid, "tanh": tir.tanh,
    "sine": tir.sin, "cosine": tir.cos, "tan": tir.tan, "sqrt": tir.sqrt, "rsqrt": tir.rsqrt,
    "ceil": tir.ceil, "floor": tir.floor, "round_nearest_even": tir.nearbyint, "sign": _sign,
    "is_finite": tir.isfinite, "power": tir.power, "atan2": tir.atan2, "divide": _quotient,
    "remainder": tir.truncmod, "shift_left": lambda a, b: a << b,
    "shift_right_arithmetic": lambda a, b: a >> b,
}  # fmt: skip


def _function(made: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *operands: made(*operands)


SCALARS: Final[dict[str, Callable[..., Any]]] = {
    "stablehlo.add": lambda node, a, b: a + b,
    "stablehlo.subtract": lambda node, a, b: a - b,
    "stablehlo.multiply": lambda node, a, b: a * b,
    "stablehlo.maximum": lambda node, a, b: tir.max(a, b),
    "stablehlo.minimum": lambda node, a, b: tir.min(a, b),
    "stablehlo.and": _boolean(tir.all, lambda a, b: a & b),
    "stablehlo.or": _boolean(tir.any, lambda a, b: a | b),
    "stablehlo.xor": _boolean(lambda a, b: a != b, lambda a, b: a ^ b),
    "stablehlo.not": lambda node, a: tir.Not(a) if str(a.dtype) == "bool" else ~a,
    "stablehlo.negate": lambda node, a: -a,
    "stablehlo.abs": lambda node, a: tir.abs(a),
    **{f"stablehlo.{name}": _function(made) for name, made in _FUNCTIONS.items()},
    "stablehlo.clamp": lambda node, low, x, high: tir.min(tir.max(low, x), high),
    "stablehlo.reshape": lambda node, a: a,
    "stablehlo.broadcast_in_dim": lambda node, a: a,
    "stablehlo.compare": lambda node, a, b: _DIRECTIONS[direction(node)](a, b),
    "stablehlo.select": lambda node, c, a, b: tir.Select(c, a, b),
    "stablehlo.convert": lambda node, a: a.astype(node.results[0].dtype),
    "stablehlo.constant": lambda node: tir.const(
        node.attrs["value"].item(), node.results[0].dtype
    ),
}


def direction(node: Operation) -> str:
    """The comparison that is asked for: EQ, NE, LT, LE, GT or GE."""
    return str(node.attrs["comparison_direction"]).rsplit(maxsplit=1)[-1].strip(">")


def scalar_function(region: Region) -> Callable[..., tuple[Any, ...]]:
    """The region as a function of scalars of TIR."""

    def run(*arguments: Any) -> tuple[Any, ...]:
        values = dict(zip(region.arguments, arguments))
        for node in region.operations[:-1]:
            inputs = [values[operand] for operand in node.operands]
            values[node.results[0]] = SCALARS[node.name](node, *inputs)
        return tuple(values[result] for result in region.results)

    return run


def combiner(region: Region) -> str | None:
    """`add` for a region that only adds its two arguments, and so on; None for all others."""
    if len(region.arguments) != 2 or len(region.operations) != 2:
        return None
    only = region.operations[0]
    uses = sorted(id(value) for value in only.operands)
    if uses != sorted(id(value) for value in region.arguments):
        return None
    return only.name.partition(".")[2] if region.results == only.results else None


def gives_second(region: Region) -> bool:
    """Whether the region forgets its first argument."""
    return region.results == [region.arguments[-1]]


@convert("func.call")
def call(imp: StableHLOImporter, node: Operation, *arguments: Any) -> Sequence[Any]:
    """The function's operations, where the call stood."""
    name = node.attrs["callee"].lstrip("@")
    if name in imp.calling:
        raise ValueError(message(f"call of {name}", found="a function that calls itself"))
    imp.calling.append(name)
    results = imp.run(imp.functions[name], arguments)
    imp.calling.pop()
    return results


@convert("stablehlo.if")
def choice(imp: StableHLOImporter, node: Operation, truth: Any) -> Sequence[Any]:
    """Both branches are computed, and one of them is taken."""
    yes, no = (imp.run(region, ()) for region in node.regions)
    return [op.where(truth, a, b) for a, b in zip(yes, no)]


@convert("stablehlo.case")
def case(imp: StableHLOImporter, node: Operation, number: Any) -> Sequence[Any]:
    """All branches are computed; a number out of range stands for the last."""
    *first, last = (imp.run(region, ()) for region in node.regions)
    taken = list(last)
    for index, branch in enumerate(first):
        here = imp.emit(op.equal(number, Constant(np.array(index, "int32"))))
        taken = [imp.emit(op.where(here, a, b)) for a, b in zip(branch, taken)]
    return taken


@convert("stablehlo.optimization_barrier")
def barrier(imp: StableHLOImporter, node: Operation, *values: Any) -> Sequence[Any]:
    """Values as they are."""
    return values
