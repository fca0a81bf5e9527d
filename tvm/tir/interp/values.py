"""Values while a program runs: numpy scalars and arrays in the type of their expression.

Arrays stand for the lanes of a TIR vector, or for all iterations of a loop nest at once; the rules
here hold for both and for single numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from tvm.error import message
from tvm.support.dtype import DataType

from .errors import DivisionByZero, InterpreterError

Value = Any  # a numpy scalar or array, a Pointer, a str
Binary = Callable[[Value, Value], Value]

# vscale is a property of the machine; the interpreter is one with 128-bit registers by default
_MACHINE: Final = {"vscale": 1}
_WIDTHS: Final = (8, 16, 32, 64)
_dtypes: dict[DataType, Any] = {}


def numpy_dtype(dtype: DataType) -> Any:
    """The numpy type that holds one lane; odd integer widths live in the next wider type."""
    element = dtype.element_of()
    known = _dtypes.get(element)
    if known is None:
        known = _dtypes[element] = np.dtype(_find_dtype(element))
    return known


def _find_dtype(element: DataType) -> Any:
    if element.is_bool:
        return np.bool_
    if element.is_integer:
        width = next((w for w in _WIDTHS if w >= element.bits), 64)
        return f"{'int' if element.is_int else 'uint'}{width}"
    if element.is_float:
        return f"float{element.bits}"
    if element.is_handle:
        return object
    import ml_dtypes  # only programs with small floating types need it

    found = getattr(ml_dtypes, str(element), None)
    if found is None:
        raise InterpreterError(f"values of type {element} have no meaning in numpy")
    return found


def is_odd_width(dtype: DataType) -> bool:
    """Whether results must be wrapped by hand: int4, uint1 and the like."""
    return dtype.is_integer and dtype.bits not in _WIDTHS


def wrap(value: Value, dtype: DataType) -> Value:
    """An integer reduced to the range of a type that numpy does not have."""
    bits = dtype.bits
    kind = numpy_dtype(dtype)
    low = np.bitwise_and(value, kind.type((1 << bits) - 1))
    if dtype.is_int:
        sign = kind.type(1 << (bits - 1))
        low = np.bitwise_xor(low, sign) - sign
    return low.astype(kind)


def lane_count(dtype: DataType) -> int:
    """The number of lanes on this machine."""
    return dtype.lanes * _MACHINE["vscale"] if dtype.is_scalable else dtype.lanes


@contextmanager
def vscale(value: int) -> Iterator[None]:
    """Interpret as a machine whose scalable registers are so many times 128 bits."""
    if value not in (1, 2, 4, 8, 16):
        raise ValueError(
            message("set vscale", found=str(value), legal="1, 2, 4, 8 or 16, as machines have")
        )
    before, _MACHINE["vscale"] = _MACHINE["vscale"], value
    try:
        yield
    finally:
        _MACHINE["vscale"] = before


def cast(value: Value, target: DataType) -> Value:
    """A value converted as C converts it."""
    kind = numpy_dtype(target)
    if target.is_bool:
        return value != 0
    new = np.asarray(value).astype(kind) if isinstance(value, bool) else value.astype(kind)
    return wrap(new, target) if is_odd_width(target) else new


def is_array(value: Value) -> bool:
    """Whether a value has lanes."""
    return isinstance(value, np.ndarray)


# --- arithmetic by node ---


def _refuse_zero(divisor: Value) -> None:
    if (divisor == 0).any() if is_array(divisor) else divisor == 0:
        raise DivisionByZero("an integer is divided by zero")


def _trunc_div(x: Value, y: Value) -> Value:
    _refuse_zero(y)
    return (x - np.fmod(x, y)) // y


def _trunc_mod(x: Value, y: Value) -> Value:
    _refuse_zero(y)
    return np.fmod(x, y)


def _floor_div(x: Value, y: Value) -> Value:
    _refuse_zero(y)
    return x // y


def _floor_mod(x: Value, y: Value) -> Value:
    _refuse_zero(y)
    return x % y


def _min(x: Value, y: Value) -> Value:
    if is_array(x) or is_array(y):
        return np.where((x < y) | (x != x), x, y)
    return x if x < y or x != x else y


def _max(x: Value, y: Value) -> Value:
    if is_array(x) or is_array(y):
        return np.where((x > y) | (x != x), x, y)
    return x if x > y or x != x else y


_COMMON: Final[dict[str, Binary]] = {
    "tir.Add": lambda x, y: x + y,
    "tir.Sub": lambda x, y: x - y,
    "tir.Mul": lambda x, y: x * y,
    "tir.Min": _min,
    "tir.Max": _max,
    "tir.EQ": lambda x, y: x == y,
    "tir.NE": lambda x, y: x != y,
    "tir.LT": lambda x, y: x < y,
    "tir.LE": lambda x, y: x <= y,
    "tir.GT": lambda x, y: x > y,
    "tir.GE": lambda x, y: x >= y,
}
_INTEGER: Final[dict[str, Binary]] = {
    "tir.Div": _trunc_div,
    "tir.Mod": _trunc_mod,
    "tir.FloorDiv": _floor_div,
    "tir.FloorMod": _floor_mod,
}
_FLOAT: Final[dict[str, Binary]] = {
    "tir.Div": lambda x, y: x / y,
    "tir.Mod": np.fmod,
    "tir.FloorDiv": lambda x, y: x // y,
    "tir.FloorMod": lambda x, y: x % y,
}


_OVERFLOWING: Final = frozenset({"tir.Add", "tir.Sub", "tir.Mul", "tir.Div", "tir.FloorDiv"})


def binary_rule(type_key: str, dtype: DataType) -> Binary:
    """The meaning of a binary node on operands of a type."""
    rule = _COMMON.get(type_key) or (_FLOAT if dtype.is_floating else _INTEGER)[type_key]
    if is_odd_width(dtype) and type_key in _OVERFLOWING:
        return lambda x, y: wrap(rule(x, y), dtype)
    return rule
