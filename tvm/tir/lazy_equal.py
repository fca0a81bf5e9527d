"""`a == b` on expressions, before anyone said whether an expression or a Python bool is wanted."""

from __future__ import annotations

from typing import Any, Final

from tvm.ir.expr import OPERATORS, PrimExpr, PrimExprConvertible
from tvm.ir.span import Span
from tvm.support.dtype import DataType


class EqualOp(PrimExprConvertible):
    """`a == b` before anyone said whether an expression or a Python bool is wanted.

    As a bool it tells whether both are one object; as an expression it is the comparison.
    """

    __slots__ = ("a", "b", "span")

    def __init__(self, a: Any, b: Any, span: Span | None = None) -> None:
        self.a: Final = a
        self.b: Final = b
        self.span: Final = span

    def __nonzero__(self) -> bool:  # type: ignore[override]
        return _same_value(self.a, self.b)

    def __bool__(self) -> bool:
        return _same_value(self.a, self.b)

    def asobject(self) -> PrimExpr:
        """The comparison as an expression."""
        return OPERATORS["tir"]["equal"](self.a, self.b, self.span)  # type: ignore[return-value]

    def as_prim_expr(self) -> PrimExpr:
        return self.asobject()

    @property
    def dtype(self) -> DataType:
        """The data type of the comparison."""
        return self.asobject().dtype


class NotEqualOp(PrimExprConvertible):
    """`a != b`; see `EqualOp`."""

    __slots__ = ("a", "b", "span")

    def __init__(self, a: Any, b: Any, span: Span | None = None) -> None:
        self.a: Final = a
        self.b: Final = b
        self.span: Final = span

    def __nonzero__(self) -> bool:  # type: ignore[override]
        return not _same_value(self.a, self.b)

    def __bool__(self) -> bool:
        return not _same_value(self.a, self.b)

    def asobject(self) -> PrimExpr:
        """The comparison as an expression."""
        return OPERATORS["tir"]["not_equal"](self.a, self.b, self.span)  # type: ignore[return-value]

    def as_prim_expr(self) -> PrimExpr:
        return self.asobject()

    @property
    def dtype(self) -> DataType:
        """The data type of the comparison."""
        return self.asobject().dtype


def _same_value(a: Any, b: Any) -> bool:
    """Identity, where literals count as identical when their values are equal."""
    if a is b:
        return True
    left, right = getattr(a, "value", a), getattr(b, "value", b)
    numbers = (int, float)
    return isinstance(left, numbers) and isinstance(right, numbers) and left == right


class IntImmEnum(PrimExprConvertible):
    """The value of an enumeration, which is an int32 literal where an expression is wanted."""

    __slots__ = ("span", "value")

    def __init__(self, value: int, span: Span | None = None) -> None:
        self.value: Final = value
        self.span: Final = span

    def asobject(self) -> PrimExpr:
        """The value as a literal."""
        return OPERATORS["tir"]["const"](self.value, "int32", self.span)  # type: ignore[return-value]

    def as_prim_expr(self) -> PrimExpr:
        return self.asobject()
