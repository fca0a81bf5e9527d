"""Functions that show what becomes of Python values on their way into a registered function.

Where an expression is wanted, a number becomes a constant; what has no conversion is a TypeError
that names what was wanted and what was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from tvm.ffi import register_global_func
from tvm.ir.node import Node
from tvm.tir import IntImm, PrimFunc
from tvm.tir.expr import as_expr

_EXPR = "ir.PrimExpr"
_FUNCTION_OR_EXPR = "Variant<tir.PrimFunc, ir.PrimExpr>"
_TEXT_OR_NUMBER = "Variant<str, ir.IntImm>"


def _refuse(wanted: str, value: object) -> NoReturn:
    raise TypeError(f"Mismatched type on argument #0: Expected `{wanted}` but got `{_key(value)}`")


def _key(value: object) -> str:
    """The type key of a value, as the FFI has it."""
    if isinstance(value, Node):
        return value.TYPE_KEY
    if isinstance(value, str):
        return "ffi.String"
    kind = getattr(value, "__tvm_ffi_type_info__", None)
    return type(value).__name__ if kind is None else str(kind.type_key)


def _expr(value: Any) -> Any:
    try:
        return as_expr(value)
    except TypeError:
        _refuse(_EXPR, value)


def _each(value: Any, wanted: str, convert: Callable[[Any], Any] | None = None) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        _refuse(f"Array<{wanted}>", value)
    return [convert(item) if convert else item for item in value]


def _map(value: Any, wanted: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        _refuse(f"Map<Any, {wanted}>", value)
    return value


@register_global_func("testing.AcceptsPrimExpr")
def accepts_prim_expr(value: Any) -> Any:
    """The argument as an expression."""
    return _expr(value)


@register_global_func("testing.AcceptsArrayOfPrimExpr")
def accepts_array_of_prim_expr(values: Any) -> list[Any]:
    """The arguments as expressions."""
    return _each(values, _EXPR, _expr)


@register_global_func("testing.AcceptsArrayOfVariant")
def accepts_array_of_variant(values: Any) -> list[Any]:
    """Functions as they are, all else as expressions."""
    return _each(values, _FUNCTION_OR_EXPR, lambda v: v if isinstance(v, PrimFunc) else _expr(v))


@register_global_func("testing.AcceptsMapOfPrimExpr")
def accepts_map_of_prim_expr(values: Any) -> dict[Any, Any]:
    """The values of a map as expressions."""
    return {key: _expr(value) for key, value in _map(values, _EXPR).items()}


@register_global_func("testing.AcceptsMapReturnsValue")
def accepts_map_returns_value(values: Any, key: Any) -> Any:
    """One value of a map, as it was given."""
    return _map(values, "Any")[key]


@register_global_func("testing.AcceptsMapReturnsMap")
def accepts_map_returns_map(values: Any) -> Any:
    """A map as it was given."""
    return _map(values, "Any")


@register_global_func("testing.AcceptsObjectRefArray")
def accepts_object_ref_array(values: Any) -> Any:
    """The first of some objects."""
    return _each(values, "ffi.Object")[0]


@register_global_func("testing.AcceptsVariant")
def accepts_variant(value: Any) -> str:
    """The type key of a text or a whole number."""
    if isinstance(value, int):
        value = as_expr(value)
    if not isinstance(value, (str, IntImm)):
        _refuse(_TEXT_OR_NUMBER, value)
    return _key(value)


@register_global_func("testing.ReturnsVariant")
def returns_variant(value: int) -> IntImm | str:
    """Half of an even number; words for an odd one."""
    return "argument was odd" if value % 2 else IntImm("int64", value // 2)


@register_global_func("testing.AcceptsBool")
def accepts_bool(value: Any) -> bool:
    """A truth value, also given as a whole number."""
    return bool(_number(value, "bool"))


@register_global_func("testing.AcceptsInt")
def accepts_int(value: Any) -> int:
    """A whole number, also given as a truth value."""
    return int(_number(value, "int"))


@register_global_func("testing.GetShapeElem")
def get_shape_elem(shape: Any, index: int) -> int:
    """One extent of a shape."""
    return int(shape[index])


@register_global_func("testing.GetShapeSize")
def get_shape_size(shape: Any) -> int:
    """How many extents a shape has."""
    return len(shape)


def _number(value: Any, wanted: str) -> int:
    if isinstance(value, IntImm):
        return int(value.value)
    if not isinstance(value, int):
        _refuse(wanted, value)
    return value
