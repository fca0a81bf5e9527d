"""How values are written in Relay's text: numbers with their types, strings, attributes."""

from __future__ import annotations

from typing import Any

from tvm.support.dtype import DataType
from tvm.tir.expr import FloatImm, IntImm

VERSION = '#[version = "0.0.5"]\n'

_INTS = {"int32": "", "int8": "i8", "int16": "i16", "int64": "i64",
         "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64"}  # fmt: skip
BY_NAME = ("int8", "uint8", "uint16", "uint32", "uint64")  # constants that are in the meta section
_FLOATS = {"float16": "f16", "float32": "f", "float64": "f64", "bfloat16": "bf16"}


def number_text(value: Any, dtype: DataType | str) -> str | None:
    """A number with the letters that tell its type; None for types that no literal has."""
    name = str(dtype)
    if name == "bool":
        return "True" if value else "False"
    if name in _INTS:
        return f"{int(value)}{_INTS[name]}"
    if name in _FLOATS:
        return _float_text(value, name) + _FLOATS[name]
    return None


def _float_text(value: Any, dtype: str) -> str:
    """The shortest digits that give the same number back."""
    import numpy as np

    kinds: dict[str, Any] = {"float16": np.float16, "float64": np.float64}
    number = kinds.get(dtype, np.float32)(value)
    if not np.isfinite(number):
        return str(float(number))
    if number == 0 or 1e-4 <= abs(float(number)) < 1e6:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=2)


def string_text(value: str) -> str:
    """A string in double quotes."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def attribute_text(value: Any) -> str | None:
    """An attribute's value; None for what has no text of its own."""
    if value is None:
        return "None"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return _float_text(value, "float64") + "f"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, (IntImm, FloatImm)):
        return number_text(value.value, value.dtype)
    if isinstance(value, (tuple, list)):
        items = [attribute_text(item) for item in value]
        return None if None in items else "[" + ", ".join(map(str, items)) + "]"
    return None
