"""Static types of Relax values: what is known of a value without its shape."""

from __future__ import annotations

from typing import ClassVar, Final, final

from tvm.ir.node import Field, fields, register_nodes
from tvm.ir.span import Span
from tvm.ir.type import Type
from tvm.support.dtype import DataType


@final
class ShapeType(Type):
    """A shape of `ndim` dimensions; -1 for any number."""

    __slots__ = ("ndim",)
    TYPE_KEY = "relax.ShapeType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("ndim", "span~")

    def __init__(self, ndim: int = -1, span: Span | None = None) -> None:
        self.ndim: Final = ndim
        self.span = span


@final
class ObjectType(Type):
    """Any value."""

    __slots__ = ()
    TYPE_KEY = "relax.ObjectType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("span~")

    def __init__(self, span: Span | None = None) -> None:
        self.span = span


@final
class TensorType(Type):
    """A tensor of `ndim` dimensions (-1 for any number) and of `dtype` (void for any)."""

    __slots__ = ("dtype", "ndim")
    TYPE_KEY = "relax.DynTensorType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("ndim", "dtype", "span~")

    def __init__(
        self, ndim: int = -1, dtype: DataType | str = "float32", span: Span | None = None
    ) -> None:
        self.ndim: Final = ndim
        self.dtype: Final = DataType(dtype)
        self.span = span


@final
class PackedFuncType(Type):
    """A function that is known by its name only."""

    __slots__ = ()
    TYPE_KEY = "relax.PackedFuncType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("span~")

    def __init__(self, span: Span | None = None) -> None:
        self.span = span


register_nodes(ShapeType, ObjectType, TensorType, PackedFuncType)
