"""Struct infos as scripts write them: `R.Tensor(("n", 4), "float32")`.

What has no strings in it is a struct info at once, so `relax.Var("x", R.Tensor((2, 3)))` is one
too. A proxy holds what was written otherwise, until the names in its strings are known.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import ScriptError, TVMError
from tvm.ffi.object import Object as FFIObject
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.script.ir_dialect.builder import lookup_vdevice
from tvm.script.parser.core.diagnostics import Source
from tvm.script.parser.core.parser import Parser

Names = Mapping[str, Any]


class StructInfoProxy(FFIObject):
    """A struct info as it was written."""

    def as_struct_info(self, dict_globals: Names | None = None) -> StructInfo:
        """The struct info, with names for the strings in it."""
        raise TypeError(f"{type(self).__name__} says no struct info")

    def get_symbolic_vars(self) -> set[str]:
        """The symbols that its strings name."""
        return set()

    def is_known(self) -> bool:
        """True if there are no strings in it that names have to be known for."""
        return True

    def asobject(self) -> StructInfo:
        """The struct info, where it has no strings."""
        return self.as_struct_info(None)


def as_struct_info(value: Any, names: Names | None = None) -> StructInfo:
    """The struct info of an annotation: a struct info, a proxy, or a word such as `R.Object`."""
    if isinstance(value, StructInfo):
        return value
    proxy = as_proxy(value)
    return proxy.as_struct_info(names)


def as_proxy(value: Any) -> StructInfoProxy:
    """The proxy of an annotation."""
    if value is None:
        return TupleProxy()
    if isinstance(value, StructInfo):
        return _Known(value)
    if callable(value) and not isinstance(value, StructInfoProxy):
        value = value()
        if isinstance(value, StructInfo):
            return _Known(value)
    if not isinstance(value, StructInfoProxy):
        raise TypeError(
            f"Expected StructInfo but got {type(value).__name__}; legal: R.Tensor, R.Shape, "
            "R.Tuple, R.Prim, R.Callable, R.Object"
        )
    return value


class _Known(StructInfoProxy):
    def __init__(self, info: StructInfo) -> None:
        self.info = info

    def as_struct_info(self, dict_globals: Names | None = None) -> StructInfo:
        return self.info


def value_of(text: str, names: Names | None) -> Any:
    """The value of an expression that is written as a string."""
    if names is None:
        raise ScriptError(
            f"the string {text!r} in a struct info is legal only in the parameters and the result "
            "of an R.function; elsewhere declare the symbol: n = T.int64()"
        )
    if text.isidentifier():
        if text not in names:
            raise ScriptError(f"the symbolic variable {text!r} is not defined here")
        return names[text]
    tree = ast.parse(text, mode="eval")
    return Parser(Source(text), outer_names=names).eval_expr(tree)


def _without_strings(values: Any) -> bool:
    return isinstance(values, RelaxExpr) or not any(isinstance(v, str) for v in values or ())


def _symbols(values: Sequence[Any] | None) -> set[str]:
    return {v for v in values or () if isinstance(v, str) and v.isidentifier()}


def _dims(values: Sequence[Any], names: Names | None) -> list[Any]:
    return [value_of(v, names) if isinstance(v, str) else v for v in values]


class ObjectProxy(StructInfoProxy):
    """Any value."""

    def as_struct_info(self, dict_globals: Names | None = None) -> ObjectStructInfo:
        return ObjectStructInfo()


class TensorProxy(StructInfoProxy):
    """A tensor."""

    shape: Any
    dtype: str | None
    vdevice: Any
    ndim: int

    def __init__(
        self, shape: Any = None, dtype: str | None = None, vdevice: Any = None, ndim: int = -1
    ) -> None:
        if isinstance(shape, RelaxExpr):
            self.shape = shape
        else:
            self.shape = None if shape is None else list(shape)
        self.dtype = dtype
        self.vdevice = vdevice
        self.ndim = ndim

    def get_symbolic_vars(self) -> set[str]:
        return set() if isinstance(self.shape, RelaxExpr) else _symbols(self.shape)

    def is_known(self) -> bool:
        return _without_strings(self.shape) and not isinstance(self.vdevice, str)

    def as_struct_info(self, dict_globals: Names | None = None) -> TensorStructInfo:
        device = self.vdevice
        if isinstance(device, str):
            device = vdevice_of(device)
        shape = self.shape
        if shape is not None and not isinstance(shape, RelaxExpr):
            shape = _dims(shape, dict_globals)
        return TensorStructInfo(shape, self.dtype, device, self.ndim)


def vdevice_of(text: str) -> VDevice | None:
    """The module's device called `llvm:0:global`, `llvm:0`, or by its number: `vdevice:0`, `0`."""
    if ":" not in text:
        if text.isdigit():
            return lookup_vdevice(None, int(text))
        return lookup_vdevice(text, 0)
    kind, number = text.split(":")[:2]
    return lookup_vdevice(None if kind == "vdevice" else kind, int(number))


class CallableProxy(StructInfoProxy):
    """A function."""

    def __init__(
        self,
        params: Any = None,
        ret: Any = None,
        purity: bool | None = None,
        derive_func: Any = None,
    ) -> None:
        if params is not None and not isinstance(params, (list, tuple)):
            params = [params]
        self.params = None if params is None else [as_proxy(param) for param in params]
        self.ret = None if ret is None else as_proxy(ret)
        self.purity = purity
        self.derive_func = derive_func

    def get_symbolic_vars(self) -> set[str]:
        if self.params is None:
            return set()
        return {name for param in self.params for name in param.get_symbolic_vars()}

    def is_known(self) -> bool:
        parts = [*(self.params or ()), *([] if self.ret is None else [self.ret])]
        return all(part.is_known() for part in parts)

    def as_struct_info(self, dict_globals: Names | None = None) -> FuncStructInfo:
        ret = None if self.ret is None else self.ret.as_struct_info(dict_globals)
        if self.params is None:
            return FuncStructInfo.opaque_func(
                ret=ret, derive_func=self.derive_func, purity=bool(self.purity)
            )
        params = [param.as_struct_info(dict_globals) for param in self.params]
        pure = True if self.purity is None else self.purity
        return FuncStructInfo(params, ObjectStructInfo() if ret is None else ret, pure)


class TupleProxy(StructInfoProxy):
    """A tuple."""

    def __init__(self, *fields: Any) -> None:
        given = fields[0] if len(fields) == 1 and isinstance(fields[0], (tuple, list)) else fields
        self.fields = [as_proxy(field) for field in given]

    def get_symbolic_vars(self) -> set[str]:
        return {name for field in self.fields for name in field.get_symbolic_vars()}

    def is_known(self) -> bool:
        return all(field.is_known() for field in self.fields)

    def as_struct_info(self, dict_globals: Names | None = None) -> TupleStructInfo:
        return TupleStructInfo([field.as_struct_info(dict_globals) for field in self.fields])


class ShapeProxy(StructInfoProxy):
    """A shape."""

    def __init__(self, values: Sequence[Any] | None = None, ndim: int = -1) -> None:
        self.values = values
        self.ndim = ndim

    def get_symbolic_vars(self) -> set[str]:
        return _symbols(self.values)

    def is_known(self) -> bool:
        return _without_strings(self.values)

    def as_struct_info(self, dict_globals: Names | None = None) -> ShapeStructInfo:
        values = None if self.values is None else _dims(self.values, dict_globals)
        return ShapeStructInfo(values, self.ndim)


class PrimProxy(StructInfoProxy):
    """A number."""

    def __init__(self, dtype: str | None = None, value: Any = None) -> None:
        if dtype is None and value is None:
            raise TypeError("R.Prim must specify either the dtype or the value")
        self.dtype = dtype
        self.value = value

    def get_symbolic_vars(self) -> set[str]:
        return _symbols([self.value])

    def is_known(self) -> bool:
        return not isinstance(self.value, str)

    def as_struct_info(self, dict_globals: Names | None = None) -> PrimStructInfo:
        if self.value is None:
            return PrimStructInfo(self.dtype)
        value = self.value
        if isinstance(value, str):
            value = value_of(value, dict_globals)
        if not isinstance(value, PrimExpr) and self.dtype is None:
            kind = "bool" if isinstance(value, bool) else "int64"
            return PrimStructInfo(kind if isinstance(value, int) else "float32", value)
        return PrimStructInfo(self.dtype, value)


def _made(proxy: StructInfoProxy) -> Any:
    """The struct info, or the proxy where names have to be known first.

    One that cannot be made stays a proxy, too: the parser tells of it, where it stands.
    """
    try:
        return proxy.as_struct_info(None) if proxy.is_known() else proxy
    except (TVMError, TypeError, ValueError):
        return proxy


def Object() -> Any:
    """Any value."""
    return _made(ObjectProxy())


def Tensor(
    shape: Any = None, dtype: str | None = None, vdevice: Any = None, ndim: int = -1
) -> Any:
    """A tensor: shape with numbers, symbols or quoted symbols, dtype, device."""
    if isinstance(shape, str) and dtype is None:
        dtype, shape = shape, None
    if shape is not None and not isinstance(shape, (tuple, list, RelaxExpr)):
        raise ValueError(f"shape must be a list or tuple or an Expr, but got: {shape}")
    return _made(TensorProxy(shape, dtype, vdevice, ndim))


def Callable(
    params: Any = None, ret: Any = None, purity: bool | None = None, derive_func: Any = None
) -> Any:
    """A function from `params` to `ret`; without `params` one of which little is known."""
    return _made(CallableProxy(params, ret, purity, derive_func))


def Tuple(*fields: Any) -> Any:
    """A tuple."""
    return _made(TupleProxy(*fields))


def Shape(values: Sequence[Any] | None = None, ndim: int = -1) -> Any:
    """A shape."""
    return _made(ShapeProxy(values, ndim))


def Prim(dtype: str | None = None, value: Any = None) -> Any:
    """A number."""
    return _made(PrimProxy(dtype, value))
