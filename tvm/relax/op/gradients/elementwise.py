"""Gradients of operators on elements; broadcast operands get the sum over what was broadcast."""

from __future__ import annotations

import math

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, PrimValue, Var
from tvm.relax.op.binary import (
    add,
    divide,
    floor_divide,
    greater,
    greater_equal,
    less,
    logical_or,
    multiply,
    power,
    subtract,
)
from tvm.relax.op.datatype import astype
from tvm.relax.op.search import where
from tvm.relax.op.ternary import ewise_fma
from tvm.relax.op.unary import cos, cosh, exp, floor, log, negative, sin, sinh, sqrt, trunc
from tvm.relax.struct_info import PrimStructInfo, TensorStructInfo
from tvm.tir.expr import FloatImm, IntImm

from .common import (
    Expr,
    binary,
    const,
    dtype_of,
    elementwise,
    fit,
    gradient_of,
    no_grads,
    refuse,
    without_gradient,
)


def _squared(x: Expr) -> Expr:
    return multiply(x, x)


def _quotient(x: Expr, y: Expr) -> Expr:
    """x / y rounded toward minus infinity, as `floor_mod` takes it."""
    return floor(divide(x, y)) if dtype_of(x).is_floating else floor_divide(x, y)


# --- two operands ---

add_grad = binary("add", lambda x, y, z, g: (g, g))
subtract_grad = binary("subtract", lambda x, y, z, g: (g, negative(g)))
multiply_grad = binary("multiply", lambda x, y, z, g: (multiply(g, y), multiply(g, x)))
divide_grad = binary(
    "divide", lambda x, y, z, g: (divide(g, y), divide(multiply(negative(g), z), y))
)
power_grad = binary(
    "power",
    lambda x, y, z, g: (
        multiply(multiply(g, y), power(x, subtract(y, _one(x, y)))),
        multiply(multiply(g, z), log(x)),
    ),
)
maximum_grad = binary(
    "maximum",
    lambda x, y, z, g: (
        where(less(x, y), _zero(g), g),
        where(greater_equal(x, y), _zero(g), g),
    ),
)
minimum_grad = binary(
    "minimum",
    lambda x, y, z, g: (
        where(greater_equal(x, y), _zero(g), g),
        where(less(x, y), _zero(g), g),
    ),
)
mod_grad = binary("mod", lambda x, y, z, g: (g, negative(multiply(g, trunc(divide(x, y))))))
floor_mod_grad = binary(
    "floor_mod", lambda x, y, z, g: (g, negative(multiply(g, _quotient(x, y))))
)
log_add_exp_grad = binary(
    "log_add_exp",
    lambda x, y, z, g: (
        multiply(g, exp(subtract(x, z))),
        multiply(g, exp(subtract(y, z))),
    ),
)
floor_divide_grad = without_gradient("floor_divide")
equal_grad = without_gradient("equal")
greater_grad = without_gradient("greater")
greater_equal_grad = without_gradient("greater_equal")
less_grad = without_gradient("less")
less_equal_grad = without_gradient("less_equal")
not_equal_grad = without_gradient("not_equal")
for _name in ("and", "or", "xor"):
    without_gradient(f"logical_{_name}")
    without_gradient(f"bitwise_{_name}")
for _name in ("left_shift", "right_shift", "bitwise_not", "logical_not"):
    without_gradient(_name)


def _zero(g: Expr) -> Expr:
    return const(0, g)


def _one(x: Expr, y: Expr) -> Expr:
    """The number 1 in the type of the operands, of which one may be a number."""
    return const(1, x if isinstance(x.struct_info, TensorStructInfo) else y)


# --- one operand ---

abs_grad = elementwise(
    "abs",
    lambda x, y, g: multiply(
        g, where(less(x, const(0, x)), negative(const(1, x)), const(1, x))
    ),
)
acos_grad = elementwise(
    "acos", lambda x, y, g: negative(divide(g, sqrt(subtract(const(1, x), _squared(x)))))
)
acosh_grad = elementwise(
    "acosh", lambda x, y, g: divide(g, sqrt(subtract(_squared(x), const(1, x))))
)
asin_grad = elementwise(
    "asin", lambda x, y, g: divide(g, sqrt(subtract(const(1, x), _squared(x))))
)
asinh_grad = elementwise("asinh", lambda x, y, g: divide(g, sqrt(add(_squared(x), const(1, x)))))
atan_grad = elementwise("atan", lambda x, y, g: divide(g, add(_squared(x), const(1, x))))
atanh_grad = elementwise("atanh", lambda x, y, g: divide(g, subtract(const(1, x), _squared(x))))
cos_grad = elementwise("cos", lambda x, y, g: multiply(negative(g), sin(x)))
cosh_grad = elementwise("cosh", lambda x, y, g: multiply(g, sinh(x)))
erf_grad = elementwise(
    "erf",
    lambda x, y, g: multiply(
        multiply(g, const(2 / math.sqrt(math.pi), x)), exp(negative(_squared(x)))
    ),
)
exp_grad = elementwise("exp", lambda x, y, g: multiply(g, y))
log_grad = elementwise("log", lambda x, y, g: divide(g, x))
negative_grad = elementwise("negative", lambda x, y, g: negative(g))
rsqrt_grad = elementwise(
    "rsqrt", lambda x, y, g: multiply(multiply(g, const(-0.5, x)), multiply(y, _squared(y)))
)
sigmoid_grad = elementwise(
    "sigmoid", lambda x, y, g: multiply(multiply(g, y), subtract(const(1, x), y))
)
sin_grad = elementwise("sin", lambda x, y, g: multiply(g, cos(x)))
sinh_grad = elementwise("sinh", lambda x, y, g: multiply(g, cosh(x)))
sqrt_grad = elementwise("sqrt", lambda x, y, g: divide(multiply(const(0.5, x), g), y))
square_grad = elementwise("square", lambda x, y, g: multiply(multiply(g, const(2, x)), x))
tan_grad = elementwise("tan", lambda x, y, g: multiply(g, add(_squared(y), const(1, x))))
tanh_grad = elementwise("tanh", lambda x, y, g: multiply(g, subtract(const(1, x), _squared(y))))
astype_grad = elementwise("astype", lambda x, y, g: astype(g, dtype_of(x)))
wrap_param_grad = elementwise("wrap_param", lambda x, y, g: astype(g, dtype_of(x)))
for _name in ("ceil", "floor", "round", "sign", "trunc", "isfinite", "isinf", "isnan"):
    without_gradient(_name)


# --- more operands ---


def _number(call: Call, bound: Expr) -> float:
    value = bound.value if isinstance(bound, PrimValue) else None
    info = bound.struct_info_
    if value is None and isinstance(info, PrimStructInfo):
        value = info.value
    if not isinstance(value, (IntImm, FloatImm)):
        raise refuse(call, f"the bound {bound}", "bounds that are numbers")
    return value.value


@gradient_of("relax.clip")
def clip_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `clip`: it flows where the element was not changed."""
    x, low, high = orig_call.args
    below = less(x, const(_number(orig_call, low), x))
    above = greater(x, const(_number(orig_call, high), x))
    grad = where(logical_or(below, above), _zero(output_grad), output_grad)
    return [grad, *no_grads((low, high))]


@ewise_fma.gradient
def ewise_fma_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of x1 * x2 + x3."""
    x1, x2, x3 = orig_call.args
    g = output_grad
    return [fit(ctx, multiply(g, x2), x1), fit(ctx, multiply(g, x1), x2), fit(ctx, g, x3)]


@gradient_of("relax.where")
def where_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `where`: each flows where its operand was chosen."""
    condition, x1, x2 = orig_call.args
    zero = _zero(output_grad)
    first = fit(ctx, where(condition, output_grad, zero), x1)
    second = fit(ctx, where(condition, zero, output_grad), x2)
    return [*no_grads((condition,)), first, second]
