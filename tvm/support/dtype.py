"""Data types as interned strings: `DataType("float32x4")` knows its code, bits and lanes.

Being a `str` it compares, hashes and prints as the name; being interned it is made once a name.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import ClassVar, cast

from typing_extensions import Self

# Type codes of the DLPack standard (dlpack.h, DLDataTypeCode), as the runtime ABI uses them.
INT, UINT, FLOAT, HANDLE, BFLOAT, COMPLEX, BOOL = 0, 1, 2, 3, 4, 5, 6
_FLOAT8 = {
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
_FLOAT6 = {"float6_e2m3fn": 15, "float6_e3m2fn": 16}
_FLOAT4 = {"float4_e2m1fn": 17}


def narrow_float_of(code: int) -> str | None:
    """The floating type of 8 bits or less with a type code; None for other codes."""
    known = {**_FLOAT8, **_FLOAT6, **_FLOAT4}
    return next((name for name, own in known.items() if own == code), None)


class DataTypeCode(IntEnum):
    """The type codes by name."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    BOOL = 6
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


_NAMED: dict[str, tuple[int, int]] = {
    **{name: (code, 8) for name, code in _FLOAT8.items()},
    **{name: (code, 6) for name, code in _FLOAT6.items()},
    **{name: (code, 4) for name, code in _FLOAT4.items()},
    "bool": (BOOL, 8),
    "handle": (HANDLE, 64),
    "void": (HANDLE, 0),
    "": (HANDLE, 0),
    "bfloat16": (BFLOAT, 16),
    "bfloat": (BFLOAT, 16),
    "float": (FLOAT, 32),
    "int": (INT, 32),
    "uint": (UINT, 32),
}
_FORM = re.compile(r"(?P<base>.*?)(?:x(?P<scale>vscalex)?(?P<lanes>\d+))?$")
_NUMBERED = re.compile(r"(int|uint|float|bfloat|handle|complex)(\d+)$")
_CODES = {
    "int": INT,
    "uint": UINT,
    "float": FLOAT,
    "bfloat": BFLOAT,
    "handle": HANDLE,
    "complex": COMPLEX,
}
_SHORT = {"float": "float32", "int": "int32", "uint": "uint32", "bfloat": "bfloat16", "void": ""}
_CUSTOM = re.compile(r"custom\[(?P<name>[A-Za-z_]\w*)\](?P<bits>\d+)$")
CUSTOM_FIRST_CODE = 129
_custom_codes: dict[str, int] = {}


def custom_type_code(name: str) -> int:
    """The code of a user's `custom[name]` type; a name gets the next free code at its first use."""
    return _custom_codes.setdefault(name, CUSTOM_FIRST_CODE + len(_custom_codes))


def register_custom_type(name: str, code: int) -> None:
    """Fix the code of `custom[name]`."""
    _custom_codes[name] = code


def custom_types() -> dict[str, int]:
    """All custom type names with their codes."""
    return dict(_custom_codes)


class DataType(str):
    """A data type: scalar (`int32`), vector (`float32x8`) or scalable vector (`int8xvscalex16`)."""

    __slots__ = ("bits", "is_bool", "is_float", "is_int", "is_scalable", "is_uint",
                 "lanes", "type_code")  # fmt: skip
    _made: ClassVar[dict[str, DataType]] = {}

    type_code: int
    bits: int
    lanes: int
    is_scalable: bool
    is_int: bool
    is_uint: bool
    is_float: bool
    is_bool: bool

    def __new__(cls, name: object) -> Self:
        if type(name) is DataType:
            return cast(Self, name)
        text = name if isinstance(name, str) else _name_of(name)
        found = cls._made.get(text)
        if found is None:
            try:
                found = _parse(text)
            except ValueError as error:
                if isinstance(name, str):
                    raise
                raise TypeError(f"a {type(name).__name__} is no data type: {error}") from None
            cls._made[text] = found
        return cast(Self, found)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return (DataType, (str(self),))

    @property
    def is_handle(self) -> bool:
        """An address, and not void."""
        return self.type_code == HANDLE and self.bits != 0

    @property
    def is_void(self) -> bool:
        """No value at all."""
        return self.type_code == HANDLE and self.bits == 0

    @property
    def is_bfloat16(self) -> bool:
        """Brain floating point of 16 bits."""
        return self.type_code == BFLOAT and self.bits == 16

    @property
    def is_float8(self) -> bool:
        """One of the 8-bit floating types."""
        return 7 <= self.type_code <= 14

    @property
    def is_custom(self) -> bool:
        """A user's own type, `custom[name]bits`."""
        return self.type_code >= CUSTOM_FIRST_CODE

    @property
    def is_floating(self) -> bool:
        """Any floating type: f16, f32, f64, bf16, f8, f6, f4."""
        return self.is_float or self.type_code == BFLOAT or 7 <= self.type_code <= 17

    @property
    def is_integer(self) -> bool:
        """Signed or unsigned integer, not bool."""
        return self.is_int or self.is_uint

    @property
    def is_vector(self) -> bool:
        """More than one lane, or a scalable count of them."""
        return self.lanes > 1 or self.is_scalable

    @property
    def is_scalar(self) -> bool:
        """Exactly one lane."""
        return self.lanes == 1 and not self.is_scalable

    @property
    def itemsize(self) -> int:
        """Bytes of one value, all lanes together, rounded up."""
        if self.is_scalable:
            raise ValueError(f"Cannot determine itemsize for scalable vector types: {self}")
        return (self.bits * self.lanes + 7) // 8

    def element_of(self) -> DataType:
        """The type of one lane."""
        return self if self.is_scalar else _ELEMENTS[self]

    def with_lanes(self, lanes: int, scalable: bool = False) -> DataType:
        """The vector type of this element with `lanes` lanes (times vscale if scalable)."""
        element = self.element_of()
        if lanes == 1 and not scalable:
            return element
        return DataType(f"{element}x{'vscalex' if scalable else ''}{lanes}")

    def with_bits(self, bits: int) -> DataType:
        """The same kind of number with another width."""
        for prefix, code in _CODES.items():
            if code == self.type_code:
                return DataType(f"{prefix}{bits}").with_lanes(self.lanes, self.is_scalable)
        raise ValueError(f"the width of {self} is fixed")


_ELEMENTS: dict[DataType, DataType] = {}


def _name_of(value: object) -> str:
    """The name of a numpy dtype, a Python type, or another library's dtype."""
    if value is None:
        return "void"
    if value is bool:
        return "bool"
    if value is int:
        return "int32"
    if value is float:
        return "float32"
    name = getattr(value, "name", None)  # numpy.dtype
    if isinstance(name, str) and not hasattr(value, "dtype"):
        return name
    if isinstance(value, type):  # numpy.float32, ml_dtypes.bfloat16
        return value.__name__.rstrip("_")
    text = str(value)
    return text.removeprefix("torch.")


def _parse(text: str) -> DataType:
    shape = _FORM.match(text)
    if shape is None:
        raise ValueError(f"unknown data type {text!r}: it has several lines")
    base, lanes = shape["base"], int(shape["lanes"] or 1)
    scalable = shape["scale"] is not None
    if text == "":
        base, lanes, scalable = "", 1, False
    code, bits = _code_and_bits(base, text)
    if lanes < 1:
        raise ValueError(f"unknown data type {text!r}: a vector has at least one lane")
    name = _SHORT.get(base, base) or "void"
    vector = lanes != 1 or scalable
    if base.startswith("bool") or base == "uint1":
        name = "uint1" if vector else "bool"  # as all users of vectors of bool write them
    if base == "handle64":
        name = "handle"
    full = name + (f"x{'vscalex' if scalable else ''}{lanes}" if vector else "")
    known = DataType._made.get(full)
    if known is not None:
        return known
    dtype = str.__new__(DataType, full)
    dtype.type_code, dtype.bits, dtype.lanes, dtype.is_scalable = code, bits, lanes, scalable
    dtype.is_int, dtype.is_uint = code == INT, code == UINT
    dtype.is_float, dtype.is_bool = code == FLOAT, code == BOOL
    DataType._made[full] = dtype
    if vector:
        _ELEMENTS[dtype] = DataType(name)
    return dtype


def _code_and_bits(base: str, text: str) -> tuple[int, int]:
    known = _NAMED.get("bool" if base == "uint1" else base)
    if known is not None:
        return known
    numbered = _NUMBERED.match(base)
    if numbered is not None:
        return _CODES[numbered[1]], int(numbered[2])
    if base in ("bool1", "bool8"):
        return _NAMED["bool"]
    custom = _CUSTOM.match(base)
    if custom is not None:
        return custom_type_code(custom["name"]), int(custom["bits"])
    raise ValueError(
        f"unknown data type {text!r}; legal: bool, int8 ... int64, uint8 ... uint64, float16, "
        "float32, float64, bfloat16, the float8, float6 and float4 names, handle, "
        "custom[name]bits, and any of them with x<lanes>"
    )
