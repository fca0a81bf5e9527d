"""`T.int32`, `T.float32x4`, `T.handle` and their kind: variables, literals, casts, annotations."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType, PrimType
from tvm.script.ir_builder.base import IRBuilder
from tvm.support.dtype import DataType
from tvm.tir.expr import IterVar, SizeVar, Var, as_expr
from tvm.tir.op.arith import cast, const


def _var(dtype: Any, is_size_var: bool) -> Var:
    span = IRBuilder.current().span if IRBuilder.is_in_scope() else None
    return SizeVar("", dtype, span) if is_size_var else Var("", dtype, span)


class DTypeWord:
    """A data type as scripts use it.

    `T.int32()` is a new variable, `T.int32(1)` a literal, `T.int32(x)` a cast, `T.int32` an
    annotation.
    """

    __slots__ = ("__name__", "dtype")

    def __init__(self, dtype: str, name: str) -> None:
        self.dtype: Final = DataType(dtype)
        self.__name__ = name

    def __call__(self, expr: Any = None, is_size_var: bool = False) -> PrimExpr:
        if expr is None:
            return _var(self.dtype, is_size_var)
        if isinstance(expr, str):  # "inf", "-inf", "nan"
            expr = float(expr)
        if isinstance(expr, (PrimExpr, IterVar)):
            return cast(as_expr(expr), self.dtype)
        return const(expr, self.dtype)

    def __repr__(self) -> str:
        return f"T.{self.__name__}"


def handle(
    dtype: str | None = None, storage_scope: str = "global", *, is_size_var: bool = False
) -> Var:
    """A new variable that is an address: of anything, or of elements of `dtype`."""
    if dtype is None:
        return _var("handle", is_size_var)
    return _var(PointerType(PrimType(dtype), storage_scope), is_size_var)


def ptr(dtype: str, storage_scope: str = "global", is_size_var: bool = False) -> Var:
    """A new variable that is the address of elements of `dtype`."""
    return handle(dtype, storage_scope, is_size_var=is_size_var)


def buffer_var(dtype: str, storage_scope: str = "global") -> Var:
    """A new variable for the memory of a buffer."""
    return handle(dtype, storage_scope)


def var(dtype: str, name: str = "") -> Var:
    """A new variable."""
    made = _var(DataType(dtype), False)
    return made.copy_with_name(name) if name else made


def void(expr: Any = None, *, is_size_var: bool = False) -> PrimExpr:
    """A value of no type; scripts use it as an annotation."""
    return DTypeWord("void", "void")(expr, is_size_var)


def func_gen(name: str) -> Callable[..., PrimExpr]:
    """The word of a data type."""
    return DTypeWord(name if name.startswith("custom[") else name.lower(), name)


_PLAIN: Final = re.compile(r"([a-z]+)[0-9]+(x|$)")
# The widths of what is called by a name and its width alone, as `float32`.
_WIDTHS: Final = {
    "int": range(1, 65), "uint": range(1, 65), "float": (16, 32, 64), "bfloat": (16,),
}  # fmt: skip
_LANES: Final = ("", "x2", "x4", "x8", "x16", "x32", "x64")
_SCALABLE: Final = tuple(f"xvscalex{n}" for n in (1, 2, 4, 8, 16, 32, 64))
_ELEMENTS: Final = (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn",
    "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip


def find_dtype(name: str) -> DTypeWord | None:
    """The word `T.<name>` if it is a data type: integers of any width, and any number of lanes."""
    if name in ("boolean", "bool"):
        return DTypeWord("bool", name)
    try:
        dtype = DataType(name)
    except ValueError:
        return None
    if dtype.is_handle or dtype.is_void or str(dtype) != name:
        return None
    plain = _PLAIN.match(name)
    if plain is not None and dtype.bits not in _WIDTHS.get(plain[1], ()):
        return None
    return DTypeWord(name, name)


def dtype_names() -> list[str]:
    """The data types that are words of `T` by name; other widths are found too."""
    return [f"{element}{lanes}" for element in _ELEMENTS for lanes in (*_LANES, *_SCALABLE)]
