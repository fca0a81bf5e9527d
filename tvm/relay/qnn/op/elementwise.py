"""Sums, joins, functions and pooling of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.op import Op
from tvm.relay import op as R
from tvm.relay.expr import Call, Tuple, TupleGetItem, const
from tvm.relay.op import nn
from tvm.relay.ty import TensorType

from .arithmetic import along_axis, is_zero, multiplier_and_shift, saturated
from .scales import requantized, same_parameters

Rule = Callable[[Any, Sequence[Any], Sequence[Any]], Any]


def _as_output(
    x: Any, scale: Any, zero: Any, out_scale: Any, out_zero: Any, types: Sequence[Any],
    axis: int, dtype: str = "int32",
) -> Any:  # fmt: skip
    if same_parameters(scale, zero, out_scale, out_zero):
        return R.cast(x, dtype)
    return requantized(x, scale, zero, out_scale, out_zero, types, axis, dtype)


def _operands(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> tuple[Any, Any]:
    """Both operands with the result's scale and zero point, in 32 bits."""
    left = _as_output(args[0], args[2], args[3], args[6], args[7],
                      [types[0], types[2], types[3]], int(attrs.lhs_axis))  # fmt: skip
    right = _as_output(args[1], args[4], args[5], args[6], args[7],
                       [types[1], types[4], types[5]], int(attrs.rhs_axis))  # fmt: skip
    return left, right


def add(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """The sum has the zero point twice."""
    total = R.add(*_operands(attrs, args, types))
    if not is_zero(args[7]):
        total = R.subtract(total, args[7])
    return saturated(total, types[0].dtype)


def subtract(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """The difference has lost the zero point."""
    total = R.subtract(*_operands(attrs, args, types))
    if not is_zero(args[7]):
        total = R.add(total, args[7])
    return saturated(total, types[0].dtype)


def mul(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """The product of what is above the zero points has the product of the scales."""
    shifted = []
    for at, zero, axis in ((0, 3, attrs.lhs_axis), (1, 5, attrs.rhs_axis)):
        rank = len(types[at].shape)
        wide = along_axis(args[zero], types[zero], int(axis), rank)
        shifted.append(R.subtract(R.cast(args[at], "int32"), wide))
    product = R.multiply(*shifted)
    scale = R.multiply(args[2], args[4])
    scale_type = max((types[2], types[4]), key=lambda t: len(t.shape))
    axis = attrs.lhs_axis if types[2].shape else attrs.rhs_axis
    found = [types[-1], scale_type, TensorType((), "int32")]
    return requantized(
        product, scale, const(0, "int32"), args[6], args[7], found, int(axis),
        str(types[0].dtype),
    )  # fmt: skip


def _fields(expr: Any, count: int) -> list[Any]:
    if isinstance(expr, Tuple):
        return list(expr.fields)
    return [TupleGetItem(expr, at) for at in range(count)]


def concatenate(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """Tensors are joined once they have one scale and zero point."""
    count = len(types[0].fields)
    parts, scales, zeros = (_fields(arg, count) for arg in args[:3])
    made = []
    for at, part in enumerate(parts):
        dtype = str(types[0].fields[at].dtype)
        if same_parameters(scales[at], zeros[at], args[3], args[4]):
            made.append(part)
            continue
        found = [types[0].fields[at], types[1].fields[at], types[2].fields[at]]
        made.append(
            requantized(part, scales[at], zeros[at], args[3], args[4], found, -1, dtype)
        )
    return R.concatenate(made, int(attrs.axis))


def by_reals(function: Callable[[Any], Any]) -> Rule:
    """A function of real numbers: of what the integers stand for, and back."""
    from .scales import dequantized, quantized

    def rule(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
        real = dequantized(_Axis(), args[:3], [types[0], types[1], types[2]])
        made = function(real) if attrs is None else function(real, attrs)  # type: ignore[call-arg]
        into = _Axis(str(types[0].dtype))
        return quantized(into, [made, args[3], args[4]], [types[0], types[3], types[4]])

    return rule


class _Axis:
    """The options of quantization for the whole tensor."""

    def __init__(self, out_dtype: str = "float32") -> None:
        self.axis = -1
        self.out_dtype = out_dtype


def hardswish(x: Any) -> Any:
    """x * clip(x + 3, 0, 6) / 6."""
    inner = R.clip(R.add(x, const(3.0)), 0.0, 6.0)
    return R.divide(R.multiply(x, inner), const(6.0))


def softmax(x: Any, attrs: Any) -> Any:
    """Of real numbers."""
    return nn.softmax(x, int(attrs.axis))


def leaky_relu(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """In the result's scale, of zero point z: q, and alpha * q + (1 - alpha) * z below z."""
    x, scale, zero, out_scale, out_zero = args
    wide = R.cast(x, "int32")
    found = [types[0], types[1], types[2]]
    value = requantized(wide, scale, zero, out_scale, out_zero, found, -1, "int32")
    pairs = [multiplier_and_shift(alpha) for alpha in (float(attrs.alpha), 1 - attrs.alpha)]
    part = R.fixed_point_multiply(value, *pairs[0])
    rest = R.fixed_point_multiply(R.cast(out_zero, "int32"), *pairs[1])
    value = R.where(R.less(wide, R.cast(zero, "int32")), R.add(part, rest), value)
    return saturated(value, str(types[0].dtype))


def avg_pool2d(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """The mean of each window in the result's scale, in 32 bits: parts of its step are kept."""
    x, scale, zero, out_scale, out_zero = args
    if same_parameters(scale, zero, out_scale, out_zero):
        wide = R.cast(x, "int32")
    else:
        wide = requantized(x, scale, zero, out_scale, out_zero, types, -1, "int32")
    pooled = Call(Op.get("nn.avg_pool2d"), [wide], attrs)
    return saturated(pooled, str(types[0].dtype))
