"""Gradients of activations and losses."""

from __future__ import annotations

import math

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Var
from tvm.relax.op.binary import add, divide, greater, less, multiply, subtract
from tvm.relax.op.datatype import astype
from tvm.relax.op.declare import options_of
from tvm.relax.op.grad.grad import nll_loss_backward
from tvm.relax.op.manipulate import reshape
from tvm.relax.op.nn.activation import SELU_ALPHA, SELU_SCALE
from tvm.relax.op.qdq import dequantize
from tvm.relax.op.search import where
from tvm.relax.op.statistical import sum as sum_
from tvm.relax.op.unary import erf, exp, negative, sigmoid, tanh
from tvm.relax.struct_info import const_int

from .common import Expr, const, dtype_of, elementwise, extents, gradient_of, no_grads
from .reduction import number

relu_grad = elementwise(
    "nn.relu", lambda x, y, g: where(less(x, const(0, x)), const(0, g), g)
)


def _silu(x: Expr, y: Expr, g: Expr) -> Expr:
    share = sigmoid(x)
    return multiply(g, add(share, multiply(y, subtract(const(1, x), share))))


silu_grad = elementwise("nn.silu", _silu)


def _gelu(x: Expr, y: Expr, g: Expr) -> Expr:
    """The normal distribution function, plus x times its density."""
    below = multiply(const(0.5, x), add(const(1, x), erf(multiply(x, const(math.sqrt(0.5), x)))))
    density = exp(multiply(const(-0.5, x), multiply(x, x)))
    density = multiply(density, const(1 / math.sqrt(2 * math.pi), x))
    return multiply(g, add(below, multiply(x, density)))


def _gelu_tanh(x: Expr, y: Expr, g: Expr) -> Expr:
    slope = math.sqrt(2 / math.pi)
    square = multiply(x, x)
    inner = multiply(x, add(const(slope, x), multiply(const(slope * 0.044715, x), square)))
    curve = tanh(inner)
    rise = add(const(slope, x), multiply(const(3 * slope * 0.044715, x), square))
    change = multiply(multiply(x, subtract(const(1, x), multiply(curve, curve))), rise)
    return multiply(g, multiply(const(0.5, x), add(add(const(1, x), curve), change)))


def _selu(x: Expr, y: Expr, g: Expr) -> Expr:
    below = multiply(const(SELU_SCALE * SELU_ALPHA, x), exp(x))
    return multiply(g, where(greater(x, const(0, x)), const(SELU_SCALE, x), below))


gelu_grad = elementwise("nn.gelu", _gelu)
gelu_tanh_grad = elementwise("nn.gelu_tanh", _gelu_tanh)
selu_grad = elementwise("nn.selu", _selu)


@gradient_of("relax.nn.leakyrelu")
def leakyrelu_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `leakyrelu`."""
    x = orig_call.args[0]
    below = multiply(output_grad, const(options_of(orig_call)["alpha"], x))
    return [where(greater(x, const(0, x)), output_grad, below)]


@gradient_of("relax.nn.softplus")
def softplus_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `softplus`."""
    x = orig_call.args[0]
    o = options_of(orig_call)
    scaled = multiply(x, const(o["beta"], x))
    curve = multiply(output_grad, sigmoid(scaled))
    return [where(greater(scaled, const(o["threshold"], x)), output_grad, curve)]


@gradient_of("relax.nn.prelu")
def prelu_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `prelu`: each slope gets the sum over its channel."""
    x, alpha = orig_call.args
    ndim = len(extents(x))
    axis = options_of(orig_call)["axis"] % ndim if ndim > 1 else 0
    slopes = reshape(alpha, [extents(alpha)[0] if i == axis else 1 for i in range(ndim)])
    positive = greater(x, const(0, x))
    grad = where(positive, output_grad, multiply(output_grad, slopes))
    share = where(positive, const(0, x), multiply(output_grad, x))
    total = sum_(share, [i for i in range(ndim) if i != axis]) if ndim > 1 else share
    if const_int(extents(alpha)[0]) == 1:
        total = reshape(sum_(share), [1])
    return [grad, total]


@gradient_of("relax.nn.softmax")
def softmax_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `softmax`: (g - sum(g * y)) * y."""
    axis = options_of(orig_call)["axis"]
    total = sum_(multiply(output_grad, orig_var), axis, keepdims=True)
    return [multiply(subtract(output_grad, total), orig_var)]


@gradient_of("relax.nn.log_softmax")
def log_softmax_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `log_softmax`: g - sum(g) * exp(y)."""
    axis = options_of(orig_call)["axis"]
    total = sum_(output_grad, axis, keepdims=True)
    return [subtract(output_grad, multiply(total, exp(orig_var)))]


@gradient_of("relax.nn.cross_entropy_with_logits")
def cross_entropy_with_logits_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of -sum(predictions * labels) / batch."""
    predictions, labels = orig_call.args
    values = extents(predictions)
    grad: Expr = output_grad
    if len(values) > 1:
        grad = divide(output_grad, number(values[0], predictions))
    return [multiply(negative(grad), labels), multiply(negative(grad), predictions)]


@gradient_of("relax.nn.nll_loss")
def nll_loss_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `nll_loss` for the predictions."""
    predictions, targets, *weights = orig_call.args
    o = options_of(orig_call)
    grad = nll_loss_backward(
        output_grad, predictions, targets, weights[0] if weights else None, o["reduction"],
        o["ignore_index"],
    )  # fmt: skip
    return [grad, *no_grads((targets, *weights))]


@dequantize.gradient
def dequantize_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `dequantize` for the scale; data and zero point are integers."""
    data, scale, zero_point = orig_call.args
    ndim = len(extents(data))
    axis = options_of(orig_call)["axis"] % max(ndim, 1)
    zero = astype(zero_point, dtype_of(scale))
    if extents(zero_point):
        zero = reshape(zero, [extents(zero_point)[0] if i == axis else 1 for i in range(ndim)])
    moved = subtract(astype(data, dtype_of(scale)), zero)
    share = multiply(astype(output_grad, dtype_of(scale)), moved)
    others = [i for i in range(ndim) if i != axis or not extents(scale)]
    total = sum_(share, others) if others else share
    return [*no_grads((data,)), total, *no_grads((zero_point,))]
