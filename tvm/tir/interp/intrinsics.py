"""The meaning of pure operators on values: one line each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tvm.support.dtype import DataType

from .memory import Pointer
from .values import Value, is_array, is_odd_width, lane_count, numpy_dtype, wrap

Rule = Callable[..., Value]


def _lanewise(rule: Callable[..., Any], *args: Value) -> Any:
    """A Python function applied to each lane; the result is a Python number or an object array."""
    if any(is_array(a) for a in args):
        return np.frompyfunc(rule, len(args), 1)(*args)
    return rule(*args)


def _of_python(rule: Callable[..., Any]) -> Rule:
    """A function of plain numbers, its result in the type of the call."""

    def apply(dtype: DataType, *args: Value) -> Value:
        return _in_type(_lanewise(rule, *args), dtype)

    return apply


def _in_type(value: Any, dtype: DataType) -> Value:
    kind = numpy_dtype(dtype)
    return value.astype(kind) if is_array(value) else kind.type(value)


def _of_numpy(ufunc: Callable[..., Any]) -> Rule:
    """A numpy function; small floating types are computed in float32, as numpy does."""

    def apply(dtype: DataType, *args: Value) -> Value:
        result = ufunc(*args)
        kind = numpy_dtype(dtype)
        return result if result.dtype == kind else result.astype(kind)

    return apply


def _sigmoid(x: Value) -> Value:
    return 1 / (1 + np.exp(-x))


def _round_half_even(x: Value) -> Value:
    return np.rint(x)


def _erf(x: Any) -> float:
    return math.erf(float(x))


def _popcount(dtype: DataType) -> Callable[[Any], int]:
    mask = (1 << dtype.bits) - 1
    return lambda x: (int(x) & mask).bit_count()


def _count_bits(dtype: DataType, x: Value) -> Value:
    kind = dtype if is_odd_width(dtype) else _int_of(x)  # int4 is held in 8 bits
    return _in_type(_lanewise(_popcount(kind), x), dtype)


def _int_of(x: Value) -> DataType:
    return DataType(x.dtype.name)


def _leading_zeros(dtype: DataType, x: Value) -> Value:
    bits = x.dtype.itemsize * 8
    mask = (1 << bits) - 1
    return _in_type(_lanewise(lambda v: bits - (int(v) & mask).bit_length(), x), dtype)


def _power(dtype: DataType, x: Value, y: Value) -> Value:
    if dtype.is_integer:
        return _in_type(_lanewise(lambda a, b: _whole_power(int(a), int(b), dtype), x, y), dtype)
    return _of_numpy(np.power)(dtype, x, y)


def _whole_power(base: int, power: int, dtype: DataType) -> int:
    """What the type holds of it: the exact number, wrapped around; 0 of a negative power."""
    found = 0 if power < 0 else pow(base, power, 1 << dtype.bits)
    return found - (1 << dtype.bits) if dtype.is_int and found >> (dtype.bits - 1) else found


def _shift_left(dtype: DataType, x: Value, y: Value) -> Value:
    return _fitted(np.left_shift(x, y), dtype)


def _bitwise_not(dtype: DataType, x: Value) -> Value:
    return _fitted(~x, dtype)


def _fitted(value: Value, dtype: DataType) -> Value:
    """What is left of a value in a type that numpy holds in a wider one."""
    return wrap(value, dtype) if is_odd_width(dtype) else value


def _shift_right(dtype: DataType, x: Value, y: Value) -> Value:
    return np.right_shift(x, y)


def _reinterpret(dtype: DataType, x: Value) -> Value:
    kind = numpy_dtype(dtype)
    if isinstance(x, Pointer) and dtype.is_integer:
        return kind.type(x.address())
    if not hasattr(x, "dtype"):
        return x
    if is_array(x):
        return np.ascontiguousarray(x).view(kind)
    if dtype.is_handle:
        return None if int(x) == 0 else x
    raw = np.asarray(x).reshape(1).view(kind)
    return raw if dtype.is_vector else raw[0]


def _q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> int:
    """Fixed-point product with one rounding: half away from zero towards plus infinity."""
    shift = int(q) - int(s)
    product = int(x) * int(y)
    if shift <= 0:
        return product << -shift
    return (product + (1 << (shift - 1))) >> shift


def _q_multiply_shift_per_axis(
    x: Any, y: Any, left: Any, right: Any, q: Any, shift_left: Any, shift_right: Any
) -> int:
    value = int(x) << int(left) if shift_left else int(x)
    total = int(q) + (int(right) if shift_right else 0)
    return _in_64_bits(value * int(y) + (1 << (total - 1))) >> total


def _in_64_bits(value: int) -> int:
    low = value & (2**64 - 1)
    return low - 2**64 if low >> 63 else low


def _wrapped(rule: Callable[..., int]) -> Rule:
    def apply(dtype: DataType, *args: Value) -> Value:
        def one(*numbers: Any) -> int:
            low = rule(*numbers) & 0xFFFFFFFF
            return low - (1 << 32) if low >> 31 else low

        return _in_type(_lanewise(one, *args), dtype)

    return apply


def _dot_bytes(sums: Any, left: Any, right: Any) -> int:
    total = int(sums)
    for i in range(0, 32, 8):
        signed = int(right) >> i & 0xFF
        total += (int(left) >> i & 0xFF) * (signed - 256 if signed >> 7 else signed)
    return total


def _lane_mask(dtype: DataType, base: Value, limit: Value) -> Value:
    """The base is unsigned, and the sum has no end; no lane lies before a negative limit."""
    bits = np.asarray(base).dtype.itemsize * 8
    first, end = int(base) & ((1 << bits) - 1), int(limit)
    return np.arange(lane_count(dtype)) < end - first


def _dot4(dtype: DataType, a: Value, b: Value, acc: Value) -> Value:
    kind = numpy_dtype(dtype)
    return kind.type((a.astype(np.int64) * b.astype(np.int64)).sum() + int(acc))


def _half(first: bool) -> Rule:
    def apply(dtype: DataType, x: Value) -> Value:
        middle = x.size // 2
        return x[:middle] if first else x[middle:]

    return apply


_FLOAT_UFUNCS: Final[dict[str, Any]] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(x.dtype.type(10), x),
    "tanh": np.tanh, "sigmoid": _sigmoid, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "tan": np.tan, "cos": np.cos, "cosh": np.cosh, "acos": np.arccos,
    "acosh": np.arccosh, "sin": np.sin, "sinh": np.sinh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": _round_half_even,
    "nearbyint": np.rint, "fabs": np.abs, "atan2": np.arctan2, "nextafter": np.nextafter,
    "hypot": np.hypot, "copysign": np.copysign, "ldexp": np.ldexp, "fmod": np.fmod,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip

# what an operator does to its evaluated arguments; the dtype is that of the call
RULES: Final[dict[str, Rule]] = {
    **{f"tir.{name}": _of_numpy(ufunc) for name, ufunc in _FLOAT_UFUNCS.items()},
    "tir.erf": _of_python(_erf),
    "tir.pow": _power,
    "tir.fma": lambda dtype, a, b, c: _in_type(
        np.asarray(a, np.float64) * np.asarray(b, np.float64) + c, dtype
    ) if dtype != "float64" else a * b + c,
    "tir.clz": _leading_zeros,
    "tir.popcount": _count_bits,
    "tir.ctpop": _count_bits,
    "tir.bitwise_and": lambda dtype, a, b: a & b,
    "tir.bitwise_or": lambda dtype, a, b: a | b,
    "tir.bitwise_xor": lambda dtype, a, b: a ^ b,
    "tir.bitwise_not": _bitwise_not,
    "tir.shift_left": _shift_left,
    "tir.shift_right": _shift_right,
    "tir.reinterpret": _reinterpret,
    "tir.likely": lambda dtype, a: a,
    "tir.ignore_loop_partition": lambda dtype, a: a,
    "tir.assume": lambda dtype, a: np.bool_(True),
    "tir.undef": lambda dtype: numpy_dtype(dtype).type(0),
    "tir.vscale": lambda dtype: np.int32(lane_count(DataType("int8xvscalex1"))),
    "tir.large_uint_imm": lambda dtype, low, high: numpy_dtype(dtype).type(
        (int(high) << 32) | (int(low) & 0xFFFFFFFF)
    ),
    "tir.q_multiply_shift": _wrapped(_q_multiply_shift),
    "tir.q_multiply_shift_per_axis": _wrapped(_q_multiply_shift_per_axis),
    "tir.dot_bytes": _wrapped(_dot_bytes),
    "tir.get_active_lane_mask": _lane_mask,
    "tir.dp4a": _dot4,
    "tir.vectorlow": _half(True),
    "tir.vectoror": lambda dtype, a: np.bitwise_or.reduce(a),
    "tir.vectorhigh": _half(False),
    "tir.vectorcombine": lambda dtype, a, b: np.concatenate([a, b]),
    "tir.isnullptr": lambda dtype, a: np.bool_(a is None),
    "tir.start_profile_intrinsic": lambda dtype, a: None,
    "tir.end_profile_intrinsic": lambda dtype, a: None,
    "tir.prefetch": lambda dtype, *args: np.int32(0),
}  # fmt: skip

# C functions by name without the `f` of their float32 form
EXTERN: Final[dict[str, str]] = {
    **{name: f"tir.{name}" for name in _FLOAT_UFUNCS},
    "erf": "tir.erf", "pow": "tir.pow", "fma": "tir.fma", "rint": "tir.nearbyint",
    "minnum": "tir.Min", "maxnum": "tir.Max", "ctpop": "tir.popcount", "ctlz": "tir.clz",
}  # fmt: skip


def extern_rule(name: str, dtype: DataType) -> Rule | None:
    """The meaning of a C function, or of an LLVM intrinsic (`llvm.exp`), or None."""
    base = name.removeprefix("llvm.").split(".")[0]
    if base not in EXTERN and base.endswith("f") and dtype == "float32":
        base = base[:-1]
    key = EXTERN.get(base)
    return None if key is None else RULES.get(key)
