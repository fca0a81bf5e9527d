"""What operators give for values that importing knows, where some are expressions over sizes.

Arrays of numbers are left to the reference evaluator. Here are those of which an element is an
expression: operators that only move elements are evaluated on their numbers in a table, those on
elements build expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.op import arith as ops

from .exact_floats import exactly, float_of, fraction_of, limited, rounded, truncated

Array = NDArray[Any]
# Numbers that are known, in the order of the operator's inputs; None where one is left out.
Values = Sequence["Array | None"]
# Operators that move elements, and which of their inputs hold them (None: all).
MOVES: dict[str, tuple[int, ...] | None] = {
    "Concat": None, "Expand": (0,), "Flatten": (0,), "Gather": (0,), "GatherElements": (0,),
    "GatherND": (0,), "Identity": (0,), "Reshape": (0,), "ScatterElements": (0, 2),
    "ScatterND": (0, 2), "Slice": (0,), "Split": (0,), "Squeeze": (0,), "Tile": (0,),
    "Transpose": (0,), "Unsqueeze": (0,),
}  # fmt: skip


def moved(op_type: str, values: Values, evaluate: Callable[[Values], Any]) -> Any:
    """The outputs of an operator that moves elements; None where it cannot be told."""
    places = MOVES[op_type]
    carried = range(len(values)) if places is None else places
    if any(v is not None and v.dtype == object and i not in carried for i, v in enumerate(values)):
        return None
    table: list[Any] = []
    numbered: list[Array | None] = []
    for i, value in enumerate(values):
        if value is None or i not in carried:
            numbered.append(value)
            continue
        first = len(table)
        table += list(value.reshape(-1))
        numbered.append(np.arange(first, len(table), dtype=np.int64).reshape(value.shape))
    found = evaluate(numbered)
    if found is None:
        return None
    return [_looked_up(table, part) for part in found]


def _looked_up(table: Sequence[Any], places: Array) -> Array:
    result = np.empty(places.shape, object)
    for at in np.ndindex(places.shape):
        result[at] = table[int(places[at])]
    return result


def calculated(op_type: str, values: Values, dtype: str) -> Array | None:
    """The elements of an operator on elements, of this type; None without a rule."""
    if op_type == "Clip":
        return _clipped(values, dtype)
    rule = _ELEMENTS.get(op_type)
    given = [value for value in values if value is not None]
    if rule is None or not given:
        return None
    shape = np.broadcast_shapes(*(value.shape for value in given))
    columns = [np.broadcast_to(value, shape).reshape(-1) for value in given]
    flat = [rule([_operand(item, dtype) for item in row]) for row in zip(*columns)]
    if any(item is None for item in flat):
        return None
    result = np.empty(len(flat), object)
    result[:] = flat
    return result.reshape(shape)


def _clipped(values: Values, dtype: str) -> Array | None:
    """Limits are inputs of their own, and either may be left out."""
    found = values[0]
    for op_type, limit in zip(("Max", "Min"), values[1:]):
        if limit is not None and found is not None:
            found = calculated(op_type, [found, limit], dtype)
    return found if len(values) > 1 else None  # older ones have them as attributes


def reduced(op_type: str, value: Array, axes: Sequence[int] | None, keep: bool) -> Array | None:
    """A reduction of one row (or of all elements)."""
    if value.ndim > 1 and axes is not None and len(set(a % value.ndim for a in axes)) < value.ndim:
        return None
    joins: dict[str, Callable[[Any, Any], Any]] = {
        "ReduceProd": _multiply, "ReduceSum": ops.add, "ReduceMax": tir.max, "ReduceMin": tir.min,
    }  # fmt: skip
    items = [_operand(item, "int64") for item in value.reshape(-1)]
    if not items or op_type not in joins:
        return None
    total = items[0]
    for item in items[1:]:
        total = joins[op_type](total, item)
    result = np.empty((1,) * value.ndim if keep else (), object)
    result[...] = total
    return result


def cast(item: Any, dtype: str) -> PrimExpr | None:
    """An element as another type; what is made of floats is a whole number where that is exact."""
    if not isinstance(item, PrimExpr):
        return ops.const(np.asarray(item).astype(dtype).item(), dtype)
    own = str(item.dtype)
    if own == dtype:
        return item
    whole = own.startswith(("int", "uint")), dtype.startswith(("int", "uint"))
    if all(whole) or (own == "bool" and whole[1]):
        return item if dtype in ("int64", "int32") and own == "int64" else ops.cast(item, "int64")
    if own.startswith("float") and whole[1]:
        exact = truncated(item)
        return exact if exact is not None else ops.cast(item, "int64")
    if dtype == "bool":
        return tir.NE(item, ops.const(0, own))
    return ops.cast(item, dtype)


def _operand(item: Any, dtype: str) -> Any:
    if isinstance(item, PrimExpr):
        return item
    kind = np.asarray(item).dtype.kind
    if kind == "b":
        return ops.const(bool(item), "bool")
    if kind == "f":
        return ops.const(float(item), dtype if dtype.startswith("float") else "float32")
    return ops.const(int(item), dtype if dtype.startswith("float") else "int64")


def _multiply(a: Any, b: Any) -> Any:
    return ops.multiply(a, b)


def _divide(items: list[Any]) -> Any:
    """Whole numbers are rounded toward zero."""
    a, b = items
    if str(a.dtype).startswith("float"):
        # times the inverse of a power of two is the same, and easier to see through
        if isinstance(b, FloatImm) and b.value and np.log2(abs(b.value)).is_integer():
            return _product([a, ops.const(1 / b.value, str(a.dtype))])
        return tir.div(a, b)
    if isinstance(b, IntImm) and b.value == 0:
        return None
    analyzer = Analyzer()
    zero = ops.const(0, str(a.dtype))
    if analyzer.can_prove(a >= zero) and analyzer.can_prove(b > zero):
        return ops.floordiv(a, b)
    return tir.truncdiv(a, b)


def _compared(make: Callable[[Any, Any], PrimExpr]) -> Callable[[list[Any]], Any]:
    def rule(items: list[Any]) -> Any:
        return Analyzer().simplify(make(items[0], items[1]))

    return rule


def _chosen(items: list[Any]) -> Any:
    condition, yes, no = items
    if isinstance(condition, IntImm):
        return yes if condition.value else no
    if isinstance(yes, IntImm) and isinstance(no, IntImm) and yes.value == no.value:
        return yes
    return yes if yes is no else tir.if_then_else(condition, yes, no)


def _folded(join: Callable[[Any, Any], Any]) -> Callable[[list[Any]], Any]:
    def rule(items: list[Any]) -> Any:
        known = limited(join) if join in (tir.max, tir.min) else join
        exact = exactly(known, items)
        if exact is not None:
            return exact
        total = items[0]
        for item in items[1:]:
            total = join(total, item)
        return total

    return rule


def _product(items: list[Any]) -> Any:
    """A size times a number is as plain a float; that of two sizes may be too large to be exact."""
    total = items[0]
    for item in items[1:]:
        total, scale = (item, total) if isinstance(total, FloatImm) else (total, item)
        scaled = fraction_of(total * scale) if isinstance(scale, FloatImm) else None
        dtype = str(total.dtype)
        total = _multiply(total, scale) if scaled is None else float_of(*scaled, dtype)
    return total


def _rounded_to(make: Callable[[Any], Any], *, down: bool) -> Callable[[list[Any]], Any]:
    def rule(items: list[Any]) -> Any:
        dtype = str(items[0].dtype)
        if not dtype.startswith("float"):
            return items[0]
        whole = rounded(items[0], down=down)
        return make(items[0]) if whole is None else float_of(whole, 1, dtype)

    return rule


def _float_only(make: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    def rule(items: list[Any]) -> Any:
        return make(items[0]) if str(items[0].dtype).startswith("float") else items[0]

    return rule


def _modulo(items: list[Any]) -> Any:
    return None if str(items[0].dtype).startswith("float") else ops.floormod(items[0], items[1])


_ELEMENTS: dict[str, Callable[[list[Any]], Any]] = {
    "Abs": lambda items: tir.abs(items[0]),
    "Add": _folded(ops.add),
    "And": lambda items: tir.all(*items),
    "Ceil": _rounded_to(tir.ceil, down=False),
    "Div": _divide,
    "Equal": _compared(tir.EQ),
    "Floor": _rounded_to(tir.floor, down=True),
    "Greater": _compared(lambda a, b: a > b),
    "GreaterOrEqual": _compared(lambda a, b: a >= b),
    "Less": _compared(lambda a, b: a < b),
    "LessOrEqual": _compared(lambda a, b: a <= b),
    "Max": _folded(tir.max),
    "Min": _folded(tir.min),
    "Mod": _modulo,
    "Mul": _product,
    "Neg": lambda items: ops.const(0, str(items[0].dtype)) - items[0],
    "Not": lambda items: Analyzer().simplify(tir.Not(items[0])),
    "Or": lambda items: tir.any(*items),
    "Sqrt": _float_only(tir.sqrt),
    "Sub": _folded(lambda a, b: a - b),
    "Where": _chosen,
}
COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Not")
