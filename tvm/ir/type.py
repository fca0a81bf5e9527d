"""Types of variables and functions."""

from __future__ import annotations

from typing import ClassVar, Final, final

from tvm.support.compiled import mypyc_attr
from tvm.support.dtype import DataType

from .node import Field, Node, all_of_type, fields, register_nodes
from .scriptable import PRINTERS
from .span import Span


@mypyc_attr(allow_interpreted_subclasses=True)
class Type(Node):
    """The root of all types. Two types are equal when they say the same."""

    __slots__ = ("span",)
    TYPE_KEY = "ir.Type"
    span: Span | None

    def _content(self) -> tuple[object, ...]:
        return tuple([getattr(self, f.name) for f in self.FIELDS if not f.ignored])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.TYPE_KEY, self._content()))


@final
class PrimType(Type):
    """A plain value of one data type."""

    __slots__ = ("dtype",)
    TYPE_KEY = "ir.PrimType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dtype", "span~")

    def __init__(self, dtype: DataType | str, span: Span | None = None) -> None:
        self.dtype: Final = DataType(dtype)
        self.span = span


@final
class PointerType(Type):
    """The address of values of `element_type` in memory of `storage_scope`."""

    __slots__ = ("element_type", "storage_scope")
    TYPE_KEY = "ir.PointerType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("element_type", "storage_scope", "span~")

    def __init__(
        self, element_type: Type, storage_scope: str = "", span: Span | None = None
    ) -> None:
        self.element_type: Final = element_type
        # The empty scope and "global" are one; a single spelling keeps equality simple.
        self.storage_scope: Final = storage_scope or "global"
        self.span = span


@final
class TupleType(Type):
    """Several values; the empty tuple is the type of a statement."""

    __slots__ = ("fields",)
    TYPE_KEY = "ir.TupleType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("fields", "span~")

    def __init__(self, fields: tuple[Type, ...] | list[Type], span: Span | None = None) -> None:
        self.fields: Final[tuple[Type, ...]] = tuple(all_of_type(fields, Type, "TupleType: fields"))
        self.span = span

    def __repr__(self) -> str:
        if self._is_of_relay():
            return PRINTERS.get("relay")(self, {"show_meta_data": False, "head": False})
        return self.script()

    def __str__(self) -> str:
        return self.__repr__()

    def _is_of_relay(self) -> bool:
        todo = list(self.fields)
        while todo:
            part = todo.pop()
            if isinstance(part, TupleType):
                todo += part.fields
            elif part.TYPE_KEY.startswith("relay."):
                return True
        return False


@mypyc_attr(allow_interpreted_subclasses=True)
class FuncType(Type):
    """Argument types to a return type."""

    __slots__ = ("arg_types", "ret_type")
    TYPE_KEY = "ir.FuncType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("arg_types", "ret_type", "span~")

    def __init__(
        self, arg_types: tuple[Type, ...] | list[Type], ret_type: Type, span: Span | None = None
    ) -> None:
        self.arg_types: Final[tuple[Type, ...]] = tuple(
            all_of_type(arg_types, Type, "FuncType: arg_types")
        )
        self.ret_type: Final = ret_type
        self.span = span


@final
class TensorMapType(Type):
    """A descriptor for bulk tensor copies on GPUs."""

    __slots__ = ()
    TYPE_KEY = "ir.TensorMapType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("span~")

    def __init__(self, span: Span | None = None) -> None:
        self.span = span


VOID_TYPE: Final = TupleType(())

register_nodes(PrimType, PointerType, TupleType, FuncType, TensorMapType)
