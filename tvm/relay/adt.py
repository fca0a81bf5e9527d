"""Algebraic data: data types with their constructors, and the patterns that take values apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, final
from zlib import crc32

from tvm.ir.expr import RelaxExpr
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.ir.span import Span
from tvm.ir.type import Type
from tvm.support.arguments import explained

from .base import astext, pretty_print
from .expr import Call, ExprWithOp, RelayExpr, Var, operand
from .ty import GlobalTypeVar, RelayType, TypeVar


@final
class Constructor(RelayExpr):
    """A way to make a value of a data type.

    `tag` tells it from those of all types: some bits of the type's name, then its index.
    """

    __slots__ = ("belong_to", "inputs", "name_hint", "tag")
    TYPE_KEY = "relay.Constructor"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "name_hint", "inputs", "belong_to", "tag~", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("name_hint", "inputs", "belong_to", "tag")

    @explained
    def __init__(
        self, name_hint: str, inputs: Sequence[Type], belong_to: GlobalTypeVar, tag: int = -1
    ) -> None:
        self._begin(None)
        self.name_hint: Final = name_hint
        self.inputs: Final = tuple(inputs)
        self.belong_to: Final = belong_to
        self.tag = int(tag)

    def __call__(self, *args: RelaxExpr) -> Call:
        """A value made of these fields."""
        return Call(self, args)


@final
class TypeData(RelayType):
    """The definition of a data type: its type parameters and constructors."""

    __slots__ = ("constructors", "header", "type_vars")
    TYPE_KEY = "relay.TypeData"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("header", "type_vars*", "constructors", "span~")

    @explained
    def __init__(
        self,
        header: GlobalTypeVar,
        type_vars: Sequence[TypeVar],
        constructors: Sequence[Constructor],
        span: Span | None = None,
    ) -> None:
        self.header: Final = header
        self.type_vars: Final = tuple(type_vars)
        self.constructors: Final = tuple(constructors)
        self.span = span
        first = (crc32(header.name_hint.encode()) & 0x7F) << 24
        for index, constructor in enumerate(self.constructors):
            if constructor.tag < 0:
                constructor.tag = first | index


class _InText(Node):
    """A part of a program's text that is no expression."""

    __slots__ = ()

    def script(self, **options: Any) -> str:
        """This part in Relay's text format."""
        return pretty_print(self)

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """This part in Relay's text format, with the format's version."""
        return astext(self, show_meta_data, annotate)


class Pattern(_InText):
    """What a value is compared with in a match."""

    __slots__ = ("span",)
    TYPE_KEY = "relay.Pattern"
    span: Span | None


@final
class PatternWildcard(Pattern):
    """Fits everything."""

    __slots__ = ()
    TYPE_KEY = "relay.PatternWildcard"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("span~")

    def __init__(self) -> None:
        self.span = None

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> PatternWildcard:
        """A wildcard has nothing to say."""
        return cls()


@final
class PatternVar(Pattern):
    """Fits everything and names it."""

    __slots__ = ("var",)
    TYPE_KEY = "relay.PatternVar"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("var*")

    def __init__(self, var: Var) -> None:
        if not isinstance(var, Var):
            raise TypeError(f"PatternVar: the variable is a {type(var).__name__}; legal: a Var")
        self.var: Final = var
        self.span = None


@final
class PatternConstructor(Pattern):
    """Fits the values of one constructor whose fields fit the patterns."""

    __slots__ = ("constructor", "patterns")
    TYPE_KEY = "relay.PatternConstructor"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("constructor", "patterns")

    def __init__(
        self, constructor: Constructor, patterns: Sequence[Pattern] | None = None
    ) -> None:
        if not isinstance(constructor, Constructor):
            raise TypeError(
                f"PatternConstructor: the constructor is a {type(constructor).__name__}; "
                "legal: a Constructor"
            )
        self.constructor: Final = constructor
        self.patterns: Final = tuple(patterns or ())
        self.span = None


@final
class PatternTuple(Pattern):
    """Fits tuples whose fields fit the patterns."""

    __slots__ = ("patterns",)
    TYPE_KEY = "relay.PatternTuple"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("patterns")

    @explained
    def __init__(self, patterns: Sequence[Pattern] | None = None) -> None:
        self.patterns: Final = tuple(patterns or ())
        self.span = None


def map_pattern_vars(pattern: Pattern, rename: Callable[[Var], Var]) -> Pattern:
    """A pattern that binds other variables."""
    if isinstance(pattern, PatternVar):
        return PatternVar(rename(pattern.var))
    if isinstance(pattern, PatternTuple):
        return PatternTuple([map_pattern_vars(p, rename) for p in pattern.patterns])
    if isinstance(pattern, PatternConstructor):
        inner = [map_pattern_vars(p, rename) for p in pattern.patterns]
        return PatternConstructor(pattern.constructor, inner)
    return pattern


@final
class Clause(_InText):
    """One case of a match."""

    __slots__ = ("lhs", "rhs")
    TYPE_KEY = "relay.Clause"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("lhs", "rhs")

    def __init__(self, lhs: Pattern, rhs: RelaxExpr) -> None:
        if not isinstance(lhs, Pattern):
            raise TypeError(f"Clause: the left side is a {type(lhs).__name__}; legal: a Pattern")
        self.lhs: Final = lhs
        self.rhs: Final[RelaxExpr] = operand(rhs, "Clause")


@final
class Match(ExprWithOp):
    """The value of the first clause whose pattern fits; `complete` if one always does."""

    __slots__ = ("clauses", "complete", "data")
    TYPE_KEY = "relay.Match"
    SHARED: ClassVar[bool] = True
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "data", "clauses", "complete", "checked_type_~", "span~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("data", "clauses", "complete")

    @explained
    def __init__(
        self, data: RelaxExpr, clauses: Sequence[Clause], complete: bool = True
    ) -> None:
        self._begin(None)
        self.data: Final[RelaxExpr] = operand(data, "Match")
        self.clauses: Final = tuple(clauses)
        self.complete: Final = bool(complete)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Match:
        """The span is no parameter of the constructor."""
        made = super().from_fields({k: v for k, v in values.items() if k != "span"})
        made.span = values.get("span")  # type: ignore[assignment]
        return made


def pattern_vars(pattern: Pattern) -> list[Var]:
    """The variables that a pattern binds, from left to right."""
    found: list[Var] = []
    stack: list[Pattern] = [pattern]
    while stack:
        item = stack.pop()
        if isinstance(item, PatternVar):
            found.append(item.var)
        elif isinstance(item, (PatternConstructor, PatternTuple)):
            stack.extend(reversed(item.patterns))
    return found


register_nodes(
    Constructor, TypeData, PatternWildcard, PatternVar, PatternConstructor, PatternTuple, Clause,
    Match,
)  # fmt: skip
