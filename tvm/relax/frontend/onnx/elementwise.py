"""Element by element: arithmetic, comparison, logic, activations, casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tvm import te, tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.support.dtype import DataType

from .attributes import dtype_name
from .node import Node
from .random import drawn
from .registry import Result, convert
from .strings import cast_text

_UNARY: dict[str, Callable[[RelaxExpr], RelaxExpr]] = {
    "Abs": op.abs, "Acos": op.acos, "Acosh": op.acosh, "Asin": op.asin, "Asinh": op.asinh,
    "Atan": op.atan, "Atanh": op.atanh, "Ceil": op.ceil, "Cos": op.cos, "Cosh": op.cosh,
    "Erf": op.erf, "Exp": op.exp, "Floor": op.floor, "IsNaN": op.isnan,
    "Log": op.log, "Neg": op.negative, "Not": op.logical_not, "Relu": op.nn.relu,
    "Round": op.round, "Sigmoid": op.sigmoid, "Sign": op.sign, "Sin": op.sin, "Sinh": op.sinh,
    "Sqrt": op.sqrt, "Tan": op.tan, "Tanh": op.tanh,
}  # fmt: skip
_BINARY = {
    "Add": op.add, "And": op.logical_and, "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or, "BitwiseXor": op.bitwise_xor, "Equal": op.equal,
    "Greater": op.greater, "GreaterOrEqual": op.greater_equal, "Less": op.less,
    "LessOrEqual": op.less_equal, "Mul": op.multiply, "Or": op.logical_or, "Pow": op.power,
    "Sub": op.subtract, "Xor": op.logical_xor,
}  # fmt: skip


@convert(*_UNARY)
def unary(node: Node) -> Result:
    return _UNARY[node.op_type](node[0])


@convert(*_BINARY)
def binary(node: Node) -> Result:
    a, b = node[0], _beside(node)
    if node.op_type == "Pow" and node.dtype(0) != node.dtype(1):
        return _mixed_power(node)
    return _BINARY[node.op_type](a, b)


def _beside(node: Node) -> RelaxExpr:
    """The second operand; before operator set 7 an axis says where it lies."""
    if node.opset >= 7 or not node.attr("broadcast", 0) or "axis" not in node.attrs:
        return node[1]
    behind = node.rank(0) - node.axis(0) - node.rank(1)
    return node.bb.emit(op.reshape(node[1], [*node.shape(1), *[1] * behind]))


def _mixed_power(node: Node) -> RelaxExpr:
    """The result has the type of the base; integers to fractions are computed in float64."""
    base, exponent = node.dtype(0), node.dtype(1)
    if exponent.startswith("float") and not base.startswith(("float", "bfloat")):
        both = [op.astype(node[i], "float64") for i in (0, 1)]
        return op.astype(op.power(*both), base)
    return op.power(node[0], op.astype(node[1], base))


@convert("Div")
def div(node: Node) -> Result:
    """Floats are divided, integers rounded toward zero."""
    if not node.dtype().startswith(("int", "uint")):
        return op.divide(node[0], _beside(node))
    if node.dtype().startswith("uint"):
        return op.floor_divide(node[0], node[1])
    # toward zero: the floor of the quotient of the absolute values, with the sign put back
    sign = op.multiply(op.sign(node[0]), op.sign(node[1]))
    return op.multiply(op.floor_divide(op.abs(node[0]), op.abs(node[1])), sign)


@convert("Mod")
def mod(node: Node) -> Result:
    """With `fmod` the sign is that of the dividend, otherwise that of the divisor."""
    if node.attr("fmod", 0):
        return op.mod(node[0], node[1])
    if not node.dtype().startswith("float"):
        return op.floor_mod(node[0], node[1])
    # the remainder of the quotient toward zero is exact; it moves by one divisor, or keeps a zero
    rest, divisor, zero = node.bb.emit(op.mod(node[0], node[1])), node[1], _number(0, node)
    other_side = op.less(op.multiply(op.sign(rest), op.sign(divisor)), zero)
    moved = op.where(other_side, op.add(rest, divisor), rest)
    signed_zero = op.multiply(zero, op.sign(divisor))
    return op.where(op.equal(rest, zero), signed_zero, moved)


@convert("Max", "Min", "Sum", "Mean")
def variadic(node: Node) -> Result:
    """Any number of inputs, two at a time."""
    join = {"Max": op.maximum, "Min": op.minimum}.get(node.op_type, op.add)
    result = node[0]
    for i in range(1, len(node.inputs)):
        result = join(result, node[i])
    if node.op_type == "Mean":
        result = op.divide(result, _number(len(node.inputs), node))
    return result


def _number(value: float, node: Node) -> Constant:
    return Constant(np.asarray(value, node.dtype()))


@convert("Reciprocal")
def reciprocal(node: Node) -> Result:
    return op.divide(_number(1, node), node[0])


@convert("Identity")
def identity(node: Node) -> Result:
    """The value itself; a sequence is one value, not an output for each of its items."""
    return [node.ref(0)]


@convert("IsInf")
def isinf(node: Node) -> Result:
    """Infinite, or only so with one of the signs."""
    found, zero = op.isinf(node[0]), _number(0, node)
    if not node.attr("detect_negative", 1):
        found = op.logical_and(found, op.greater(node[0], zero))
    if not node.attr("detect_positive", 1):
        found = op.logical_and(found, op.less(node[0], zero))
    return found


@convert("Dropout", since=12)
def dropout_mode(node: Node) -> Result:
    """The mode as an input: without it, or when it is false, nothing is dropped."""
    if node.has(2):
        training = node.known(2)
        if training is None:
            raise node.invalid("training_mode", "computed by the model", "a constant")
        if bool(training.reshape(-1)[0]):
            return _dropped(node)
    return dropout(node)


def _dropped(node: Node) -> Result:
    ratio = node.known(1) if node.has(1) else np.asarray(0.5)
    if ratio is None:
        raise node.invalid("ratio", "computed by the model", "a constant")
    share = float(ratio.reshape(-1)[0])
    if not 0 <= share < 1:
        raise node.invalid("ratio", share, "0 <= ratio < 1")
    even = drawn(node, "uniform", [0.0, 1.0], node.shape(0), "float32")
    mask = node.bb.emit(op.greater_equal(even, Constant(np.float32(share))))
    scaled = op.multiply(node[0], _number(1 / (1 - share), node))
    return [op.where(mask, scaled, _number(0, node)), mask][: max(node.output_count, 1)]


@convert("Dropout")
def dropout(node: Node) -> Result:
    """Nothing, when the model is not trained; the mask is all true, of old operator sets false."""
    if not node.wants(1):
        return node[0]
    if node.opset >= 12:
        return [node[0], op.ones(node.shape(0), "bool")]
    return [node[0], op.zeros(node.shape(0), "bool" if node.opset >= 10 else node.dtype(0))]


@convert("Cast")
def cast(node: Node) -> Result:
    return _cast(node, dtype_name(node.required("to")))


@convert("BitCast", since=26)
def bit_cast(node: Node) -> Result:
    """The same bits, read as another type of the same size."""
    dtype = dtype_name(node.required("to"))
    if DataType(dtype).bits != DataType(node.dtype(0)).bits or dtype == "bool":
        raise node.invalid("to", dtype, f"types of as many bits as {node.dtype(0)}")

    def compute(x: te.Tensor) -> Any:
        return te.compute(x.shape, lambda *at: tir.reinterpret(dtype, x(*at)), name="bits")

    return node.bb.emit_te(compute, node[0], primfunc_name_hint="bit_cast")


@convert("CastLike")
def cast_like(node: Node) -> Result:
    return _cast(node, "object" if node.is_text(1) else node.dtype(1))


def _cast(node: Node, dtype: str) -> RelaxExpr:
    """To another type; numbers beyond a float of 8 bits become its largest, unless told not to."""
    if node.is_text(0) or dtype == "object":
        return cast_text(node, dtype)
    if dtype == _POWERS and node.dtype(0).startswith(("float", "bfloat")):
        return node.bb.emit_te(_to_power, node[0], *_rounding(node), primfunc_name_hint="power")
    small = dtype.startswith("float8") and node.dtype(0).startswith(("float", "bfloat"))
    if not small or not node.attr("saturate", 1):
        return op.astype(node[0], dtype)
    largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    wide = node.bb.emit(op.astype(node[0], "float32"))
    return op.astype(op.clip(wide, -largest, largest), dtype)


_POWERS = "float8_e8m0fnu"  # 2**-127 to 2**127, and NaN


def _rounding(node: Node) -> tuple[str, bool]:
    mode = str(node.attr("round_mode", "up"))
    if mode not in ("up", "down", "nearest"):
        raise node.invalid("round_mode", mode, "up, down, nearest (of two as near the upper)")
    return mode, bool(node.attr("saturate", 1))


def _to_power(x: te.Tensor, mode: str, saturate: bool) -> Any:
    """Powers of two near the values: their exponents, as the wider float has them.

    What lies beyond all of them, as negative numbers do, is the last on that side, or without
    `saturate` NaN.
    """
    whole, half = tir.const(1 << 52, "int64"), tir.const(1 << 51, "int64")
    zero, one, last, nan = (tir.const(n, "int64") for n in (0, 1, 254, 255))

    def element(*at: Any) -> Any:
        value = x(*at).astype("float64")
        bits = tir.reinterpret("int64", value)
        behind = tir.floormod(bits, whole)
        least = {"up": one, "nearest": half, "down": whole}[mode]
        power = tir.floordiv(bits, whole) - (1023 - 127) + tir.Select(behind >= least, one, zero)
        outside = tir.any(value > 2.0**127, value < 2.0**-127)
        kept = tir.max(tir.min(power, last), zero) if saturate else tir.Select(outside, nan, power)
        code = tir.Select(tir.isnan(value), nan, kept)
        return tir.reinterpret(_POWERS, code.astype("uint8"))

    return te.compute(x.shape, element, name="power")


@convert("Clip")
def clip_attributes(node: Node) -> Result:
    """Bounds as attributes."""
    largest = float(np.finfo(np.float32).max)
    low, high = node.attr("min", -largest), node.attr("max", largest)
    return op.clip(node[0], float(min(low, high)), float(high))


@convert("Clip", since=11)
def clip(node: Node) -> Result:
    """Bounds as inputs; each may be left out, or be computed by the model. The upper one wins."""
    value = node[0]
    low, high = node.optional(1), node.optional(2)
    fixed_low, fixed_high = node.scalar(1), node.scalar(2)
    # limits of uint64 need not be numbers of int64
    if fixed_low is not None and fixed_high is not None and node.dtype(0) != "uint64":
        return op.clip(value, min(fixed_low, fixed_high), fixed_high)
    if low is not None:
        value = op.maximum(value, low)
    if high is not None:
        value = op.minimum(value, high)
    return value


@convert("LeakyRelu")
def leaky_relu(node: Node) -> Result:
    return op.nn.leakyrelu(node[0], node.attr("alpha", 0.01))


@convert("PRelu")
def prelu(node: Node) -> Result:
    """One slope for each element of a shape that is broadcast: max(x, 0) + slope * min(x, 0)."""
    zero = _number(0, node)
    slope = node[1]
    if node.opset < 7 and node.rank(1) == 1 and node.rank(0) > 2:  # then one a channel
        slope = node.bb.emit(op.reshape(slope, [-1, *[1] * (node.rank(0) - 2)]))
    negative = op.multiply(slope, op.minimum(node[0], zero))
    return op.add(op.maximum(node[0], zero), negative)


def _where_negative(node: Node, negative: RelaxExpr) -> RelaxExpr:
    return op.where(op.less(node[0], _number(0, node)), negative, node[0])


@convert("Elu")
def elu(node: Node) -> Result:
    """alpha * (exp(x) - 1) below zero."""
    grown = op.subtract(op.exp(op.minimum(node[0], _number(0, node))), _number(1, node))
    return _where_negative(node, op.multiply(_number(node.attr("alpha", 1.0), node), grown))


@convert("Selu")
def selu(node: Node) -> Result:
    """Elu scaled by gamma."""
    alpha = node.attr("alpha", 1.6732632423543772)
    gamma = node.attr("gamma", 1.0507009873554805)
    grown = op.subtract(op.exp(op.minimum(node[0], _number(0, node))), _number(1, node))
    body = _where_negative(node, op.multiply(_number(alpha, node), grown))
    return op.multiply(_number(gamma, node), body)


@convert("HardSigmoid")
def hard_sigmoid(node: Node) -> Result:
    """max(0, min(1, alpha * x + beta))."""
    return _hard_sigmoid(node, node.attr("alpha", 0.2), node.attr("beta", 0.5))


def _hard_sigmoid(node: Node, alpha: float, beta: float) -> RelaxExpr:
    line = op.add(op.multiply(_number(alpha, node), node[0]), _number(beta, node))
    return op.clip(line, 0, 1)


@convert("HardSwish")
def hard_swish(node: Node) -> Result:
    return op.multiply(node[0], _hard_sigmoid(node, 1 / 6, 0.5))


@convert("Softplus")
def softplus(node: Node) -> Result:
    return op.nn.softplus(node[0])


@convert("Softsign")
def softsign(node: Node) -> Result:
    return op.divide(node[0], op.add(op.abs(node[0]), _number(1, node)))


@convert("Mish")
def mish(node: Node) -> Result:
    """x * tanh(softplus(x))."""
    return op.multiply(node[0], op.tanh(op.nn.softplus(node[0])))


@convert("Gelu")
def gelu(node: Node) -> Result:
    tanh = node.attr("approximate", "none") == "tanh"
    result: Result = op.nn.gelu_tanh(node[0]) if tanh else op.nn.gelu(node[0])
    return result


@convert("ThresholdedRelu")
def thresholded_relu(node: Node) -> Result:
    bound = _number(node.attr("alpha", 1.0), node)
    return op.where(op.greater(node[0], bound), node[0], _number(0, node))


@convert("Celu")
def celu(node: Node) -> Result:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    alpha = node.attr("alpha", 1.0)
    if not math.isfinite(alpha) or alpha == 0:
        raise node.invalid("alpha", alpha, "a number other than zero")
    zero, scale = _number(0, node), _number(alpha, node)
    grown = op.subtract(op.exp(op.divide(op.minimum(node[0], zero), scale)), _number(1, node))
    return op.add(op.maximum(node[0], zero), op.multiply(scale, grown))


@convert("Where")
def where(node: Node) -> Result:
    return op.where(node[0], node[1], node[2])


@convert("BitwiseNot")
def bitwise_not(node: Node) -> Result:
    return op.bitwise_not(node[0])


@convert("BitShift")
def bit_shift(node: Node) -> Result:
    """By a number of bits that there is not, all leave: what comes in remains, zeros or signs."""
    dtype = np.dtype(node.dtype())
    is_left, bits = node.attr("direction") == "LEFT", 8 * dtype.itemsize

    def number(value: int) -> RelaxExpr:
        return Constant(np.asarray(value, dtype))

    inside = node.bb.emit(op.less(node[1], number(bits)))
    if dtype.kind == "i":
        from_zero = node.bb.emit(op.greater_equal(node[1], number(0)))
        inside = node.bb.emit(op.logical_and(inside, from_zero))
        if not is_left:
            by = node.bb.emit(op.where(inside, node[1], number(bits - 1)))
            return op.right_shift(node[0], by)
    by = node.bb.emit(op.where(inside, node[1], number(0)))
    moved = node.bb.emit((op.left_shift if is_left else op.right_shift)(node[0], by))
    return op.where(inside, moved, number(0))


@convert("Shrink")
def shrink(node: Node) -> Result:
    """x + bias below -lambd, x - bias above lambd, 0 between; of integers in floats, cut off."""
    dtype = node.dtype(0)
    if "float" not in dtype:
        node.replace(0, node.bb.emit(op.astype(node[0], "float32")))
        found = shrink(node)
        assert isinstance(found, RelaxExpr), "one output"
        return op.astype(node.bb.emit(found), dtype)
    lambd, bias = node.attr("lambd", 0.5), _number(node.attr("bias", 0.0), node)
    above = op.where(op.greater(node[0], _number(lambd, node)), op.subtract(node[0], bias),
                     _number(0, node))  # fmt: skip
    return op.where(op.less(node[0], _number(-lambd, node)), op.add(node[0], bias), above)


@convert("Swish")
def swish(node: Node) -> Result:
    """x * sigmoid(alpha * x)."""
    scaled = op.multiply(_number(node.attr("alpha", 1.0), node), node[0])
    return op.multiply(node[0], op.sigmoid(scaled))
