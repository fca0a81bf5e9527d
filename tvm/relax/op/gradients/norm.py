"""Gradients of normalisations: what a row's mean and deviation take is given back.

With n = (x - mean) / deviation and h the gradient of n, the gradient of x is
(h - mean(h) - n * mean(h * n)) / deviation, the means going over what was normalised.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, TupleGetItem, Var
from tvm.relax.op.binary import add, divide, multiply, subtract
from tvm.relax.op.declare import options_of
from tvm.relax.op.grad.grad import no_grad
from tvm.relax.op.manipulate import reshape
from tvm.relax.op.statistical import mean, variance
from tvm.relax.op.statistical import sum as sum_
from tvm.relax.op.unary import negative, rsqrt
from tvm.relax.shape_math import product, simplify

from .common import Expr, const, extents, gradient_of, refuse
from .reduction import number


def _along(parameter: Expr, ndim: int, axes: Sequence[int]) -> Expr:
    """A parameter shaped so that it broadcasts along the axes."""
    values = iter(extents(parameter))
    return reshape(parameter, [next(values) if i in axes else 1 for i in range(ndim)])


def _normalised(x: Expr, axes: list[int], epsilon: float) -> tuple[Expr, Expr]:
    """x less its mean, divided by its deviation; and 1 / deviation."""
    scale = rsqrt(add(variance(x, axes, keepdims=True), const(epsilon, x)))
    return multiply(subtract(x, mean(x, axes, keepdims=True)), scale), scale


def _back(inner: Expr, normal: Expr, scale: Expr, axes: list[int], centred: bool = True) -> Expr:
    """The gradient of x from that of the normalised."""
    along = multiply(normal, mean(multiply(inner, normal), axes, keepdims=True))
    if centred:
        inner = subtract(inner, mean(inner, axes, keepdims=True))
    return multiply(subtract(inner, along), scale)


def _total(value: Expr, parameter: Expr, ndim: int, axes: Sequence[int]) -> Expr:
    """The sum over all dimensions but those of the parameter."""
    others = [i for i in range(ndim) if i not in axes]
    return reshape(sum_(value, others) if others else value, list(extents(parameter)))


def _affine(
    call: Call, g: Expr, normal: Expr, ndim: int, axes: Sequence[int]
) -> tuple[Expr, list[Expr]]:
    """The gradient of the normalised, and those of gamma and beta."""
    _, gamma, beta = call.args[:3]
    o = options_of(call)
    inner = multiply(g, _along(gamma, ndim, axes)) if o["scale"] else g
    shares = [
        _total(multiply(g, normal), gamma, ndim, axes) if o["scale"] else no_grad(gamma),
        _total(g, beta, ndim, axes) if o["center"] else no_grad(beta),
    ]
    return inner, shares


@gradient_of("relax.nn.layer_norm")
def layer_norm_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `layer_norm`."""
    x = orig_call.args[0]
    o = options_of(orig_call)
    ndim = len(extents(x))
    axes = [a % ndim for a in o["axes"]]
    if axes != sorted(axes):
        raise refuse(orig_call, f"axes {list(o['axes'])}", "axes in ascending order")
    normal, scale = _normalised(x, axes, o["epsilon"])
    inner, shares = _affine(orig_call, output_grad, normal, ndim, axes)
    return [_back(inner, normal, scale, axes), *shares]


@gradient_of("relax.nn.instance_norm")
def instance_norm_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `instance_norm`."""
    x = orig_call.args[0]
    o = options_of(orig_call)
    ndim = len(extents(x))
    axes = [a % ndim for a in o["axes"]]
    normal, scale = _normalised(x, axes, o["epsilon"])
    channel = [o["channel_axis"] % ndim]
    inner, shares = _affine(orig_call, output_grad, normal, ndim, channel)
    return [_back(inner, normal, scale, axes), *shares]


@gradient_of("relax.nn.group_norm")
def group_norm_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `group_norm`: the channels of a group are a dimension of their own."""
    x = orig_call.args[0]
    o = options_of(orig_call)
    values = list(extents(x))
    ndim, channel, groups = len(values), o["channel_axis"] % len(values), o["num_groups"]
    size = simplify(values[channel] // groups)
    split = [*values[:channel], groups, size, *values[channel + 1 :]]
    over = [channel + 1, *(a + (a > channel) for a in (a % ndim for a in o["axes"]))]
    normal, scale = _normalised(reshape(x, split), over, o["epsilon"])
    inner, shares = _affine(orig_call, output_grad, reshape(normal, values), ndim, [channel])
    grad = _back(reshape(inner, split), normal, scale, over)
    return [reshape(grad, values), *shares]


@gradient_of("relax.nn.rms_norm")
def rms_norm_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `rms_norm`: as of `layer_norm`, without the mean."""
    x, weight = orig_call.args
    o = options_of(orig_call)
    ndim = len(extents(x))
    axes = [a % ndim for a in o["axes"]]
    if axes != sorted(axes):
        raise refuse(orig_call, f"axes {list(o['axes'])}", "axes in ascending order")
    square = mean(multiply(x, x), axes, keepdims=True)
    scale = rsqrt(add(square, const(o["epsilon"], x)))
    normal = multiply(x, scale)
    inner = multiply(output_grad, _along(weight, ndim, axes))
    share = _total(multiply(output_grad, normal), weight, ndim, axes)
    return [_back(inner, normal, scale, axes, centred=False), share]


@gradient_of("relax.nn.batch_norm")
def batch_norm_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `batch_norm`: in training as of `layer_norm`, over all but the channels."""
    x, _, _, moving_mean, moving_var = orig_call.args
    o = options_of(orig_call)
    values = extents(x)
    ndim, channel = len(values), o["axis"] % len(values)
    others = [i for i in range(ndim) if i != channel]
    g, of_mean, of_var = (TupleGetItem(output_grad, i) for i in range(3))
    if not o["training"]:
        mean_, var = (_along(m, ndim, [channel]) for m in (moving_mean, moving_var))
        scale: Expr = rsqrt(add(var, const(o["epsilon"], x)))
        normal: Expr = multiply(subtract(x, mean_), scale)
        inner, shares = _affine(orig_call, g, normal, ndim, [channel])
        scaled = multiply(inner, scale)
        # the deviation of the moving variance: -1/2 of n / (var + epsilon)
        square = multiply(const(-0.5, x), multiply(scale, scale))
        by_var: Expr = multiply(multiply(inner, normal), square)
        return [
            scaled, *shares,
            add(of_mean, negative(_total(scaled, moving_mean, ndim, [channel]))),
            add(of_var, _total(by_var, moving_var, ndim, [channel])),
        ]  # fmt: skip
    normal, scale = _normalised(x, others, o["epsilon"])
    inner, shares = _affine(orig_call, g, normal, ndim, [channel])
    grad = _back(inner, normal, scale, others)
    # what the new statistics take of the batch's
    share, kept = const(o["momentum"], x), const(1 - o["momentum"], x)
    count = number(product([values[i] for i in others]), x)
    by_mean = divide(multiply(_along(of_mean, ndim, [channel]), share), count)
    away = subtract(x, mean(x, others, keepdims=True))
    by_var = divide(multiply(_along(of_var, ndim, [channel]), multiply(share, const(2, x))), count)
    by_var = multiply(by_var, away)
    return [
        add(grad, add(by_mean, by_var)), *shares, multiply(of_mean, kept), multiply(of_var, kept)
    ]
