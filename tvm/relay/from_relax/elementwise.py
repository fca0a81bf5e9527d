"""Operators that work element by element, and those that make tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.relay import op as _op
from tvm.relay.expr import Constant, const

from .translate import RULES, Translator, as_number, rule, shape_values

_SAME = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp",
    "floor", "isfinite", "isinf", "isnan", "log", "negative", "rsqrt", "sigmoid", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "logical_not", "bitwise_not",
)  # fmt: skip
_PAIRS = {
    **{name: name for name in (
        "add", "subtract", "multiply", "divide", "floor_divide", "floor_mod", "mod", "power",
        "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater",
        "greater_equal", "left_shift", "right_shift", "logical_and", "logical_or", "logical_xor",
        "bitwise_and", "bitwise_or", "bitwise_xor",
    )},
}  # fmt: skip


def dtype_of(call: Any, at: int | None = None) -> str:
    """The element type of a call's result, or of an operand."""
    info: Any = call.struct_info if at is None else call.args[at].struct_info
    return str(info.dtype)


def _unary(name: str) -> None:
    RULES[f"relax.{name}"] = lambda t, call, x: getattr(_op, name)(x)


def _binary(name: str, ours: str) -> None:
    def pair(t: Translator, call: Any, a: Any, b: Any) -> Any:
        other = next((at for at in (0, 1) if hasattr(call.args[at].struct_info, "ndim")), 0)
        dtype = dtype_of(call, other)
        made = _bias(call, a, b) if name == "add" else None
        return made or getattr(_op, ours)(t.tensor(a, dtype), t.tensor(b, dtype))

    RULES[f"relax.{name}"] = pair


def _bias(call: Any, a: Any, b: Any) -> Any:
    """`nn.bias_add` for a sum with one number a channel, as patterns of compilers expect it."""
    infos: Any = [arg.struct_info for arg in call.args]
    name = getattr(getattr(a, "op", None), "name", "")
    whole, part = (
        [as_number(e) for e in shape_values(getattr(info, "shape", None))] for info in infos
    )
    if name == "nn.dense" and part == whole[-1:]:
        return _op.nn.bias_add(a, b, axis=-1)
    if name.startswith("nn.conv") and getattr(getattr(b, "op", None), "name", "") == "reshape":
        axis = str(a.attrs.data_layout).find("C")
        if part == [e if at == axis else 1 for at, e in enumerate(whole)]:
            flat = b.args[0] if _is_vector(b.args[0]) else _op.reshape(b, [part[axis]])
            return _op.nn.bias_add(a, flat, axis=axis)
    return None


def _is_vector(x: Any) -> bool:
    if isinstance(x, Constant):
        return len(x.data.shape) == 1
    return len(getattr(getattr(x, "type_annotation", None), "shape", ())) == 1


for _name in _SAME:
    _unary(_name)
for _name, _ours in _PAIRS.items():
    _binary(_name, _ours)


@rule("relax.round")
def round_(t: Translator, call: Any, x: Any) -> Any:
    """The nearest whole number; a half goes to its even neighbour (Relay's go away from zero)."""
    half, two = (_op.cast_like(const(number, "float32"), x) for number in (0.5, 2.0))
    tie = _op.equal(_op.abs(_op.subtract(x, _op.trunc(x))), half)
    even = _op.multiply(_op.round(_op.multiply(x, half)), two)
    return _op.where(tie, even, _op.round(x))


@rule("relax.square")
def square(t: Translator, call: Any, x: Any) -> Any:
    """x * x"""
    return _op.multiply(x, x)


@rule("relax.log_add_exp")
def log_add_exp(t: Translator, call: Any, a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)), by the larger one."""
    top = _op.maximum(a, b)
    return top + _op.log(_op.exp(a - top) + _op.exp(b - top))


@rule("relax.ewise_fma")
def ewise_fma(t: Translator, call: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c"""
    return a * b + c


@rule("relax.astype", "relax.wrap_param")
def astype(t: Translator, call: Any, x: Any) -> Any:
    """A cast."""
    return _op.cast(x, str(call.attrs.dtype))


@rule("relax.clip")
def clip(t: Translator, call: Any, x: Any, low: Any, high: Any) -> Any:
    """Values between two numbers; an infinite one stands for none."""
    if np.issubdtype(np.dtype(dtype_of(call)), np.integer):
        wide = np.iinfo(dtype_of(call))
        low, high = max(low, wide.min), min(high, wide.max)
        if max(abs(low), abs(high)) >= 2**53:  # the options are of float64
            dtype = dtype_of(call)
            return _op.minimum(_op.maximum(x, const(low, dtype)), const(high, dtype))
    return _op.clip(x, low, high)


@rule("relax.where")
def where(t: Translator, call: Any, cond: Any, a: Any, b: Any) -> Any:
    """One of two values."""
    return _op.where(cond, a, b)


def _filled(t: Translator, shape: Any, value: Any, dtype: str) -> Any:
    return _op.full(t.tensor(value, dtype), t.shape(shape), dtype)


@rule("relax.full")
def full(t: Translator, call: Any, shape: Any, value: Any) -> Any:
    """A tensor of one value."""
    dtype = dtype_of(call)
    same = dtype_of(call, 1) == dtype
    return _filled(t, shape, value if same else _op.cast(value, dtype), dtype)


@rule("relax.zeros")
def zeros(t: Translator, call: Any, shape: Any) -> Any:
    """Zeros."""
    return _filled(t, shape, 0, dtype_of(call))


@rule("relax.ones")
def ones(t: Translator, call: Any, shape: Any) -> Any:
    """Ones."""
    return _filled(t, shape, 1, dtype_of(call))


@rule("relax.full_like")
def full_like(t: Translator, call: Any, x: Any, value: Any) -> Any:
    """A tensor of one value in the shape of another."""
    made = _op.full_like(x, _op.cast(value, dtype_of(call, 0)))
    return made if dtype_of(call) == dtype_of(call, 0) else _op.cast(made, dtype_of(call))


@rule("relax.zeros_like", "relax.ones_like")
def constant_like(t: Translator, call: Any, x: Any) -> Any:
    """Zeros or ones in the shape of a tensor."""
    make = _op.zeros_like if call.op.name.endswith("zeros_like") else _op.ones_like
    made = make(x)
    return made if dtype_of(call) == dtype_of(call, 0) else _op.cast(made, dtype_of(call))


@rule("relax.arange")
def arange(t: Translator, call: Any, start: Any, end: Any, step: Any) -> Any:
    """Numbers in steps."""
    dtype = dtype_of(call)
    ends = [as_number(v) for v in (start, end, step)]
    first, last, stride = (
        const(v, dtype) if isinstance(v, (int, float)) else _op.cast(t.scalar(v), dtype)
        for v in ends
    )
    return _op.arange(first, last, stride, dtype=dtype)


@rule("relax.eye", "relax.eye_like")
def eye(t: Translator, call: Any, *args: Any) -> Any:
    """Ones on a diagonal: indices compared, so that extents may be unknown."""
    dtype = dtype_of(call)
    if call.op.name == "relax.eye":
        rows, columns, shift = (t.scalar(v) for v in args)
    else:
        shape = _op.shape_of(args[0], "int64")
        rows, columns = (t.extent_at(shape, at) for at in (0, 1))
        shift = t.scalar(args[1])
    zero, one = const(0, "int64"), const(1, "int64")
    down = _op.expand_dims(_op.arange(zero, rows, one, dtype="int64"), 1)
    along = _op.expand_dims(_op.arange(zero, columns, one, dtype="int64"), 0)
    return _op.cast(_op.equal(down + shift, along), dtype)
