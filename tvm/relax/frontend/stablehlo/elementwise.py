"""Operators that look at one element of each operand at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm import te, tir
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.special import erfc_of
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.support.dtype import DataType

from .program import Operation
from .regions import direction
from .registry import convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def constant(value: Any, dtype: Any) -> Constant:
    """A number as a tensor without dimensions."""
    return Constant(np.array(value).astype(numpy_dtype(DataType(str(dtype)))))


def _plain(name: str, made: Callable[..., Any]) -> None:
    convert(name)(lambda imp, node, *operands: made(*operands))


_OPS: dict[str, Callable[..., Any]] = {
    "add": op.add, "subtract": op.subtract, "multiply": op.multiply, "divide": op.divide,
    "power": op.power, "maximum": op.maximum, "minimum": op.minimum, "remainder": op.mod,
    "shift_left": op.left_shift, "shift_right_arithmetic": op.right_shift,
    "abs": op.abs, "negate": op.negative, "exponential": op.exp, "log": op.log,
    "logistic": op.sigmoid, "sine": op.sin, "cosine": op.cos, "tan": op.tan, "tanh": op.tanh,
    "sqrt": op.sqrt, "rsqrt": op.rsqrt, "ceil": op.ceil, "floor": op.floor, "sign": op.sign,
    "is_finite": op.isfinite, "round_nearest_even": op.round, "select": op.where,
}  # fmt: skip
_MORE: dict[str, Callable[..., Any]] = {
    "acos": op.acos, "acosh": op.acosh, "asin": op.asin, "asinh": op.asinh, "atan": op.atan,
    "atanh": op.atanh, "cosh": op.cosh, "sinh": op.sinh, "tan": op.tan, "erf": op.erf,
    "is_inf": op.isinf, "square": op.square,
}  # fmt: skip
for _dialect, _table in (("stablehlo", _OPS), ("chlo", _MORE)):
    for _name, _made in _table.items():
        _plain(f"{_dialect}.{_name}", _made)


def _by_kernel(name: str, element: Callable[..., Any]) -> None:
    """Operators that Relax has no name for: a kernel of one expression."""

    def made(imp: StableHLOImporter, node: Operation, *operands: Any) -> Any:
        def compute(*tensors: te.Tensor) -> Any:
            return te.compute(tensors[0].shape, lambda *i: element(*(t(*i) for t in tensors)))

        return imp.block_builder.call_te(
            compute, *operands, primfunc_name_hint=name.partition(".")[2]
        )

    convert(name)(made)


def _away_from_zero(x: Any) -> Any:
    size = tir.floor(tir.abs(x) + tir.const(0.5, x.dtype))
    return tir.Select(x < tir.const(0, x.dtype), -size, size)


def _cube_root(x: Any) -> Any:
    size = tir.power(tir.abs(x), tir.const(1 / 3, x.dtype))
    return tir.Select(x < tir.const(0, x.dtype), -size, size)


def _logical_shift(x: Any, by: Any) -> Any:
    wide = "u" + str(x.dtype).removeprefix("u")
    return (x.astype(wide) >> by.astype(wide)).astype(x.dtype)


def _exp_less_one(x: Any) -> Any:
    """2 t / (1 - t) with t = tanh(x / 2) near zero, where exp(x) - 1 has few digits."""
    t = tir.tanh(x * tir.const(0.5, x.dtype))
    one = tir.const(1, x.dtype)
    return tir.Select(tir.abs(x) < tir.const(0.5, x.dtype), (t + t) / (one - t), tir.exp(x) - one)


_ELEMENTS: dict[str, Callable[..., Any]] = {
    "stablehlo.atan2": tir.atan2,
    "stablehlo.cbrt": _cube_root,
    "stablehlo.count_leading_zeros": lambda x: tir.clz(x).astype(x.dtype),
    "stablehlo.exponential_minus_one": _exp_less_one,
    "stablehlo.log_plus_one": tir.log1p,
    "stablehlo.popcnt": tir.popcount,
    "stablehlo.round_nearest_afz": _away_from_zero,
    "stablehlo.shift_right_logical": _logical_shift,
    "chlo.erfc": erfc_of,
    "chlo.next_after": tir.nextafter,
}
for _name, _element in _ELEMENTS.items():
    _by_kernel(_name, _element)


def _of_bits(name: str, logical: Any, bitwise: Any) -> None:
    convert(name)(
        lambda imp, node, *operands: (
            logical if node.results[0].dtype == "bool" else bitwise
        )(*operands)
    )


_of_bits("stablehlo.and", op.logical_and, op.bitwise_and)
_of_bits("stablehlo.or", op.logical_or, op.bitwise_or)
_of_bits("stablehlo.xor", op.logical_xor, op.bitwise_xor)
_of_bits("stablehlo.not", op.logical_not, op.bitwise_not)

_COMPARISONS = {
    "EQ": op.equal, "NE": op.not_equal, "LT": op.less, "LE": op.less_equal, "GT": op.greater,
    "GE": op.greater_equal,
}  # fmt: skip


@convert("stablehlo.compare")
def compare(imp: StableHLOImporter, node: Operation, a: Any, b: Any) -> Any:
    return _COMPARISONS[direction(node)](a, b)


@convert("stablehlo.clamp")
def clamp(imp: StableHLOImporter, node: Operation, low: Any, x: Any, high: Any) -> Any:
    """Bounds may be tensors."""
    return op.minimum(op.maximum(low, x), high)


@convert("stablehlo.convert")
def cast(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """Truth values are what is not zero."""
    wanted = node.results[0].dtype
    if str(x.struct_info.dtype) == wanted:
        return x
    return op.astype(x, wanted)


@convert("stablehlo.constant")
def literal(imp: StableHLOImporter, node: Operation) -> Constant:
    return Constant(node.attrs["value"])
