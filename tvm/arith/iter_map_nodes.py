"""The words of affine iteration maps: marks, splits of marks, sums of splits."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, ClassVar, Final, TypeVar, final

from tvm.ir.expr import PrimExpr
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.ir.span import Span
from tvm.tir import expr as e
from tvm.tir.functor import TirFunctor

E = TypeVar("E")
S = TypeVar("S")


class IterMapExpr(PrimExpr):
    """The root of the expressions of iteration maps."""

    __slots__ = ()
    TYPE_KEY = "arith.IterMapExpr"

    def accept(self, f: TirFunctor[E, S]) -> E:
        return f.visit_expr_default_(self)


@final
class IterMark(Node):
    """A value that runs over [0, extent): a loop variable, or a sum that does."""

    __slots__ = ("extent", "source")
    TYPE_KEY = "arith.IterMark"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("source", "extent")

    def __init__(self, source: PrimExpr, extent: Any) -> None:
        self.source: Final = source
        self.extent: Final = e.as_expr(extent)

    def __repr__(self) -> str:
        return f"IterMark({self.source}, extent={self.extent})"

    def __str__(self) -> str:
        return self.__repr__()


@final
class IterSplitExpr(IterMapExpr):
    """scale * ((source // lower_factor) % extent)."""

    __slots__ = ("extent", "lower_factor", "scale", "source")
    TYPE_KEY = "arith.IterSplitExpr"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "source", "lower_factor", "extent", "scale", "span~"
    )

    def __init__(
        self,
        source: IterMark,
        lower_factor: PrimExpr | int = 1,
        extent: PrimExpr | int | None = None,
        scale: PrimExpr | int = 1,
        span: Span | None = None,
    ) -> None:
        self.source: Final = source
        self.dtype = source.source.dtype
        self.lower_factor: Final = _like(lower_factor, self.dtype)
        self.extent: Final = source.extent if extent is None else _like(extent, self.dtype)
        self.scale: Final = _like(scale, self.dtype)
        self.span = span

    def __repr__(self) -> str:
        return (
            f"IterSplit({self.source}, lower_factor={self.lower_factor}, extent={self.extent}, "
            f"scale={self.scale})"
        )

    def __str__(self) -> str:
        return self.__repr__()


@final
class IterSumExpr(IterMapExpr):
    """base plus the sum of the splits."""

    __slots__ = ("args", "base")
    TYPE_KEY = "arith.IterSumExpr"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("args", "base", "span~")

    def __init__(
        self, args: Sequence[IterSplitExpr], base: Any, span: Span | None = None
    ) -> None:
        self.args: Final = tuple(args)
        self.base: Final = e.as_expr(base)
        self.dtype = self.base.dtype
        self.span = span

    def __repr__(self) -> str:
        return f"IterSum([{', '.join(map(str, self.args))}], {self.base})"

    def __str__(self) -> str:
        return self.__repr__()


def _like(value: PrimExpr | int, dtype: object) -> PrimExpr:
    if isinstance(value, PrimExpr):
        return value
    return e.IntImm(dtype, value)  # type: ignore[arg-type]


@final
class IterMapResult(Node):
    """The maps found, or why there are none; and where values stand for padding."""

    __slots__ = ("errors", "indices", "padding_predicate")
    TYPE_KEY = "arith.IterMapResult"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("indices", "errors", "padding_predicate")

    def __init__(
        self,
        indices: Sequence[IterSumExpr] = (),
        errors: Sequence[str] = (),
        padding_predicate: Any = False,
    ) -> None:
        self.indices: Final = tuple(indices)
        self.errors: Final = tuple(errors)
        self.padding_predicate: Final = e.as_expr(padding_predicate)


class IterMapLevel(IntEnum):
    """What is asked of a map: every value met exactly once, every value met, or nothing."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name: str) -> IterMapLevel:
        """The level of that name, in any case."""
        levels = {
            "bijective": IterMapLevel.Bijective,
            "surjective": IterMapLevel.Surjective,
            "nocheck": IterMapLevel.NoCheck,
        }
        found = levels.get(name.lower()) if isinstance(name, str) else None
        if found is None:
            raise ValueError(
                f"unknown check level {name!r}; legal: bijective, surjective, nocheck"
            )
        return found


register_nodes(IterMark, IterSplitExpr, IterSumExpr, IterMapResult)
