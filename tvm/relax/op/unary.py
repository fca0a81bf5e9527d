"""Operators on each element of one tensor: f(x), the shape stays."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.struct_info import PrimStructInfo, TensorStructInfo
from tvm.support.dtype import DataType

from . import layout_rules
from .declare import ELEMENTWISE, FOLLOW, Array, Expr, Infer, RelaxOp, relax_op, topi
from .shapes import check_float, with_dtype

Unary = RelaxOp[[ExprLike]]
BOOL = DataType("bool")


def elementwise(
    name: str,
    doc: str,
    compute: str | Callable[[Any], Any],
    reference: Callable[..., Any],
    *,
    floats_only: bool = False,
    result: DataType | None = None,
    parameter: Literal["x", "data"] = "x",
    kernel: str = "",
) -> Unary:
    """An operator of one operand whose result has the operand's shape.

    `compute` names the function of `tvm.topi`, or is one itself; `result` is the dtype where it is
    not the operand's; `kernel` names the TIR function, `tir_exp` where nothing is given: a plain
    `exp` would be the name of a function in the C code of the host.
    """

    def of_x(x: ExprLike) -> Call:
        return op.call(x)

    def of_data(data: ExprLike) -> Call:
        return op.call(data)

    kernel = kernel or f"tir_{name.rpartition('.')[2]}"
    build: Callable[..., Call] = of_x if parameter == "x" else of_data
    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__doc__ = doc
    op = relax_op(
        f"relax.{name}", f"{parameter}: Tensor", pattern=ELEMENTWISE, precision=FOLLOW
    )(build)

    @op.infer
    def info(ctx: Infer, x: TensorStructInfo) -> TensorStructInfo:
        if floats_only:
            check_float(ctx, parameter, x.dtype)
        return x if result is None else with_dtype(x, result)

    @op.legalize
    def te(bb: BlockBuilder, x: Expr) -> Expr:
        rule = attrgetter(compute)(topi) if isinstance(compute, str) else compute
        return bb.call_te(rule, x, primfunc_name_hint=kernel)

    op.layout(layout_rules.same)
    op.reference(reference)
    return op


def _in_dtype(rule: Callable[..., Array]) -> Callable[..., Array]:
    """numpy computes half floats in single precision here, and gives back the operand's dtype."""

    def compute(x: Array) -> Array:
        small = x.dtype.itemsize < 4 and x.dtype.kind in "fV"
        with np.errstate(all="ignore"):  # log(0) is minus infinity, as in a kernel
            return rule(x.astype(np.float32) if small else x).astype(x.dtype)

    return compute


def erf_numpy(x: Array) -> Array:
    """The error function by its series near zero and by its continued fraction far from it."""
    import math  # Python's own, element by element: numpy has none

    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def te_erf(x: Any) -> Any:
    """The error function of a tensor; half floats, which lose its tail, in single precision."""
    if x.dtype != "float16":
        return topi.erf(x)
    return topi.cast(topi.erf(topi.cast(x, "float32")), "float16")


def _floats(name: str, doc: str, reference: Callable[..., Any]) -> Unary:
    return elementwise(name, doc, name, _in_dtype(reference), floats_only=True)


def _any(name: str, doc: str, reference: Callable[..., Any]) -> Unary:
    return elementwise(name, doc, name, _in_dtype(reference))


abs = _any("abs", "Absolute value of each element.", np.abs)
acos = _floats("acos", "Inverse cosine of each element.", np.arccos)
acosh = _floats("acosh", "Inverse hyperbolic cosine of each element.", np.arccosh)
asin = _floats("asin", "Inverse sine of each element.", np.arcsin)
asinh = _floats("asinh", "Inverse hyperbolic sine of each element.", np.arcsinh)
atan = _floats("atan", "Inverse tangent of each element.", np.arctan)
atanh = _floats("atanh", "Inverse hyperbolic tangent of each element.", np.arctanh)
bitwise_not = elementwise("bitwise_not", "The bits of each element inverted.", "bitwise_not",
                          np.invert)  # fmt: skip
ceil = _any("ceil", "The least integer that is not below each element.", np.ceil)
cos = _floats("cos", "Cosine of each element.", np.cos)
cosh = _floats("cosh", "Hyperbolic cosine of each element.", np.cosh)
exp = _floats("exp", "e to the power of each element.", np.exp)
floor = _any("floor", "The greatest integer that is not above each element.", np.floor)
log = _floats("log", "Natural logarithm of each element.", np.log)
logical_not = elementwise("logical_not", "True where the element is false.", "logical_not",
                          lambda x: np.logical_not(x).astype(x.dtype))  # fmt: skip
negative = _any("negative", "Each element with its sign changed.", np.negative)
round = _any("round", "Each element rounded to the nearest integer, halves to even.", np.round)
rsqrt = _floats("rsqrt", "1 / sqrt(x) of each element.", lambda x: 1 / np.sqrt(x))
sigmoid = _floats("sigmoid", "1 / (1 + exp(-x)) of each element.",
                  lambda x: 1 / (1 + np.exp(-x)))  # fmt: skip
sign = _any("sign", "-1, 0 or 1, the sign of each element; 0 of NaN.",
            lambda x: np.greater(x, 0).astype(x.dtype) - np.less(x, 0).astype(x.dtype))  # fmt: skip
sin = _floats("sin", "Sine of each element.", np.sin)
sinh = _floats("sinh", "Hyperbolic sine of each element.", np.sinh)
sqrt = _floats("sqrt", "Square root of each element.", np.sqrt)
tan = _floats("tan", "Tangent of each element.", np.tan)
tanh = _floats("tanh", "Hyperbolic tangent of each element.", np.tanh)
trunc = _any("trunc", "Each element rounded toward zero.", np.trunc)
erf = elementwise("erf", "The error function of each element.", te_erf, _in_dtype(erf_numpy),
                  floats_only=True, kernel="erf")  # fmt: skip
isfinite = elementwise("isfinite", "True where the element is finite.", "isfinite", np.isfinite,
                       result=BOOL)  # fmt: skip
isinf = elementwise("isinf", "True where the element is infinite.", "isinf", np.isinf, result=BOOL)
isnan = elementwise("isnan", "True where the element is not a number.", "isnan", np.isnan,
                    result=BOOL)  # fmt: skip


@relax_op("relax.square", "x: Tensor", pattern=ELEMENTWISE, precision=FOLLOW)
def square(x: ExprLike) -> Call:
    """Each element times itself."""
    return square.call(x)


@square.infer
def _square_info(ctx: Infer, x: TensorStructInfo) -> TensorStructInfo:
    return x


@square.legalize
def _square_te(bb: BlockBuilder, x: Expr) -> Expr:
    return bb.call_te(lambda te_x: topi.multiply(te_x, te_x), x, primfunc_name_hint="tir_square")


square.reference(lambda x: x * x)


@relax_op("relax.clip", "x: Tensor, min: Prim, max: Prim", pattern=ELEMENTWISE)
def clip(x: ExprLike, min: ExprLike, max: ExprLike) -> Call:
    """Each element, or `min` where it is below, or `max` where it is above."""
    return clip.call(x, min, max)


@clip.infer
def _clip_info(
    ctx: Infer, x: TensorStructInfo, min: PrimStructInfo, max: PrimStructInfo
) -> TensorStructInfo:
    return x


@clip.legalize
def _clip_te(bb: BlockBuilder, x: Expr, min: Expr, max: Expr) -> Expr:
    return bb.call_te(topi.clip, x, min, max, primfunc_name_hint="tir_clip")


@clip.reference
def _clip_reference(x: Array, min: float, max: float) -> Array:
    """The lower limit wins where they are the wrong way round; x need not hold them."""
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        min, max = (int(np.clip(limit, info.min, info.max)) for limit in (min, max))
    return np.maximum(np.minimum(x, max), min).astype(x.dtype)


square.layout(layout_rules.same)
clip.follow_layout(layout_rules.same)
