"""Functions of TensorIR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, final

from tvm.error import CheckError
from tvm.ir.attrs import DictAttrs
from tvm.ir.function import BaseFunc, as_attrs
from tvm.ir.node import Field, fields, listed, of_type, register_nodes
from tvm.ir.span import Span
from tvm.ir.type import VOID_TYPE, FuncType, Type
from tvm.support.arguments import explained
from tvm.support.frozen import FrozenArray, FrozenMap
from tvm.support.lazy import lazy_names

from .buffer import Buffer
from .expr import Var
from .stmt import Stmt, as_stmt

# what needs functions itself, or much more
__getattr__ = lazy_names(
    __name__,
    {
        "IndexMap": "tvm.tir.index_map:IndexMap",
        "TensorIntrin": "tvm.tir.intrin_registry:TensorIntrin",
    },
)


@final
class PrimFunc(BaseFunc):
    """A function over buffers and numbers.

    `buffer_map` says which handle parameters are buffers, and with which shape.
    """

    __slots__ = ("body", "buffer_map", "params", "ret_type")
    TYPE_KEY = "tir.PrimFunc"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "params*", "ret_type", "buffer_map", "attrs", "body", "struct_info_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("params", "body", "ret_type", "buffer_map", "attrs", "span")

    def __init__(
        self,
        params: Sequence[Var | Buffer],
        body: Stmt,
        ret_type: Type | None = None,
        buffer_map: Mapping[Var, Buffer] | None = None,
        attrs: DictAttrs | Mapping[str, object] | None = None,
        span: Span | None = None,
    ) -> None:
        names: list[Var] = []
        buffers = dict(buffer_map or {})
        for given in listed(params, "PrimFunc: params"):
            # the buffer variables of ir_builder stand for the buffer's data
            param = given.asobject().data if hasattr(given, "asobject") else given
            if isinstance(param, Buffer):
                # a buffer given as a parameter gets a handle of its own
                handle = Var(param.name, "handle")
                buffers[handle] = param
                names.append(handle)
            elif isinstance(param, Var):
                names.append(param)
            else:
                raise TypeError(
                    f"PrimFunc params can only be Var or Buffer, found {type(param).__name__}"
                )
        for var, buffer in buffers.items():
            of_type(var, Var, "PrimFunc: a key of buffer_map")
            of_type(buffer, Buffer, "PrimFunc: a value of buffer_map")
        unknown = [var.name for var in buffers if not any(var is p for p in names)]
        if unknown:
            raise CheckError(f"PrimFunc: buffer_map names {unknown[0]!r}, which is no parameter")
        self.params: Final[tuple[Var, ...]] = FrozenArray(names)
        self.body: Final = as_stmt(body)
        self.ret_type: Final[Type] = (
            VOID_TYPE if ret_type is None else of_type(ret_type, Type, "PrimFunc: ret_type")
        )
        self.buffer_map: Final[FrozenMap[Var, Buffer]] = FrozenMap(buffers)
        self.attrs = as_attrs(attrs)
        self.struct_info_ = None
        self.span = span

    @property
    def func_type_annotation(self) -> FuncType:
        """The types of the parameters and of the result."""
        return FuncType([p.type_annotation for p in self.params], self.ret_type)

    def with_body(self, new_body: Stmt, span: Span | None = None) -> PrimFunc:
        """This function with another body."""
        if new_body is self.body and span is None:
            return self
        return PrimFunc(
            self.params, new_body, self.ret_type, self.buffer_map, self.attrs, span or self.span
        )

    @explained
    def specialize(self, param_map: Mapping[Var, Any]) -> PrimFunc:
        """This function with values for some parameters: shapes, scalars, whole buffers."""
        from .specialize import specialize  # needs the functors, a floor of their own

        return specialize(self, param_map)


register_nodes(PrimFunc)
