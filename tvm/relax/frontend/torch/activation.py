"""Activations."""

from __future__ import annotations

import math
from typing import Any

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import PrimValue, TupleGetItem

from .registry import convert
from .values import (
    Expr,
    along_an_axis,
    cast,
    dtype_of,
    floating,
    rank,
    refuse,
    scalar,
    written_axis,
)


@convert("relu")
def relu(bb: BlockBuilder, input: Expr) -> Any:
    return op.nn.relu(input)


@convert("relu6")
def relu6(bb: BlockBuilder, input: Expr) -> Any:
    return op.nn.relu6(input)


@convert("silu")
def silu(bb: BlockBuilder, input: Expr) -> Any:
    return op.nn.silu(input)


@convert("selu")
def selu(bb: BlockBuilder, input: Expr) -> Any:
    return op.nn.selu(input)


@convert("gelu")
def gelu(bb: BlockBuilder, input: Expr, approximate: str = "none") -> Any:
    rules = {"none": op.nn.gelu, "tanh": op.nn.gelu_tanh}
    if approximate not in rules:
        raise refuse("gelu: approximate", repr(approximate), "'none' or 'tanh'")
    return rules[approximate](input)


@convert("leaky_relu")
def leaky_relu(bb: BlockBuilder, input: Expr, negative_slope: float = 0.01) -> Expr:
    return op.nn.leakyrelu(input, float(negative_slope))


@convert("rrelu")
def rrelu(
    bb: BlockBuilder, input: Expr, lower: float = 1 / 8, upper: float = 1 / 3, *rest: Any,
    **options: Any,
) -> Expr:  # fmt: skip
    """In evaluation the slope is the middle of the bounds."""
    return op.nn.leakyrelu(input, (lower + upper) / 2)


@convert("rrelu_with_noise_functional", "rrelu_with_noise")
def rrelu_with_noise(
    bb: BlockBuilder, input: Expr, noise: Expr, lower: float = 1 / 8, upper: float = 1 / 3,
    *rest: Any,
) -> Any:  # fmt: skip
    return rrelu(bb, input, lower, upper), noise


@convert("prelu", "_prelu_kernel")
def prelu(bb: BlockBuilder, input: Expr, weight: Expr) -> Expr:
    """One slope for all channels, or one a channel (axis 1)."""
    ndim = rank(input)
    if ndim == 0:
        row = prelu(bb, bb.emit(op.reshape(input, [1])), weight)
        return op.reshape(bb.emit(row), [])
    if rank(weight) != 1:
        weight = bb.emit(op.reshape(weight, [-1]))
    return op.nn.prelu(input, weight, 1 if ndim > 1 else 0)


@convert("softplus")
def softplus(bb: BlockBuilder, input: Expr, beta: float = 1.0, threshold: float = 20.0) -> Expr:
    return op.nn.softplus(input, float(beta), float(threshold))


@convert("elu")
def elu(
    bb: BlockBuilder, input: Expr, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0
) -> Expr:
    """scale * x, or scale * alpha * (exp(input_scale * x) - 1) for negative x."""
    dtype = dtype_of(input)
    scaled = input
    if input_scale != 1:
        scaled = bb.emit(op.multiply(input, scalar(float(input_scale), dtype)))
    below = op.nn.relu(op.subtract(scalar(1.0, dtype), op.exp(scaled)))
    below = op.multiply(scalar(-float(alpha), dtype), below)
    whole = op.add(below, op.nn.relu(input))
    return whole if scale == 1 else op.multiply(whole, scalar(float(scale), dtype))


@convert("celu")
def celu(bb: BlockBuilder, input: Expr, alpha: float = 1.0) -> Expr:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))"""
    dtype = dtype_of(input)
    a = scalar(float(alpha), dtype)
    # an alpha of one divides as well behind exp, where TVM's importer has it
    power = op.divide(op.exp(input), a) if alpha == 1 else op.exp(op.divide(input, a))
    below = op.subtract(power, scalar(1.0, dtype))
    below = op.multiply(a, op.minimum(scalar(0.0, dtype), below))
    return op.add(below, op.nn.relu(input))


@convert("hardsigmoid")
def hardsigmoid(bb: BlockBuilder, input: Expr) -> Expr:
    dtype = dtype_of(input)
    shifted = op.clip(op.add(input, scalar(3.0, dtype)), PrimValue(0), PrimValue(6))
    return op.divide(shifted, scalar(6.0, dtype))


@convert("hardswish")
def hardswish(bb: BlockBuilder, input: Expr) -> Expr:
    return op.multiply(input, bb.emit(hardsigmoid(bb, input)))


@convert("hardtanh")
def hardtanh(
    bb: BlockBuilder, input: Expr, min_val: float = -1.0, max_val: float = 1.0
) -> Expr:
    return op.clip(input, min_val, max_val)


@convert("hardshrink")
def hardshrink(bb: BlockBuilder, input: Expr, lambd: float = 0.5) -> Expr:
    dtype = dtype_of(input)
    inside = op.less_equal(op.abs(input), scalar(float(lambd), dtype))
    return op.where(inside, scalar(0.0, dtype), input)


@convert("softshrink")
def softshrink(bb: BlockBuilder, input: Expr, lambd: float = 0.5) -> Expr:
    """Towards zero by the width, where that does not go past it."""
    dtype = dtype_of(input)
    width = scalar(float(lambd), dtype)
    above = op.astype(op.greater(input, width), dtype)
    down = op.multiply(op.subtract(input, width), above)
    below = op.astype(op.less(input, op.negative(width)), dtype)
    return op.add(down, op.multiply(op.add(input, width), below))


@convert("tanhshrink")
def tanhshrink(bb: BlockBuilder, input: Expr) -> Expr:
    return op.subtract(input, op.tanh(input))


@convert("softsign")
def softsign(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.divide(x, op.add(op.abs(x), scalar(1.0, dtype_of(x))))


@convert("threshold", "_threshold")
def threshold(bb: BlockBuilder, input: Expr, threshold: float, value: float) -> Expr:
    dtype = dtype_of(input)
    return op.where(op.greater(input, scalar(threshold, dtype)), input, scalar(value, dtype))


@convert("mish")
def mish(bb: BlockBuilder, input: Expr) -> Expr:
    return op.multiply(input, op.tanh(op.nn.softplus(input)))


@convert("log_sigmoid", "logsigmoid")
def log_sigmoid(bb: BlockBuilder, input: Expr) -> Expr:
    """-log(1 + exp(-x)), by softplus so that large x do not overflow."""
    return op.negative(op.nn.softplus(op.negative(input)))


@convert("glu")
def glu(bb: BlockBuilder, input: Expr, dim: int = -1) -> Expr:
    """The first half, times the sigmoid of the second."""
    halves = bb.emit(op.split(input, 2, written_axis(dim, rank(input))))
    return op.multiply(TupleGetItem(halves, 0), op.sigmoid(TupleGetItem(halves, 1)))


@convert("_safe_softmax")
@along_an_axis
def safe_softmax(bb: BlockBuilder, input: Expr, dim: int, dtype: Any = None) -> Expr:
    """0, and not NaN, along axes where everything is masked with minus infinity."""
    x = _input(bb, input, dtype)
    largest = op.max(x, _default_dim(x, dim), True)
    masked = bb.emit(op.equal(largest, scalar(-math.inf, dtype_of(x))))
    return op.where(masked, scalar(0.0, dtype_of(x)), op.nn.softmax(x, _default_dim(x, dim)))


@convert("softmax", "_softmax", "special_softmax")
@along_an_axis
def softmax(
    bb: BlockBuilder, input: Expr, dim: int | None = None, dtype: Any = None, **options: Any
) -> Expr:
    x = _input(bb, input, dtype)
    return op.nn.softmax(x, _default_dim(x, dim))


@convert("log_softmax", "_log_softmax", "special_log_softmax")
@along_an_axis
def log_softmax(
    bb: BlockBuilder, input: Expr, dim: int | None = None, dtype: Any = None, **options: Any
) -> Expr:
    x = _input(bb, input, dtype)
    return op.nn.log_softmax(x, _default_dim(x, dim))


@convert("softmin")
@along_an_axis
def softmin(bb: BlockBuilder, input: Expr, dim: int | None = None, dtype: Any = None) -> Any:
    return softmax(bb, bb.emit(op.negative(input)), dim, dtype)


def _input(bb: BlockBuilder, input: Expr, dtype: Any) -> Expr:
    """In the data type asked for; of `_softmax` the third argument is a truth value."""
    return floating(bb, input) if dtype in (None, False, True) else cast(bb, input, dtype)


def _default_dim(x: Expr, dim: int | None) -> int:
    """Without an axis torch takes the first one or the second, by rank."""
    if dim is None:
        return 0 if rank(x) in (0, 1, 3) else 1
    return dim
