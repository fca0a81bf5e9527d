"""The words of `R` that make values: tuples, shapes, numbers, strings, outside calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.node import make_node
from tvm.relax.expr import (
    Call,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    StringImm,
    Tuple,
    convert_to_expr,
)
from tvm.relax.struct_info import ShapeExpr
from tvm.script.ir_builder.base import IRBuilder
from tvm.script.ir_dialect.frame import IRModuleFrame
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm

from .proxies import as_struct_info


def tuple_of(*fields: Any) -> Tuple:
    """Several values as one."""
    given = fields[0] if len(fields) == 1 and isinstance(fields[0], (list, tuple)) else fields
    return Tuple(given)


def shape(value: list[PrimExpr]) -> ShapeExpr:
    """A shape."""
    return ShapeExpr(value)


def prim_value(value: PrimExpr | float) -> PrimValue:
    """A number; True and False are the truth values here, as the printer writes them."""
    return PrimValue(IntImm("bool", int(value)) if isinstance(value, bool) else value)


def string(value: str) -> StringImm:
    """A string."""
    return StringImm(value)


def dtype(value: str | DataType) -> DataTypeImm:
    """A data type."""
    return DataTypeImm(value)


def call_packed(
    func: Any,
    *args: RelaxExpr,
    sinfo_args: StructInfo | Sequence[StructInfo] | None = None,
    attrs_type_key: str = DictAttrs.TYPE_KEY,
    **kwargs: Any,
) -> Call:
    """A call of a function that is found by name at run time, with attributes of any class."""
    op = func if isinstance(func, RelaxExpr) else ExternFunc(func)
    given = sinfo_args if isinstance(sinfo_args, (list, tuple)) else [sinfo_args]
    infos = [] if sinfo_args is None else [as_struct_info(info) for info in given]
    attrs: Any = None
    if kwargs and attrs_type_key != DictAttrs.TYPE_KEY:
        attrs = make_node(attrs_type_key, **kwargs)
    elif kwargs:
        attrs = DictAttrs(kwargs)
    return Call(op, [convert_to_expr(arg) for arg in args], attrs, infos)


def global_var(name: Any) -> GlobalVar:
    """The function called `name` of the module under construction."""
    if isinstance(name, GlobalVar):
        return name
    module = IRBuilder.current().find(IRModuleFrame) if IRBuilder.is_in_scope() else None
    found = None if module is None else module.global_vars.get(name)
    return GlobalVar(name) if found is None else found
