"""Gradients of reductions and of running sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, PrimValue, Var
from tvm.relax.op.binary import add, divide, equal, logical_and, multiply, subtract
from tvm.relax.op.datatype import astype
from tvm.relax.op.declare import options_of
from tvm.relax.op.manipulate import broadcast_to, expand_dims, flatten, flip, permute_dims, reshape
from tvm.relax.op.search import where
from tvm.relax.op.statistical import cumprod, cumsum, mean
from tvm.relax.op.statistical import sum as sum_
from tvm.relax.shape_math import product
from tvm.relax.struct_info import const_int
from tvm.tir.expr import Cast

from .common import Expr, Rule, const, dtype_of, extents, gradient_of, shape, without_gradient


def axes_of(call: Call) -> list[int]:
    """The axes that a reduction goes over, counted from the front."""
    ndim = len(extents(call.args[0]))
    axis = options_of(call)["axis"]
    return list(range(ndim)) if axis is None else sorted(a % ndim for a in axis)


def spread(call: Call, value: Expr) -> Expr:
    """A value of the shape of the result in the shape of the operand."""
    return broadcast_to(kept(call, value), shape(call.args[0]))


def kept(call: Call, value: Expr) -> Expr:
    """A value of the shape of the result, with extent 1 where the operand was reduced."""
    options = options_of(call)
    if options["keepdims"] or options["axis"] is None:
        return value
    return expand_dims(value, options["axis"])


def count(call: Call) -> Expr:
    """How many elements make one of the result, in the data type of the operand."""
    x = call.args[0]
    values = extents(x)
    return number(product([values[a] for a in axes_of(call)]), x)


def number(value: PrimExpr, like: Expr) -> Expr:
    """An extent in the data type of `like`: a constant, or a symbolic number."""
    known = const_int(value)
    return PrimValue(Cast(dtype_of(like), value)) if known is None else const(known, like)


Formula = Callable[[Call, Expr, Expr, Expr], Expr]


def _reduction(name: str, formula: Formula) -> Rule:
    def rule(orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder) -> list[Expr]:
        return [formula(orig_call, orig_call.args[0], orig_var, output_grad)]

    rule.__name__ = rule.__qualname__ = f"{name}_grad"
    rule.__doc__ = f"Gradient of `{name}`."
    return gradient_of(f"relax.{name}")(rule)


def _deviation(call: Call, x: Expr) -> Expr:
    return subtract(x, mean(x, axes_of(call), keepdims=True))


def _of_variance(call: Call, x: Expr, y: Expr, g: Expr) -> Expr:
    values = extents(x)
    size = const_int(product([values[a] for a in axes_of(call)]))
    if size is not None:
        total = sum_(x, options_of(call)["axis"], keepdims=True)
        own = multiply(const(2 / size, x), x)
        return multiply(kept(call, g), subtract(own, multiply(const(2 / size / size, x), total)))
    scaled = divide(multiply(const(2, x), kept(call, g)), count(call))
    return multiply(scaled, _deviation(call, x))


def _of_std(call: Call, x: Expr, y: Expr, g: Expr) -> Expr:
    scaled = divide(kept(call, g), multiply(kept(call, y), count(call)))
    return multiply(scaled, _deviation(call, x))


def _of_extreme(call: Call, x: Expr, y: Expr, g: Expr) -> Expr:
    """Equal elements share the gradient."""
    hit = astype(equal(x, kept(call, y)), dtype_of(x))
    share = divide(kept(call, g), sum_(hit, axes_of(call), keepdims=True))
    return multiply(hit, share)


def _of_prod(call: Call, x: Expr, y: Expr, g: Expr) -> Expr:
    """The product of the others, from both ends: right where elements are zero, too."""
    axes = axes_of(call)
    values = extents(x)
    rest = [i for i in range(len(values)) if i not in axes]
    order = [*rest, *axes]
    flat = [*(values[i] for i in rest), product([values[i] for i in axes])]
    rows = reshape(permute_dims(x, order), flat)
    last = len(rest)
    before = cumprod(rows, last, exclusive=True)
    after = flip(cumprod(flip(rows, last), last, exclusive=True), last)
    others = reshape(multiply(before, after), [values[i] for i in order])
    back = permute_dims(others, [order.index(i) for i in range(len(order))])
    return multiply(back, kept(call, g))


sum_grad = _reduction("sum", lambda call, x, y, g: spread(call, g))
mean_grad = _reduction("mean", lambda call, x, y, g: spread(call, divide(g, count(call))))
variance_grad = _reduction("variance", _of_variance)
std_grad = _reduction("std", _of_std)
max_grad = _reduction("max", _of_extreme)
min_grad = _reduction("min", _of_extreme)
prod_grad = _reduction("prod", _of_prod)
argmax_grad = without_gradient("argmax")
argmin_grad = without_gradient("argmin")


def _from_the_end(call: Call, values: Expr, **options: Any) -> Expr:
    """The running sum from the last element to each."""
    axis = options_of(call)["axis"]
    axis = 0 if axis is None else axis
    return flip(cumsum(flip(values, axis), axis, **options), axis)


def _of_cumsum(call: Call, x: Expr, y: Expr, g: Expr) -> Expr:
    axis = options_of(call)["axis"]
    if not options_of(call)["exclusive"]:
        before = subtract(sum_(g, axis, keepdims=True), cumsum(g, axis))
        if axis is None:
            return astype(reshape(add(before, flatten(g)), shape(x)), dtype_of(x))
        return astype(add(before, g), dtype_of(x))
    back = _from_the_end(call, g, exclusive=options_of(call)["exclusive"])
    return _in_shape_of(call, x, back)


def _of_cumprod(call: Call, x: Expr, y: Expr, g: Expr) -> Expr:
    """Before the first zero each product is divided by the element.

    The first zero itself gets the products without it; nothing behind it gets any.
    """
    options = {"exclusive": options_of(call)["exclusive"]}
    axis = options_of(call)["axis"]
    flat = astype(x if axis is not None else reshape(x, [-1]), dtype_of(g))
    along = 0 if axis is None else axis
    zero, one = const(0, g), const(1, g)
    is_zero = equal(flat, zero)
    zeros_so_far = cumsum(astype(is_zero, "int32"), along)
    first = logical_and(is_zero, equal(zeros_so_far, Constant(np.asarray(1, np.int32))))
    others = cumprod(where(first, one, flat), along, **options)
    before = divide(_from_the_end(call, multiply(g, y), **options), where(is_zero, one, flat))
    at_zero = _from_the_end(call, multiply(g, others), **options)
    return _in_shape_of(call, x, where(first, at_zero, where(is_zero, zero, before)))


def _in_shape_of(call: Call, x: Expr, grad: Expr) -> Expr:
    grad = grad if options_of(call)["axis"] is not None else reshape(grad, shape(x))
    return grad if options_of(call)["dtype"] in ("void", dtype_of(x)) else astype(grad, dtype_of(x))


cumsum_grad = _reduction("cumsum", _of_cumsum)
cumprod_grad = _reduction("cumprod", _of_cumprod)
