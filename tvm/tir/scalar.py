"""The meaning of arithmetic on plain numbers, for every data type.

Folding, the interpreter, and the bounds of the analyzer all ask here, so that they cannot disagree.
Integers wrap to the width of their type; floats are rounded to their type once an operation.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from tvm.support.compiled import Given
from tvm.support.dtype import DataType
from tvm.support.narrow_floats import FORMATS, decode, encode

Number: TypeAlias = Given[float]  # integers stay such: a float of C would lose digits of theirs

# The largest finite value of each type.
FLOAT_LIMITS: Final[dict[str, float]] = {
    "float32": 3.4028234663852886e38,
    **{name: decode(form.largest, form) for name, form in FORMATS.items()},
}


def wrap(value: int, dtype: DataType) -> int:
    """`value` reduced to the range of an integer type (two's complement)."""
    if dtype.is_bool:
        return int(value != 0)
    bits = dtype.bits
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if dtype.is_int and low >> (bits - 1) else low


def int_range(dtype: DataType) -> tuple[int, int]:
    """The smallest and largest value of an integer type."""
    if dtype.is_bool:
        return 0, 1
    if dtype.is_uint:
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def round_float(value: float, dtype: DataType) -> float:
    """`value` rounded to the nearest value of a floating type; too large becomes infinite."""
    element = dtype.element_of()
    if element == "float64" or math.isnan(value) or math.isinf(value):
        return value
    if element == "float32":
        return _pack(value, "f")
    if element == "float16":
        return _pack(value, "e")
    form = FORMATS[element]
    return decode(encode(value, form), form)


def _pack(value: float, form: str) -> float:
    try:
        return float(struct.unpack(form, struct.pack(form, value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def trunc_div(a: int, b: int) -> int:
    """a / b rounded toward zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def trunc_mod(a: int, b: int) -> int:
    """The remainder of trunc_div; it has the sign of `a`."""
    return a - trunc_div(a, b) * b


def _float_div(a: Number, b: Number) -> float:
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))
    return a / b


def _float_min(a: Number, b: Number) -> Number:
    return a if math.isnan(a) or a < b else b


def _float_max(a: Number, b: Number) -> Number:
    return a if math.isnan(a) or a > b else b


_INT: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": trunc_div,
    "mod": trunc_mod,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << b,
    "shift_right": lambda a, b: a >> b,
}
_FLOAT: Final[dict[str, Callable[[float, float], Number]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _float_div,
    "min": _float_min,
    "max": _float_max,
}
_COMPARE: Final[dict[str, Callable[[Number, Number], bool]]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_DIVIDES: Final = frozenset(("div", "mod", "floordiv", "floormod"))
_SHIFTS: Final = frozenset(("shift_left", "shift_right"))


def binary(op: str, a: Number, b: Number, dtype: DataType) -> Number | None:
    """`a op b` in the arithmetic of `dtype` (of the operands); None where it has no meaning.

    Division by zero of integers, and shifts by less than zero or by the width and more, have none.
    """
    compare = _COMPARE.get(op)
    if compare is not None:
        return compare(a, b)
    if dtype.is_floating:
        rule = _FLOAT.get(op)
        return None if rule is None else round_float(float(rule(a, b)), dtype)
    if op in _DIVIDES and b == 0:
        return None
    if op in _SHIFTS and not 0 <= b < dtype.bits:
        return None
    exact = _INT.get(op)
    return None if exact is None else wrap(exact(int(a), int(b)), dtype)


def cast(value: Number, source: DataType, target: DataType) -> Number | None:
    """`value` converted between types as a C cast does; None where C leaves it undefined."""
    if target.is_bool:
        return value != 0
    if target.is_floating:
        return round_float(float(value), target)
    if source.is_floating:
        if not math.isfinite(value):
            return None
        whole = int(value)
        low, high = int_range(target)
        return whole if low <= whole <= high else None
    return wrap(int(value), target) if target.is_integer else None


def unary_float(rule: Callable[[float], float], value: float, dtype: DataType) -> float | None:
    """A function of `math` rounded to a type; None outside the function's domain."""
    try:
        return round_float(rule(value), dtype)
    except (ValueError, OverflowError):
        return None
