"""Functions of each element, of one tensor or of several."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tvm import tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import const
from tvm.relax.frontend import special

from .dtypes import category, dtype_name, is_float
from .registry import convert
from .sizes import SIZE_OPS, sym_ceil, sym_int
from .values import (
    Expr,
    cast,
    common_dtype,
    dtype_of,
    floating,
    matched,
    matched_floats,
    rank,
    refuse,
    same,
    scalar,
    sizes,
    tensor_of,
)

_FLOATS: Final = {
    "acos": op.acos, "acosh": op.acosh, "asin": op.asin, "asinh": op.asinh, "atan": op.atan,
    "atanh": op.atanh, "cos": op.cos, "cosh": op.cosh, "erf": op.erf, "exp": op.exp,
    "log": op.log, "rsqrt": op.rsqrt, "sigmoid": op.sigmoid, "sin": op.sin, "sinh": op.sinh,
    "sqrt": op.sqrt, "tan": op.tan, "tanh": op.tanh,
}  # fmt: skip
_ALIASES: Final = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atanh": "arctanh", "erf": "special_erf", "sigmoid": "special_expit",
}  # fmt: skip


def _declare_floats() -> None:
    def function(rule: Callable[[Expr], Expr], bb: BlockBuilder, input: Expr) -> Expr:
        return rule(floating(bb, input))

    for name, rule in _FLOATS.items():
        names = [name, _ALIASES[name]] if name in _ALIASES else [name]
        convert(*names)(partial(function, rule))


_declare_floats()


@convert("abs", "absolute")
def absolute(bb: BlockBuilder, input: Expr) -> Any:
    return op.abs(input) if isinstance(input, RelaxExpr) else abs(input)


@convert("neg", "negative")
def neg(bb: BlockBuilder, input: Expr) -> Any:
    return op.negative(input) if isinstance(input, RelaxExpr) else -input


@convert("pos", "positive")
def pos(bb: BlockBuilder, input: Any) -> Any:
    return input


@convert("ceil")
def ceil(bb: BlockBuilder, input: Any) -> Any:
    if not isinstance(input, RelaxExpr):
        return sym_ceil(bb, input)
    return op.ceil(input)


@convert("floor")
def floor(bb: BlockBuilder, input: Any) -> Any:
    if not isinstance(input, RelaxExpr):
        return sym_int(bb, input)
    return op.floor(input)


@convert("trunc", "fix")
def trunc(bb: BlockBuilder, input: Any) -> Any:
    if not isinstance(input, RelaxExpr):
        return sym_int(bb, input)
    return op.trunc(input)


@convert("round")
def round_(bb: BlockBuilder, input: Expr, decimals: int = 0) -> Expr:
    """Halves go to the even neighbour."""
    if decimals == 0:
        return op.round(input)
    if not is_float(dtype_of(input)):
        return input
    scale = scalar(10.0 ** abs(decimals), dtype_of(input))
    if decimals > 0:
        return op.divide(op.round(op.multiply(input, scale)), scale)
    return op.multiply(op.round(op.divide(input, scale)), scale)


@convert("sign", "sgn")
def sign(bb: BlockBuilder, input: Expr) -> Expr:
    return input if dtype_of(input) == "bool" else op.sign(input)


@convert("signbit")
def signbit(bb: BlockBuilder, input: Expr) -> Expr:
    """Truth of a sign; a zero's own sign shows in its reciprocal."""
    zero = scalar(0, dtype_of(input))
    if not is_float(dtype_of(input)):
        return op.less(input, zero)
    below = op.less(op.divide(scalar(1.0, dtype_of(input)), input), zero)
    return op.where(op.equal(input, zero), below, op.less(input, zero))


@convert("square")
def square(bb: BlockBuilder, input: Expr) -> Expr:
    """Squares of truth values are integers."""
    return op.square(cast(bb, input, "int64") if dtype_of(input) == "bool" else input)


@convert("reciprocal")
def reciprocal(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.divide(scalar(1.0, dtype_of(x)), x)


@convert("exp2", "special_exp2")
def exp2(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.exp(op.multiply(x, scalar(math.log(2.0), dtype_of(x))))


@convert("expm1", "special_expm1")
def expm1(bb: BlockBuilder, input: Expr) -> Expr:
    """By tanh near zero, where exp(x) - 1 would cancel: expm1(x) = 2 t / (1 - t), t = tanh(x/2)."""
    x = floating(bb, input)
    dtype = dtype_of(x)
    one, half = scalar(1.0, dtype), scalar(0.5, dtype)
    t = bb.emit(op.tanh(op.multiply(op.clip(x, -1.0, 1.0), half)))
    near = op.divide(op.add(t, t), op.subtract(one, t))
    return op.where(op.less(op.abs(x), half), near, op.subtract(op.exp(x), one))


@convert("log2")
def log2(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.divide(op.log(x), scalar(math.log(2.0), dtype_of(x)))


@convert("log10")
def log10(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.divide(op.log(x), scalar(math.log(10.0), dtype_of(x)))


@convert("log1p", "special_log1p")
def log1p(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.log(op.add(x, scalar(1.0, dtype_of(x))))


@convert("logit", "special_logit")
def logit(bb: BlockBuilder, input: Expr, eps: float | None = None) -> Expr:
    x = floating(bb, input)
    if eps is not None:
        x = bb.emit(op.clip(x, float(eps), 1.0 - eps))
    return op.log(op.divide(x, op.subtract(scalar(1.0, dtype_of(x)), x)))


@convert("erfc", "special_erfc")
def erfc(bb: BlockBuilder, input: Expr) -> Expr:
    return special.erfc(bb, floating(bb, input))


@convert("erfinv", "special_erfinv")
def erfinv(bb: BlockBuilder, input: Expr) -> Any:
    return special.erfinv(bb, floating(bb, input))


@convert("lgamma", "special_gammaln")
def lgamma(bb: BlockBuilder, input: Expr) -> Any:
    return special.lgamma(bb, floating(bb, input))


@convert("digamma", "special_digamma", "special_psi")
def digamma(bb: BlockBuilder, input: Expr) -> Any:
    return special.digamma(bb, floating(bb, input))


@convert("frac")
def frac(bb: BlockBuilder, input: Expr) -> Expr:
    return op.subtract(input, op.trunc(input))


@convert("sinc", "special_sinc")
def sinc(bb: BlockBuilder, input: Expr) -> Expr:
    """sin(pi x) / (pi x), and 1 at 0."""
    x = floating(bb, input)
    dtype = dtype_of(x)
    one = scalar(1.0, dtype)
    at_zero = bb.emit(op.equal(x, scalar(0.0, dtype)))
    angle = bb.emit(op.multiply(op.where(at_zero, one, x), scalar(math.pi, dtype)))
    return op.where(at_zero, one, op.divide(op.sin(angle), angle))


@convert("deg2rad")
def deg2rad(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.multiply(x, scalar(math.pi / 180.0, dtype_of(x)))


@convert("rad2deg")
def rad2deg(bb: BlockBuilder, input: Expr) -> Expr:
    x = floating(bb, input)
    return op.multiply(x, scalar(180.0 / math.pi, dtype_of(x)))


@convert("isnan")
def isnan(bb: BlockBuilder, input: Expr) -> Expr:
    return op.isnan(input)


@convert("isinf")
def isinf(bb: BlockBuilder, input: Expr) -> Expr:
    return op.isinf(input)


@convert("isposinf")
def isposinf(bb: BlockBuilder, input: Expr) -> Expr:
    if not is_float(dtype_of(input)):
        return op.not_equal(input, input)
    return op.equal(input, scalar(math.inf, dtype_of(input)))


@convert("isneginf")
def isneginf(bb: BlockBuilder, input: Expr) -> Expr:
    if not is_float(dtype_of(input)):
        return op.not_equal(input, input)
    return op.equal(input, scalar(-math.inf, dtype_of(input)))


@convert("isfinite")
def isfinite(bb: BlockBuilder, input: Expr) -> Expr:
    return op.isfinite(input)


@convert("is_floating_point")
def is_floating_point(bb: BlockBuilder, input: Expr) -> Expr:
    return const(is_float(dtype_of(input)), "bool")


_LARGEST: Final = {
    "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float64": 1.7976931348623157e308,
}  # fmt: skip


@convert("nan_to_num")
def nan_to_num(
    bb: BlockBuilder,
    input: Expr,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Expr:
    dtype = dtype_of(input)
    if not is_float(dtype):
        return input
    bound = _LARGEST.get(dtype, 3.4028234663852886e38)
    high = bound if posinf is None else posinf
    low = -bound if neginf is None else neginf
    x = op.where(op.isnan(input), scalar(float(nan or 0.0), dtype), input)
    x = op.where(op.equal(input, scalar(math.inf, dtype)), scalar(float(high), dtype), x)
    return op.where(op.equal(input, scalar(-math.inf, dtype)), scalar(float(low), dtype), x)


@convert("bitwise_not", "invert")
def bitwise_not(bb: BlockBuilder, input: Expr) -> Expr:
    return op.bitwise_not(input)


@convert("logical_not", "not_")
def logical_not(bb: BlockBuilder, input: Any) -> Any:
    if not isinstance(input, RelaxExpr):
        return tir.Not(input) if isinstance(input, PrimExpr) else not input
    return op.logical_not(cast(bb, input, "bool"))


# --- of two tensors ---


def _is_number(*values: Any) -> bool:
    return not any(isinstance(value, RelaxExpr) for value in values)


def _scaled(bb: BlockBuilder, other: Any, alpha: Any) -> Any:
    """alpha * other"""
    if alpha == 1:
        return other
    if not isinstance(other, RelaxExpr):
        return other * alpha
    return bb.emit(op.multiply(*matched(bb, other, alpha)))


@convert("add", "iadd")
def add(bb: BlockBuilder, input: Any, other: Any, alpha: Any = 1) -> Any:
    if isinstance(input, (tuple, list)):  # shapes, put together
        return (*input, *other)
    other = _scaled(bb, other, alpha)
    if _is_number(input, other):
        return SIZE_OPS["add"](input, other)
    a, b = matched(bb, input, other)
    return op.logical_or(a, b) if dtype_of(a) == "bool" else op.add(a, b)


@convert("sub", "subtract", "isub")
def sub(bb: BlockBuilder, input: Any, other: Any, alpha: Any = 1) -> Any:
    other = _scaled(bb, other, alpha)
    if _is_number(input, other):
        return SIZE_OPS["sub"](input, other)
    return op.subtract(*matched(bb, input, other))


@convert("rsub")
def rsub(bb: BlockBuilder, input: Any, other: Any, alpha: Any = 1) -> Any:
    return sub(bb, other, _scaled(bb, input, alpha))


@convert("mul", "multiply", "imul")
def mul(bb: BlockBuilder, input: Any, other: Any) -> Any:
    if _is_number(input, other):
        return SIZE_OPS["mul"](input, other)
    a, b = matched(bb, input, other)
    return op.logical_and(a, b) if dtype_of(a) == "bool" else op.multiply(a, b)


@convert("div", "divide", "truediv", "true_divide", "itruediv")
def div(bb: BlockBuilder, input: Any, other: Any, rounding_mode: str | None = None) -> Any:
    if _is_number(input, other):
        return SIZE_OPS["truediv" if rounding_mode is None else "floordiv"](input, other)
    if rounding_mode is None:
        return op.divide(*matched_floats(bb, input, other))
    if rounding_mode == "floor":
        return op.floor_divide(*matched(bb, input, other))
    return op.trunc(op.divide(*matched(bb, input, other)))


@convert("floor_divide", "floordiv", "ifloordiv")
def floor_divide(bb: BlockBuilder, input: Any, other: Any) -> Any:
    if _is_number(input, other):
        return SIZE_OPS["floordiv"](input, other)
    return op.floor_divide(*matched(bb, input, other))


@convert("fmod")
def fmod(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    """The remainder has the sign of the dividend."""
    return op.mod(*matched(bb, input, other))


@convert("remainder", "mod")
def remainder(bb: BlockBuilder, input: Any, other: Any) -> Any:
    """The remainder has the sign of the divisor."""
    if _is_number(input, other):
        return SIZE_OPS["mod"](input, other)
    return op.floor_mod(*matched(bb, input, other))


@convert("float_power")
def float_power(bb: BlockBuilder, input: Any, exponent: Any) -> Any:
    """In double precision, whatever the operands are."""
    return op.power(*(tensor_of(bb, x, "float64") for x in (input, exponent)))


@convert("pow", "ipow")
def power(bb: BlockBuilder, input: Any, exponent: Any) -> Any:
    if _is_number(input, exponent):
        return SIZE_OPS["pow"](input, exponent)
    return op.power(*matched(bb, input, exponent))


@convert("maximum", "max.other", "fmax")
def maximum(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    return op.maximum(*matched(bb, input, other))


@convert("minimum", "min.other", "fmin")
def minimum(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    return op.minimum(*matched(bb, input, other))


@convert("copysign")
def copysign(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    a, b = matched_floats(bb, input, other)
    size = bb.emit(op.abs(a))
    return op.where(signbit(bb, b), op.negative(size), size)


@convert("hypot")
def hypot(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    a, b = matched_floats(bb, input, other)
    return op.sqrt(op.add(op.multiply(a, a), op.multiply(b, b)))


@convert("logaddexp")
def logaddexp(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    """log(e^a + e^b); of two equal ones, which may be infinite, a + log 2."""
    a, b = matched_floats(bb, input, other)
    alike = op.add(a, scalar(math.log(2.0), dtype_of(a)))
    return op.where(op.equal(a, b), alike, op.log_add_exp(a, b))


@convert("logaddexp2")
def logaddexp2(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    a, b = matched_floats(bb, input, other)
    base = scalar(math.log(2.0), dtype_of(a))
    scaled = (bb.emit(op.multiply(x, base)) for x in (a, b))
    return op.divide(logaddexp(bb, *scaled), base)


@convert("xlogy", "special_xlogy")
def xlogy(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    """input * log(other), and 0 where input is 0."""
    a, b = matched_floats(bb, input, other)
    zero = scalar(0.0, dtype_of(a))
    value = op.where(op.equal(a, zero), zero, op.multiply(a, op.log(b)))
    return op.where(op.isnan(b), b, value)


@convert("heaviside")
def heaviside(bb: BlockBuilder, input: Any, values: Any) -> Expr:
    a, b = matched(bb, input, values)
    dtype = dtype_of(a)
    zero = scalar(0, dtype)
    step = cast(bb, bb.emit(op.greater(a, zero)), dtype)
    return op.where(op.equal(a, zero), b, step)


@convert("atan2", "arctan2")
def atan2(bb: BlockBuilder, input: Any, other: Any) -> Expr:
    """The angle of the point (other, input).

    From atan of the quotient, turned by pi where `other` is negative.
    """
    y, x = matched_floats(bb, input, other)
    dtype = dtype_of(y)
    zero, half_turn = scalar(0.0, dtype), scalar(math.pi, dtype)
    at_axis = bb.emit(op.equal(x, zero))
    base = bb.emit(op.atan(op.divide(y, op.where(at_axis, scalar(1.0, dtype), x))))
    turned = op.where(signbit(bb, y), op.subtract(base, half_turn), op.add(base, half_turn))
    angle = op.where(signbit(bb, x), turned, base)
    upright = op.multiply(op.sign(y), scalar(math.pi / 2, dtype))
    flat = op.logical_and(at_axis, op.equal(y, zero))
    return op.where(op.logical_and(at_axis, op.logical_not(flat)), upright, angle)


def _compare(size_op: str, rule: Callable[[Expr, Expr], Expr]) -> Callable[..., Any]:
    def compare(bb: BlockBuilder, input: Any, other: Any) -> Any:
        if _is_number(input, other):
            if isinstance(input, (tuple, list, str)) or input is None or other is None:
                return (input == other) if size_op == "eq" else (input != other)
            return SIZE_OPS[size_op](input, other)
        return rule(*matched(bb, input, other))

    return compare


convert("eq")(_compare("eq", op.equal))
convert("ne", "not_equal")(_compare("ne", op.not_equal))
convert("lt", "less")(_compare("lt", op.less))
convert("le", "less_equal")(_compare("le", op.less_equal))
convert("gt", "greater")(_compare("gt", op.greater))
convert("ge", "greater_equal")(_compare("ge", op.greater_equal))


def _bitwise(size_op: str, bits: Callable[[Expr, Expr], Expr]) -> Callable[..., Any]:
    def apply(bb: BlockBuilder, input: Any, other: Any) -> Any:
        if _is_number(input, other):
            return SIZE_OPS[size_op](input, other)
        return bits(*matched(bb, input, other))

    return apply


convert("bitwise_and", "__and__", "and_", "iand")(_bitwise("and", op.bitwise_and))
convert("bitwise_or", "__or__", "or_", "ior")(_bitwise("or", op.bitwise_or))
convert("bitwise_xor", "__xor__", "xor", "ixor")(_bitwise("ne", op.bitwise_xor))


def _logical(rule: Callable[[Expr, Expr], Expr]) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, input: Expr, other: Expr) -> Expr:
        return rule(cast(bb, input, "bool"), cast(bb, other, "bool"))

    return apply


convert("logical_and")(_logical(op.logical_and))
convert("logical_or")(_logical(op.logical_or))
convert("logical_xor")(_logical(op.logical_xor))


def _shift(rule: Callable[[Expr, Expr], Expr]) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, input: Any, other: Any) -> Expr:
        return rule(*matched(bb, input, other))

    return apply


convert("bitwise_left_shift", "__lshift__", "lshift", "ilshift")(_shift(op.left_shift))
convert("bitwise_right_shift", "__rshift__", "rshift", "irshift")(_shift(op.right_shift))


# --- of three ---


@convert("where")
def where(bb: BlockBuilder, condition: Expr, input: Any = None, other: Any = None) -> Any:
    """Elements of `input` where the condition holds; alone, the places where it does."""
    if input is None:
        from .sorting import nonzero_columns

        return nonzero_columns(bb, condition)
    return op.where(cast(bb, condition, "bool"), *matched(bb, input, other))


@convert("masked_fill")
def masked_fill(bb: BlockBuilder, input: Expr, mask: Expr, value: Any) -> Expr:
    if isinstance(value, RelaxExpr):
        return op.where(mask, cast(bb, value, dtype_of(input)), input)
    fill = tensor_of(bb, value, "float32" if isinstance(value, float) else None)
    if isinstance(value, int) and -(2**31) <= value < 2**31:
        fill = const(value)
    values = bb.emit(op.full_like(input, fill))
    return op.where(mask, values, input)


@convert("lerp")
def lerp(bb: BlockBuilder, input: Expr, end: Expr, weight: Any) -> Expr:
    w = tensor_of(bb, weight, dtype_of(input))
    return op.add(input, op.multiply(w, op.subtract(end, input)))


@convert("addcmul")
def addcmul(bb: BlockBuilder, input: Expr, tensor1: Expr, tensor2: Expr, value: Any = 1) -> Expr:
    return add(bb, input, bb.emit(mul(bb, tensor1, tensor2)), value)  # type: ignore[no-any-return]


@convert("addcdiv")
def addcdiv(bb: BlockBuilder, input: Expr, tensor1: Expr, tensor2: Expr, value: Any = 1) -> Expr:
    return add(bb, input, bb.emit(div(bb, tensor1, tensor2)), value)  # type: ignore[no-any-return]


@convert("clamp", "clip")
def clamp(bb: BlockBuilder, input: Expr, min: Any = None, max: Any = None) -> Any:
    """Not below `min`, not above `max`, which wins; either may be left out, or be a tensor."""
    if isinstance(min, RelaxExpr) or isinstance(max, RelaxExpr):
        return _clamp_between(bb, input, min, max)
    x = cast(bb, input, common_dtype(input, *(v for v in (min, max) if v is not None)))
    if is_float(dtype_of(x)) or not (min is None or max is None):
        low, high = -math.inf if min is None else min, math.inf if max is None else max
        if isinstance(low, PrimExpr) or isinstance(high, PrimExpr):
            return op.clip(x, tir.min(low, high), high)
        return op.clip(x, high if low > high else low, high)
    return maximum(bb, x, min) if max is None else minimum(bb, x, max)


def _clamp_between(bb: BlockBuilder, x: Expr, low: Any, high: Any) -> Any:
    """Bounds of the tensor's own shape, then those that are numbers."""
    if isinstance(low, RelaxExpr):
        x, low = bb.emit(maximum(bb, x, _bound(bb, low, x))), None
    if isinstance(high, RelaxExpr):
        if low is not None:
            x, low = bb.emit(maximum(bb, x, low)), None
        x, high = bb.emit(minimum(bb, x, _bound(bb, high, x))), None
    if low is None and high is None and not is_float(dtype_of(x)):
        return x
    return clamp(bb, x, low, high)


def _bound(bb: BlockBuilder, bound: Expr, x: Expr) -> Expr:
    """The bound in the tensor's shape, where it has no more axes or longer ones."""
    missing = rank(x) - rank(bound)
    pairs = zip(sizes(bound), sizes(x)[max(missing, 0) :])
    if missing < 0 or not all(same(a, b) or same(a, 1) for a, b in pairs):
        return bound
    return bb.emit(op.broadcast_to(bound, sizes(x)))


@convert("clamp_min")
def clamp_min(bb: BlockBuilder, input: Expr, min: Any) -> Any:
    return clamp(bb, input, min)


@convert("clamp_max")
def clamp_max(bb: BlockBuilder, input: Expr, max: Any) -> Any:
    return clamp(bb, input, None, max)


# --- other data types ---


@convert("to", "type", "_to_copy", "to.dtype", "_to_copy.default")
def to(bb: BlockBuilder, input: Expr, *args: Any, dtype: Any = None, **options: Any) -> Expr:
    """The tensor in another data type; its device is the program's."""
    for arg in args:
        if isinstance(arg, RelaxExpr):
            dtype = dtype_of(arg)
        elif isinstance(arg, str) and "cpu" not in arg and "cuda" not in arg:
            dtype = dtype_name(arg)
    return input if dtype is None else op.astype(input, dtype)


@convert("convert_element_type")
def convert_element_type(bb: BlockBuilder, a: Expr, dtype: Any) -> Expr:
    """What torch's decompositions cast with."""
    made: Expr = to(bb, a, dtype=dtype)
    return made


@convert("to.dtype_layout")
def to_dtype_layout(bb: BlockBuilder, input: Expr, dtype: Any = None, **options: Any) -> Any:
    return to(bb, input, dtype=dtype)


@convert("type_as")
def type_as(bb: BlockBuilder, input: Expr, other: Expr) -> Expr:
    return op.astype(input, dtype_of(other))


def _as(dtype: str) -> Callable[..., Any]:
    def apply(bb: BlockBuilder, input: Any) -> Any:
        if isinstance(input, RelaxExpr):
            return op.astype(input, dtype)
        if category(dtype) == 2:
            return input.astype("float64") if isinstance(input, PrimExpr) else float(input)
        return sym_int(bb, input)

    return apply


for _name, _dtype in {
    "float": "float32", "half": "float16", "double": "float64", "bfloat16": "bfloat16",
    "int": "int32", "long": "int64", "short": "int16", "char": "int8", "byte": "uint8",
    "bool": "bool",
}.items():  # fmt: skip
    convert(_name)(_as(_dtype))


@convert(
    "clone", "contiguous", "detach", "alias", "lift_fresh_copy", "lift_fresh", "lift",
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout",
    "feature_alpha_dropout", "cpu", "cuda", "requires_grad", "conj", "conj_physical",
    "resolve_conj", "resolve_neg", "_conj", "identity", "detach_copy", "alias_copy",
)  # fmt: skip
def unchanged(bb: BlockBuilder, input: Expr, *args: Any, **options: Any) -> Expr:
    """The same values. Of dropouts: a program is imported for inference."""
    return input


@convert("native_dropout")
def native_dropout(bb: BlockBuilder, input: Expr, p: float, train: Any = None) -> Any:
    if train:
        raise refuse("native_dropout", "train=True", "a model in evaluation mode: model.eval()")
    return input, op.ones_like(input, "bool")


# --- nearly the same ---


@convert("isclose")
def isclose(
    bb: BlockBuilder, input: Any, other: Any, rtol: float = 1e-5, atol: float = 1e-8,
    equal_nan: bool = False,
) -> Any:  # fmt: skip
    """Equal, or both finite and |a - b| <= atol + rtol |b|."""
    a, b = matched(bb, input, other)
    same_value = bb.emit(op.equal(a, b))
    if not is_float(dtype_of(a)):
        a, b = (cast(bb, x, "float64") for x in (a, b))
    dtype = dtype_of(a)
    gap = bb.emit(op.abs(op.subtract(a, b)))
    bound = op.add(scalar(atol, dtype), op.multiply(scalar(rtol, dtype), op.abs(b)))
    near = op.logical_and(op.isfinite(gap), op.less_equal(gap, bound))
    near = op.logical_or(same_value, op.logical_and(near, op.isfinite(b)))
    if equal_nan:
        near = op.logical_or(near, op.logical_and(op.isnan(a), op.isnan(b)))
    return near


@convert("allclose")
def allclose(bb: BlockBuilder, input: Any, other: Any, *args: Any, **named: Any) -> Any:
    from .reduction import all_

    return all_(bb, bb.emit(isclose(bb, input, other, *args, **named)))


@convert("equal")
def equal(bb: BlockBuilder, input: Expr, other: Expr) -> Any:
    """Whether shapes and all elements are the same."""
    from .reduction import all_

    if len(sizes(input)) != len(sizes(other)) or not all(map(same, sizes(input), sizes(other))):
        return scalar(False, "bool")
    return all_(bb, bb.emit(op.equal(*matched(bb, input, other))))


@convert("ldexp")
def ldexp(bb: BlockBuilder, input: Any, other: Any) -> Any:
    """x 2^n"""
    x, n = matched_floats(bb, input, other)
    return op.multiply(x, op.power(scalar(2.0, dtype_of(x)), n))


@convert("isreal")
def isreal(bb: BlockBuilder, input: Expr) -> Any:
    return op.ones_like(input, "bool")
