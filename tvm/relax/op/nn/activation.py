"""Activations, softmax, dropout."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, Tuple
from tvm.relax.op import layout_rules
from tvm.relax.op.declare import (
    ELEMENTWISE,
    FOLLOW,
    OPAQUE,
    OUT_FUSABLE,
    Array,
    Expr,
    Infer,
    attrs_class,
    real,
    relax_op,
    script_function,
    show_shape,
    topi,
    whole,
)
from tvm.relax.op.shapes import axis_index, check_float, common_dtype
from tvm.relax.op.unary import clip, elementwise, erf_numpy, te_erf
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo, const_int
from tvm.tir.op.arith import const as tir_const

SoftmaxAttrs = attrs_class("SoftmaxAttrs", "axis")
LeakyReluAttrs = attrs_class("LeakyReluAttrs", "alpha")
SoftplusAttrs = attrs_class("SoftplusAttrs", "beta", "threshold")
PReluAttrs = attrs_class("PReluAttrs", "axis")
DropoutAttrs = attrs_class("DropoutAttrs", "rate")

# Scaled exponential units (Klambauer et al., 2017): the fixed point of mean 0 and variance 1.
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def _float_numpy(rule: Callable[..., Array]) -> Callable[..., Array]:
    """Half floats are computed in single precision; the result has the operand's dtype."""

    def compute(x: Array, **options: Any) -> Array:
        small = x.dtype.itemsize < 4 and x.dtype.kind in "fV"
        return rule(x.astype(np.float32) if small else x, **options).astype(x.dtype)

    return compute


def _activation(
    name: str,
    doc: str,
    compute: Callable[[Any], Any],
    reference: Callable[..., Array],
    *,
    floats_only: bool = True,
    kernel: str = "",
) -> Any:
    """An activation; `compute` writes it in tensor expressions; `kernel` names the TIR function."""
    op = elementwise(f"nn.{name}", doc, "math.exp", _float_numpy(reference),
                     floats_only=floats_only, parameter="data")  # fmt: skip
    op.op.reset_attr("FLegalize")

    @op.legalize
    def te(bb: BlockBuilder, x: Expr) -> Expr:
        return bb.call_te(compute, x, primfunc_name_hint=kernel or name)

    return op


def _te_gelu(x: Any) -> Any:
    dtype = x.dtype
    inner = topi.multiply(x, tir_const(math.sqrt(0.5), dtype))
    curve = te_erf(inner)
    half = tir_const(0.5, dtype)
    return topi.multiply(x, topi.add(half, topi.multiply(curve, half)))


def _te_gelu_tanh(x: Any) -> Any:
    dtype = x.dtype
    slope, one = tir_const(math.sqrt(2 / math.pi), dtype), tir_const(1.0, dtype)
    square = topi.multiply(topi.multiply(tir_const(0.044715, dtype), x), x)
    inner = topi.multiply(topi.multiply(slope, x), topi.add(one, square))
    weight = topi.add(one, topi.tanh(inner))
    return topi.multiply(topi.multiply(tir_const(0.5, dtype), x), weight)


def _te_selu(x: Any) -> Any:
    dtype = x.dtype
    zero = tir_const(0.0, dtype)
    below = topi.subtract(topi.exp(x), tir_const(1.0, dtype))
    below = topi.minimum(zero, topi.multiply(tir_const(SELU_ALPHA, dtype), below))
    return topi.multiply(tir_const(SELU_SCALE, dtype), topi.add(topi.maximum(x, zero), below))


relu = _activation("relu", "max(x, 0) of each element.", lambda x: topi.nn.relu(x),
                   lambda x: np.maximum(x, 0), floats_only=False)  # fmt: skip
gelu = _activation(
    "gelu",
    "x times the normal distribution function of x. (Hendrycks and Gimpel, 2016)",
    _te_gelu,
    lambda x: x * 0.5 * (1 + erf_numpy(x * math.sqrt(0.5))),
)
gelu_tanh = _activation(
    "gelu_tanh",
    "gelu with the distribution function approximated by tanh.",
    _te_gelu_tanh,
    lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
)
selu = _activation(
    "selu",
    "Scaled exponential linear unit of each element.",
    _te_selu,
    lambda x: SELU_SCALE * (np.maximum(x, 0) + SELU_ALPHA * (np.exp(np.minimum(x, 0)) - 1)),
)
silu = _activation(
    "silu",
    "x * sigmoid(x) of each element.",
    lambda x: topi.multiply(x, topi.sigmoid(x)),
    lambda x: x / (1 + np.exp(-x)),
)


def relu6(data: ExprLike) -> Call:
    """min(max(x, 0), 6) of each element, which is a `clip`."""
    return clip(data, 0, 6)


script_function("nn.relu6", relu6)


@relax_op("relax.nn.leakyrelu", "data: Tensor", LeakyReluAttrs, pattern=ELEMENTWISE)
def leakyrelu(data: ExprLike, alpha: float = 0.01) -> Call:
    """x where it is positive, alpha * x elsewhere."""
    return leakyrelu.call(data, alpha=real(alpha, "alpha"))


@leakyrelu.infer
def _leakyrelu_info(ctx: Infer, data: TensorStructInfo, *, alpha: float) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    return data


@leakyrelu.legalize
def _leakyrelu_te(bb: BlockBuilder, data: Expr, *, alpha: float) -> Expr:
    return bb.call_te(topi.nn.leaky_relu, data, alpha, primfunc_name_hint="leaky_relu")


leakyrelu.reference(_float_numpy(lambda x, alpha: np.where(x > 0, x, alpha * x)))


@relax_op("relax.nn.softplus", "data: Tensor", SoftplusAttrs, pattern=ELEMENTWISE)
def softplus(data: ExprLike, beta: float = 1.0, threshold: float = 20.0) -> Call:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    return softplus.call(data, beta=real(beta, "beta"), threshold=real(threshold, "threshold"))


@softplus.infer
def _softplus_info(ctx: Infer, data: TensorStructInfo, **options: Any) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    return data


@softplus.legalize
def _softplus_te(bb: BlockBuilder, data: Expr, *, beta: float, threshold: float) -> Expr:
    return bb.call_te(topi.nn.softplus, data, beta, threshold)


@softplus.reference
@_float_numpy
def _softplus_numpy(x: Array, *, beta: float, threshold: float) -> Array:
    return np.where(beta * x > threshold, x, np.log1p(np.exp(np.minimum(beta * x, 80))) / beta)


@relax_op("relax.nn.prelu", "data: Tensor, alpha: Tensor", PReluAttrs, pattern=ELEMENTWISE)
def prelu(data: ExprLike, alpha: ExprLike, axis: int = 1) -> Call:
    """x where it is positive, alpha * x elsewhere, with one alpha, or one for each channel."""
    return prelu.call(data, alpha, axis=whole(axis))


@prelu.infer
def _prelu_info(
    ctx: Infer, data: TensorStructInfo, alpha: TensorStructInfo, *, axis: int
) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    if alpha.ndim not in (-1, 1):
        raise ctx.shape_error("alpha must have 1 dimension", f"{alpha.ndim}", "1")
    if data.ndim != -1:
        at = axis_index(ctx, axis, data.ndim) if data.ndim > 1 else 0
        if (
            data.values
            and alpha.values
            and const_int(alpha.values[0]) != 1
            and ctx.differ(data.values[at], alpha.values[0])
        ):
            raise ctx.shape_error(
                "alpha does not fit data", f"alpha {show_shape(alpha)}, data {show_shape(data)}"
            )
    return data


@prelu.legalize
def _prelu_te(bb: BlockBuilder, data: Expr, alpha: Expr, *, axis: int) -> Expr:
    return bb.call_te(topi.nn.prelu, data, alpha, axis)


@prelu.reference
def _prelu_numpy(data: Array, alpha: Array, *, axis: int) -> Array:
    shape = [1] * data.ndim
    shape[axis if data.ndim > 1 else 0] = alpha.shape[0]
    return np.where(data > 0, data, data * alpha.reshape(shape))


def _softmax_info(ctx: Infer, data: TensorStructInfo, *, axis: int) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    if data.ndim != -1:
        axis_index(ctx, axis, data.ndim)
    return data


@relax_op("relax.nn.softmax", "data: Tensor", SoftmaxAttrs, pattern=OUT_FUSABLE)
def softmax(data: ExprLike, axis: int = -1) -> Call:
    """exp(x) / sum(exp(x)) along `axis`."""
    return softmax.call(data, axis=whole(axis))


@relax_op("relax.nn.log_softmax", "data: Tensor", SoftmaxAttrs, pattern=OUT_FUSABLE)
def log_softmax(data: ExprLike, axis: int = -1) -> Call:
    """The logarithm of softmax along `axis`."""
    return log_softmax.call(data, axis=whole(axis))


softmax.infer(_softmax_info)
log_softmax.infer(_softmax_info)


@softmax.legalize
def _softmax_te(bb: BlockBuilder, data: Expr, *, axis: int) -> Expr:
    return bb.call_te(topi.nn.softmax, data, axis)


@log_softmax.legalize
def _log_softmax_te(bb: BlockBuilder, data: Expr, *, axis: int) -> Expr:
    return bb.call_te(topi.nn.log_softmax, data, axis)


def softmax_numpy(x: Array, *, axis: int) -> Array:
    """exp(x) / sum(exp(x)), the largest element taken off first."""
    power = np.exp(x - x.max(axis, keepdims=True))
    return power / power.sum(axis, keepdims=True)


softmax.reference(_float_numpy(softmax_numpy))


@log_softmax.reference
@_float_numpy
def _log_softmax_numpy(x: Array, *, axis: int) -> Array:
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


@relax_op("relax.nn.dropout", "data: Tensor", DropoutAttrs, pattern=OPAQUE, precision=FOLLOW)
def dropout(data: ExprLike, rate: float = 0.5) -> Call:
    """The tensor and a mask; while only inference is compiled, nothing is dropped."""
    return dropout.call(data, rate=real(rate, "rate"))


@dropout.infer
def _dropout_info(ctx: Infer, data: TensorStructInfo, *, rate: float) -> StructInfo:
    return TupleStructInfo((data, data))


@dropout.legalize
def _dropout_te(bb: BlockBuilder, data: Expr, *, rate: float) -> Expr:
    def mask(x: Any) -> Any:
        return topi.full(x.shape, x.dtype, 1)

    return Tuple((data, bb.normalize_argument(bb.call_te(mask, data, primfunc_name_hint="ones"))))


dropout.reference(lambda data, rate: (data, np.ones_like(data)))


@relax_op("relax.nn.cross_entropy_with_logits", "predictions: Tensor, labels: Tensor",
          pattern=OPAQUE)  # fmt: skip
def cross_entropy_with_logits(predictions: ExprLike, labels: ExprLike) -> Call:
    """-sum(predictions * labels), by sample and averaged where there is a batch."""
    return cross_entropy_with_logits.call(predictions, labels)


@cross_entropy_with_logits.infer
def _cross_entropy_info(
    ctx: Infer, predictions: TensorStructInfo, labels: TensorStructInfo
) -> TensorStructInfo:
    dtype = common_dtype(ctx, ("predictions", predictions), ("labels", labels))
    if -1 not in (predictions.ndim, labels.ndim) and predictions.ndim != labels.ndim:
        raise ctx.shape_error(
            "predictions and labels differ in dimensions", f"{predictions.ndim}, {labels.ndim}"
        )
    for a, b in zip(predictions.values or (), labels.values or ()):
        if ctx.differ(a, b):
            raise ctx.shape_error(
                "the shapes differ", f"{show_shape(predictions)}, {show_shape(labels)}"
            )
    return TensorStructInfo((), dtype)


@cross_entropy_with_logits.legalize
def _cross_entropy_te(bb: BlockBuilder, predictions: Expr, labels: Expr) -> Expr:
    def compute(x: Any, y: Any) -> Any:
        total = topi.multiply(topi.sum(topi.multiply(x, y)), tir_const(-1, x.dtype))
        if len(x.shape) > 1:
            total = topi.divide(total, x.shape[0].astype(x.dtype))
        return total

    return bb.call_te(compute, predictions, labels, primfunc_name_hint="cross_entropy_with_logits")


@cross_entropy_with_logits.reference
def _cross_entropy_numpy(predictions: Array, labels: Array) -> Array:
    total = -(predictions * labels).sum()
    total = total / predictions.shape[0] if predictions.ndim > 1 else total
    return np.asarray(total, predictions.dtype)

prelu.follow_layout(layout_rules.normalised)
softmax.layout(layout_rules.along_axis)
dropout.layout(layout_rules.with_mask)
leakyrelu.follow_layout(layout_rules.same)
softplus.follow_layout(layout_rules.same)
log_softmax.follow_layout(layout_rules.along_axis)
