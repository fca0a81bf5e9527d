"""What all Relax expressions have in common: calls, items, arithmetic, identity of variables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar, final

from typing_extensions import Self

from tvm.error import message
from tvm.ir.expr import OPERATORS, RelaxExpr
from tvm.ir.node import Field, Node, fields, register_nodes

X = TypeVar("X", bound="ExprWithOp")
Part = TypeVar("Part")


def expect(kind: type | tuple[type, ...], value: object, at: int, call: str) -> None:
    """TypeError unless argument `at` of the call is of one of these classes."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(getattr(one, "TYPE_KEY", "") or one.__name__ for one in kinds)
        raise TypeError(
            f"Mismatched type on argument #{at} when calling: `{call}`. "
            f"Expected `{wanted}` but got `{type(value).__name__}`"
        )


def expect_all(kind: type[Part], values: Any, at: int, call: str) -> tuple[Part, ...]:
    """A sequence as a tuple; TypeError unless it is one, of values of this class."""
    try:
        parts: tuple[Any, ...] = tuple(values)
    except TypeError:
        expect(Sequence, values, at, call)
        raise
    for part in parts:
        if not isinstance(part, kind):
            wanted = f"Array<{getattr(kind, 'TYPE_KEY', '') or kind.__name__}>"
            raise TypeError(
                f"Mismatched type on argument #{at} when calling: `{call}`. "
                f"Expected `{wanted}` but one of the values is a `{type(part).__name__}`"
            )
    return parts


@final
class Id(Node):
    """What a variable is, apart from its struct info: two variables with one id are the same."""

    __slots__ = ("name_hint",)
    TYPE_KEY = "relax.Id"
    EQUALITY: ClassVar[str] = "var"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name_hint~")

    def __init__(self, name_hint: str) -> None:
        self.name_hint: Final = name_hint

    def __repr__(self) -> str:
        return f"Id({self.name_hint!r})"

    __str__ = __repr__


class LeafExpr(RelaxExpr):
    """An expression without sub-expressions."""

    __slots__ = ()
    TYPE_KEY = "relax.expr.LeafExpr"


class ExprWithOp(RelaxExpr):
    """An expression that can be called, indexed, and used in arithmetic."""

    __slots__ = ()

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Self:
        """Struct info that is not a constructor's parameter is put back after construction."""
        names = cls.CTOR or tuple(f.name for f in cls.FIELDS if f.name != "struct_info_")
        made = cls(*(values[name] for name in names if name in values))
        if "struct_info_" not in names and "struct_info_" in values:
            made.struct_info_ = values["struct_info_"]  # type: ignore[assignment]
        return made

    def __call__(self, *args: object, attrs: Any = None) -> RelaxExpr:
        """A call of this value, which is a function."""
        return OPERATORS["relax"]["call"](self, args, attrs)  # type: ignore[return-value]

    def __getitem__(self, index: int) -> RelaxExpr:
        """The field `index` of this value, which is a tuple."""
        return OPERATORS["relax"]["getitem"](self, index)  # type: ignore[return-value]

    def __iter__(self) -> Iterator[RelaxExpr]:
        """The fields of this value, a tuple; TypeError where nothing tells how many there are."""
        if type(self.struct_info_).__name__ != "TupleStructInfo" and not hasattr(self, "__len__"):
            raise TypeError(
                message(
                    f"the fields of a {type(self).__name__}",
                    found="no struct info that tells how many there are",
                    legal="value[index], or a value that BlockBuilder.emit gave",
                )
            )
        return self._fields()

    def _fields(self) -> Iterator[RelaxExpr]:
        for index in itertools.count():
            try:
                field = self[index]
            except IndexError:
                return
            yield field

    @property
    def dtype(self) -> Any:
        """A view of the data type of a tensor at run time: `.code`, `.bits`, `.lanes`."""
        return OPERATORS["relax"]["inspect_dtype"](self)

    @property
    def ndim(self) -> Any:
        """The number of dimensions of a tensor, read at run time."""
        return OPERATORS["relax"]["inspect_ndim"](self)

    @property
    def shape(self) -> Any:
        """A view of the extents of a tensor at run time: `shape[i]`."""
        return OPERATORS["relax"]["inspect_shape"](self)

    @property
    def strides(self) -> Any:
        """A view of the strides of a tensor at run time: `strides[i]`."""
        return OPERATORS["relax"]["inspect_strides"](self)

    @property
    def byte_offset(self) -> Any:
        """The offset in bytes of a tensor's first element, read at run time."""
        return OPERATORS["relax"]["inspect_byte_offset"](self)

    @property
    def elem_offset(self) -> Any:
        """The offset in elements of a tensor's first element, read at run time."""
        return OPERATORS["relax"]["inspect_elem_offset"](self)


register_nodes(Id)
