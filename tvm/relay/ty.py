"""Types of Relay: tensors, functions, tuples, references, algebraic data, and their variables."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any as AnyValue
from typing import ClassVar, Final, TypeAlias, final

from tvm.error import TVMError
from tvm.ir.expr import PrimExpr
from tvm.ir.node import Field, fields, register_nodes
from tvm.ir.span import Span
from tvm.ir.structural import structural_equal, structural_hash
from tvm.ir.type import FuncType as FunctionOfTypes
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall, TypeConstraint, TypeRelation
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar

__all__ = [
    "Any", "FuncType", "GlobalTypeVar", "IncompleteType", "RefType", "ShapeVar", "TensorType",
    "TupleType", "Type", "TypeCall", "TypeConstraint", "TypeKind", "TypeRelation", "TypeVar",
    "is_dynamic", "scalar_type",
]  # fmt: skip

Dim: TypeAlias = "PrimExpr | int"


class TypeKind(IntEnum):
    """What a type variable stands for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


@final
class Any(PrimExpr):
    """An extent that is known only when the program runs."""

    __slots__ = ()
    TYPE_KEY = "relay.Any"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("span~")

    def __init__(self, span: Span | None = None) -> None:
        self.dtype = DataType("int32")
        self.span = span

    def __repr__(self) -> str:
        return "?"

    __str__ = __repr__


class RelayType(Type):
    """A type that is compared by structure."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Type) and structural_equal(self, other))

    def __hash__(self) -> int:
        return structural_hash(self)

    def __repr__(self) -> str:
        from .text_printer import type_text  # the printer reads these words

        return type_text(self)

    __str__ = __repr__


@final
class TensorType(RelayType):
    """A tensor: its extents (numbers, variables, `Any`) and the type of an element."""

    __slots__ = ("dtype", "shape")
    TYPE_KEY = "relay.TensorType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("shape", "dtype", "span~")

    @explained
    def __init__(
        self, shape: Sequence[Dim], dtype: str = "float32", span: Span | None = None
    ) -> None:
        if isinstance(shape, (int, PrimExpr)):
            raise TypeError(
                f"TensorType: the shape is a {type(shape).__name__}; legal: a tuple of extents"
            )
        self.shape: Final = tuple([as_dim(extent) for extent in shape])
        self.dtype: Final = DataType(dtype)
        self.span = span

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The extents as numbers; a TypeError if one is not known."""
        return tuple([_number(extent) for extent in self.shape])


def _number(extent: PrimExpr) -> int:
    if isinstance(extent, IntImm):
        return int(extent.value)
    raise TypeError(f"the extent {extent} is not a number; legal: types of known shape")


def as_dim(extent: AnyValue) -> PrimExpr:
    """An extent as an expression; whole numbers become 32-bit ones unless they are too large."""
    if isinstance(extent, PrimExpr):
        return extent
    value = int(extent)
    if value != extent:
        raise TypeError(f"an extent is {extent!r}; legal: whole numbers, expressions, relay.Any()")
    return IntImm("int32" if -(2**31) <= value < 2**31 else "int64", value)


@final
class TypeVar(RelayType):
    """A type that a function or a data type leaves open."""

    __slots__ = ("kind", "name_hint")
    TYPE_KEY = "relay.TypeVar"
    EQUALITY = "var"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name_hint~", "kind", "span~")

    def __init__(
        self, name_hint: str, kind: TypeKind = TypeKind.Type, span: Span | None = None
    ) -> None:
        self.name_hint: Final = name_hint
        self.kind: Final = TypeKind(kind)
        self.span = span

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __call__(self, *args: Type) -> TypeCall:
        """This type function applied to types."""
        return TypeCall(self, args)


@final
class GlobalTypeVar(RelayType):
    """The name of a data type of a module."""

    __slots__ = ("kind", "name_hint")
    TYPE_KEY = "relay.GlobalTypeVar"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name_hint", "kind", "span~")

    def __init__(
        self, name_hint: str, kind: TypeKind = TypeKind.AdtHandle, span: Span | None = None
    ) -> None:
        self.name_hint: Final = name_hint
        self.kind: Final = TypeKind(kind)
        self.span = span

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalTypeVar) and self.name_hint == other.name_hint

    def __hash__(self) -> int:
        return hash(self.name_hint)

    def __call__(self, *args: Type) -> TypeCall:
        """The data type for these type arguments."""
        return TypeCall(self, args)


@final
class IncompleteType(RelayType):
    """A type that is still to be found."""

    __slots__ = ("kind",)
    TYPE_KEY = "relay.IncompleteType"
    EQUALITY = "var"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("kind", "span~")

    def __init__(self, kind: TypeKind = TypeKind.Type, span: Span | None = None) -> None:
        self.kind: Final = TypeKind(kind)
        self.span = span

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return object.__hash__(self)


@final
class FuncType(RelayType, FunctionOfTypes):
    """Argument types to a result type, for all choices of `type_params`."""

    __slots__ = ("type_constraints", "type_params")
    TYPE_KEY = "relay.FuncType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "type_params*", "type_constraints", "arg_types", "ret_type", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = (
        "arg_types", "ret_type", "type_params", "type_constraints", "span",
    )  # fmt: skip

    @explained
    def __init__(
        self,
        arg_types: Sequence[Type],
        ret_type: Type,
        type_params: Sequence[TypeVar] | None = None,
        type_constraints: Sequence[TypeConstraint] | None = None,
        span: Span | None = None,
    ) -> None:
        parts = [_type(found, "FuncType") for found in arg_types]
        super().__init__(parts, _type(ret_type, "FuncType"), span)
        self.type_params: Final = tuple(type_params or ())
        self.type_constraints: Final = tuple(type_constraints or ())


@final
class RefType(RelayType):
    """A reference to a value, which may be replaced."""

    __slots__ = ("value",)
    TYPE_KEY = "relay.RefType"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("value", "span~")

    def __init__(self, value: Type, span: Span | None = None) -> None:
        self.value: Final = _type(value, "RefType")
        self.span = span


def _type(found: Type, owner: str) -> Type:
    if not isinstance(found, Type):
        raise TypeError(f"{owner}: a part is a {type(found).__name__}; legal: types")
    return found


def is_dynamic(tensor_type: Type) -> bool:
    """True when an extent anywhere in the type is no number."""
    if isinstance(tensor_type, TensorType):
        return not all(isinstance(extent, IntImm) for extent in tensor_type.shape)
    if isinstance(tensor_type, TupleType):
        return any(is_dynamic(field) for field in tensor_type.fields)
    if isinstance(tensor_type, FuncType):
        return any(is_dynamic(t) for t in (*tensor_type.arg_types, tensor_type.ret_type))
    raise TVMError(
        f"is_dynamic: the type is {tensor_type}; legal: tensors, tuples and functions of them"
    )


def ShapeVar(name: str) -> TypeVar:
    """A type variable that stands for a shape."""
    return TypeVar(name, kind=TypeKind.ShapeVar)


def scalar_type(dtype: str) -> TensorType:
    """A tensor without dimensions."""
    return TensorType((), dtype)


def size_var(name: str) -> TirVar:
    """A named extent."""
    return TirVar(name, "int32")


register_nodes(Any, TensorType, TypeVar, GlobalTypeVar, IncompleteType, FuncType, RefType)
