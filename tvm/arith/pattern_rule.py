"""Rewrite rules as data: patterns written with Python's operators, a result, a guard.

    rule((x * c1 + y) // c2, x * (c1 // c2) + y // c2, when=c1 % c2 == 0)

Names x, y, ... stand for any expression (the same one each time), c1, c2, ... for integer
literals. A part made of literals only is worked out when the rule fires. In a guard, `lo(x)` and
`hi(x)` are the constant bounds of x, and `proves(p)` asks the analyzer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from math import gcd as int_gcd
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.compiled import hashed_by_identity, mypyc_attr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.scalar import trunc_div, trunc_mod

from .deep_equal import PAIRS, deep_equal
from .knowledge import PairAnalyzer

SLOTS: Final = 14  # how many different names one rule may use
FIRST_CONSTANT: Final = 9  # literals come after the names of expressions, c1 first
Env = list["PrimExpr | None"]  # what each name stands for


@mypyc_attr(native_class=False)
class LiteralOverflow(Exception):
    """A literal that a rule works out does not fit its type, so the rule does not apply."""


class Builder:
    """What builds the expressions that rules stand for, simplified: the simplifier itself."""

    __slots__ = ("bounds",)

    def __init__(self, bounds: PairAnalyzer) -> None:
        self.bounds: Final = bounds

    def make(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """The simplified expression of this kind."""
        raise NotImplementedError  # abstract

    def make_not(self, a: PrimExpr) -> PrimExpr:
        """The simplified negation."""
        raise NotImplementedError  # abstract

    def make_select(self, condition: PrimExpr, yes: PrimExpr, no: PrimExpr) -> PrimExpr:
        """The simplified choice."""
        raise NotImplementedError  # abstract

    def make_ramp(self, base: PrimExpr, stride: PrimExpr, lanes: PrimExpr) -> PrimExpr:
        """The simplified ramp."""
        raise NotImplementedError  # abstract

    def node(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """The expression of this kind as it is."""
        raise NotImplementedError  # abstract

    def dtype_of(self, env: Env) -> DataType:
        """The type of what the rule's names stand for."""
        raise NotImplementedError  # abstract


class Pattern:
    """A piece of a rule; as a pattern it matches, as a result it builds, as a guard it decides."""

    __slots__ = ("numeric",)
    numeric: bool  # made of literals only

    def match(self, expr: PrimExpr, env: Env) -> bool:
        """True when `expr` looks like this; names are filled in."""
        raise NotImplementedError  # abstract

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        """The expression that this stands for, simplified."""
        value = self.number(env, s)
        if not _fits(value, dtype):
            raise LiteralOverflow
        return e.IntImm(dtype, value)

    def number(self, env: Env, s: Builder) -> int:
        """The number that this stands for; only for numeric pieces."""
        raise NotImplementedError  # abstract

    def kinds(self) -> type | None:
        """The node class that this matches, None for all."""
        return None

    def __add__(self, other: Pattern | int) -> Pattern:
        return Op(e.Add, self, lift(other))

    def __radd__(self, other: int) -> Pattern:
        return Op(e.Add, lift(other), self)

    def __sub__(self, other: Pattern | int) -> Pattern:
        return Op(e.Sub, self, lift(other))

    def __rsub__(self, other: int) -> Pattern:
        return Op(e.Sub, lift(other), self)

    def __mul__(self, other: Pattern | int) -> Pattern:
        return Op(e.Mul, self, lift(other))

    def __rmul__(self, other: int) -> Pattern:
        return Op(e.Mul, lift(other), self)

    def __floordiv__(self, other: Pattern | int) -> Pattern:
        return Op(e.FloorDiv, self, lift(other))

    def __rfloordiv__(self, other: int) -> Pattern:
        return Op(e.FloorDiv, lift(other), self)

    def __mod__(self, other: Pattern | int) -> Pattern:
        return Op(e.FloorMod, self, lift(other))

    def __rmod__(self, other: int) -> Pattern:
        return Op(e.FloorMod, lift(other), self)

    def __neg__(self) -> Pattern:
        return Op(e.Sub, Literal(0), self)

    def __lt__(self, other: Pattern | int) -> Pattern:
        return Op(e.LT, self, lift(other))

    def __le__(self, other: Pattern | int) -> Pattern:
        return Op(e.LE, self, lift(other))

    def __gt__(self, other: Pattern | int) -> Pattern:
        return Op(e.LT, lift(other), self)

    def __ge__(self, other: Pattern | int) -> Pattern:
        return Op(e.LE, lift(other), self)

    def __eq__(self, other: Pattern | int) -> Pattern:  # type: ignore[override]
        return Op(e.EQ, self, lift(other))

    def __ne__(self, other: Pattern | int) -> Pattern:  # type: ignore[override]
        return Op(e.NE, self, lift(other))

    def __and__(self, other: Pattern) -> Pattern:
        return Op(e.And, self, other)

    def __or__(self, other: Pattern) -> Pattern:
        return Op(e.Or, self, other)

    def __invert__(self) -> Pattern:
        return Negation(self)

    def __hash__(self) -> int:
        return object.__hash__(self)


hashed_by_identity(Pattern)


def lift(value: Pattern | int) -> Pattern:
    """A pattern; Python's numbers become literals, its truth values become truths."""
    if isinstance(value, Pattern):
        return value
    return Truth(value) if isinstance(value, bool) else Literal(value)


def _fits(value: int, dtype: DataType) -> bool:
    limit = 1 << (dtype.bits - 1)
    return -limit <= value < limit


class Name(Pattern):
    """Any expression."""

    __slots__ = ("slot", "text")

    def __init__(self, text: str, slot: int) -> None:
        self.text: Final = text
        self.slot: Final = slot
        self.numeric = False

    def match(self, expr: PrimExpr, env: Env) -> bool:
        known = env[self.slot]
        if known is None:
            env[self.slot] = expr
            return True
        return known is expr or deep_equal(known, expr)

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        found = env[self.slot]
        assert found is not None, "a result uses only names of its pattern"
        return found

    def __repr__(self) -> str:
        return self.text


class Term(Name):
    """Any expression but a literal."""

    __slots__ = ()

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return type(expr) is not e.IntImm and super().match(expr, env)


class NoExtremum(Name):
    """Any expression but a minimum or a maximum."""

    __slots__ = ()

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return type(expr) not in EXTREMA and super().match(expr, env)


class Constant(Pattern):
    """Any integer literal."""

    __slots__ = ("slot", "text")

    def __init__(self, text: str, slot: int) -> None:
        self.text: Final = text
        self.slot: Final = slot
        self.numeric = True

    def kinds(self) -> type | None:
        return e.IntImm

    def match(self, expr: PrimExpr, env: Env) -> bool:
        if type(expr) is not e.IntImm:
            return False
        known = env[self.slot]
        if known is None:
            env[self.slot] = expr
            return True
        return known.value == expr.value  # type: ignore[attr-defined,no-any-return]

    def number(self, env: Env, s: Builder) -> int:
        return env[self.slot].value  # type: ignore[union-attr,no-any-return]

    def __repr__(self) -> str:
        return self.text


class Literal(Pattern):
    """One integer."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value: Final = value
        self.numeric = True

    def kinds(self) -> type | None:
        return e.IntImm

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return type(expr) is e.IntImm and expr.value == self.value

    def number(self, env: Env, s: Builder) -> int:
        return self.value

    def __repr__(self) -> str:
        return str(self.value)


class Truth(Pattern):
    """True or False, with as many lanes as the expression has."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value: Final = value
        self.numeric = True

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return type(expr) is e.IntImm and expr.dtype is e.BOOL and bool(expr.value) == self.value

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        return truth(self.value)

    def number(self, env: Env, s: Builder) -> int:
        return self.value

    def __repr__(self) -> str:
        return str(self.value)


TRUE: Final = e.IntImm(e.BOOL, 1)
FALSE: Final = e.IntImm(e.BOOL, 0)


def truth(value: bool) -> PrimExpr:
    """The literal for a Python bool."""
    return TRUE if value else FALSE


_NUMBERS: Final[dict[type, Callable[[int, int], int]]] = {
    e.Add: lambda a, b: a + b,
    e.Sub: lambda a, b: a - b,
    e.Mul: lambda a, b: a * b,
    e.FloorDiv: lambda a, b: a // b,
    e.FloorMod: lambda a, b: a % b,
    e.Div: trunc_div,
    e.Mod: trunc_mod,
    e.Min: min,
    e.Max: max,
    e.LT: lambda a, b: a < b,
    e.LE: lambda a, b: a <= b,
    e.EQ: lambda a, b: a == b,
    e.NE: lambda a, b: a != b,
}
_SIGNS: Final[dict[type, str]] = {
    e.Add: "+", e.Sub: "-", e.Mul: "*", e.FloorDiv: "//", e.FloorMod: "%", e.LT: "<", e.LE: "<=",
    e.EQ: "==", e.NE: "!=", e.And: "&", e.Or: "|",
}  # fmt: skip
EXTREMA: Final = (e.Min, e.Max)
COMMUTATIVE: Final = (e.Add, e.Mul, e.Min, e.Max, e.EQ, e.NE, e.And, e.Or)


class Op(Pattern):
    """A node with two operands."""

    __slots__ = ("a", "b", "kind")

    def __init__(self, kind: type, a: Pattern, b: Pattern) -> None:
        self.kind: Final = kind
        self.a: Final = a
        self.b: Final = b
        self.numeric = a.numeric and b.numeric

    def kinds(self) -> type | None:
        return self.kind

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return (
            type(expr) is self.kind
            and self.a.match(expr.a, env)  # type: ignore[attr-defined]
            and self.b.match(expr.b, env)  # type: ignore[attr-defined]
        )

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        if self.numeric:
            value = self.number(env, s)
            if not _fits(value, dtype):
                raise LiteralOverflow
            return e.IntImm(dtype, value)
        return s.make(self.kind, self.a.build(env, s, dtype), self.b.build(env, s, dtype))

    def number(self, env: Env, s: Builder) -> int:
        kind = self.kind
        first = self.a.number(env, s)
        if kind is e.And:
            return bool(first) and self.b.number(env, s)
        if kind is e.Or:
            return bool(first) or self.b.number(env, s)
        second = self.b.number(env, s)
        if second == 0 and kind in (e.FloorDiv, e.FloorMod, e.Div, e.Mod):
            raise LiteralOverflow  # a division by zero has no meaning, nothing is rewritten
        return _NUMBERS[kind](first, second)

    def __repr__(self) -> str:
        sign = _SIGNS.get(self.kind)
        if sign is None:
            return f"{_CALL_NAMES[self.kind]}({self.a!r}, {self.b!r})"
        return f"({self.a!r} {sign} {self.b!r})"


_CALL_NAMES: Final[dict[type, str]] = {
    e.Min: "min", e.Max: "max", e.Div: "tdiv", e.Mod: "tmod", e.GT: "gt", e.GE: "ge",
}  # fmt: skip


class Plain(Pattern):
    """A result whose outermost node is made as it is written, without a look at the rules."""

    __slots__ = ("of",)

    def __init__(self, of: Op) -> None:
        self.of: Final = of
        self.numeric = False

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        of = self.of
        return s.node(of.kind, of.a.build(env, s, dtype), of.b.build(env, s, dtype))

    def __repr__(self) -> str:
        return f"plain{self.of!r}"


class Negation(Pattern):
    """The logical opposite."""

    __slots__ = ("a",)

    def __init__(self, a: Pattern) -> None:
        self.a: Final = a
        self.numeric = a.numeric

    def kinds(self) -> type | None:
        return e.Not

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return type(expr) is e.Not and self.a.match(expr.a, env)

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        return s.make_not(self.a.build(env, s, dtype))

    def number(self, env: Env, s: Builder) -> int:
        return not self.a.number(env, s)

    def __repr__(self) -> str:
        return f"~{self.a!r}"


class Choice(Pattern):
    """A Select."""

    __slots__ = ("condition", "no", "yes")

    def __init__(self, condition: Pattern, yes: Pattern, no: Pattern) -> None:
        self.condition: Final = condition
        self.yes: Final = yes
        self.no: Final = no
        self.numeric = False

    def kinds(self) -> type | None:
        return e.Select

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return (
            type(expr) is e.Select
            and self.condition.match(expr.condition, env)
            and self.yes.match(expr.true_value, env)
            and self.no.match(expr.false_value, env)
        )

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        yes, no = self.yes.build(env, s, dtype), self.no.build(env, s, dtype)
        return s.make_select(self.condition.build(env, s, dtype), yes, no)

    def __repr__(self) -> str:
        return f"select({self.condition!r}, {self.yes!r}, {self.no!r})"


class Repeat(Pattern):
    """A Broadcast."""

    __slots__ = ("lanes", "value")

    def __init__(self, value: Pattern, lanes: Pattern) -> None:
        self.value: Final = value
        self.lanes: Final = lanes
        self.numeric = False

    def kinds(self) -> type | None:
        return e.Broadcast

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return (
            type(expr) is e.Broadcast
            and self.value.match(expr.value, env)
            and self.lanes.match(expr.lanes, env)
        )

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        value = self.value.build(env, s, dtype)
        return e.Broadcast(value, self.lanes.build(env, s, e.INT32))

    def __repr__(self) -> str:
        return f"broadcast({self.value!r}, {self.lanes!r})"


class Steps(Pattern):
    """A Ramp; a step of zero becomes a Broadcast."""

    __slots__ = ("base", "lanes", "stride")

    def __init__(self, base: Pattern, stride: Pattern, lanes: Pattern) -> None:
        self.base: Final = base
        self.stride: Final = stride
        self.lanes: Final = lanes
        self.numeric = False

    def kinds(self) -> type | None:
        return e.Ramp

    def match(self, expr: PrimExpr, env: Env) -> bool:
        return (
            type(expr) is e.Ramp
            and self.base.match(expr.base, env)
            and self.stride.match(expr.stride, env)
            and self.lanes.match(expr.lanes, env)
        )

    def build(self, env: Env, s: Builder, dtype: DataType) -> PrimExpr:
        base, stride = self.base.build(env, s, dtype), self.stride.build(env, s, dtype)
        return s.make_ramp(base, stride, self.lanes.build(env, s, e.INT32))

    def __repr__(self) -> str:
        return f"ramp({self.base!r}, {self.stride!r}, {self.lanes!r})"


class BoundOf(Pattern):
    """The lower (end 0) or upper (end 1) constant bound of an expression; for guards."""

    __slots__ = ("end", "of")

    def __init__(self, of: Pattern, end: int) -> None:
        self.of: Final = of
        self.end: Final = end
        self.numeric = True

    def number(self, env: Env, s: Builder) -> int:
        expr = self.of.build(env, s, s.dtype_of(env))
        return s.bounds.of(expr)[self.end]

    def __repr__(self) -> str:
        return f"{('lo', 'hi')[self.end]}({self.of!r})"


class Proof(Pattern):
    """The analyzer proves a condition; for guards."""

    __slots__ = ("condition",)

    def __init__(self, condition: Pattern) -> None:
        self.condition: Final = condition
        self.numeric = True

    def number(self, env: Env, s: Builder) -> int:
        expr = self.condition.build(env, s, s.dtype_of(env))
        return type(expr) is e.IntImm and expr.value != 0

    def __repr__(self) -> str:
        return f"proves({self.condition!r})"


class Gcd(Pattern):
    """The greatest common divisor of two literals."""

    __slots__ = ("a", "b")

    def __init__(self, a: Pattern, b: Pattern) -> None:
        self.a: Final = a
        self.b: Final = b
        self.numeric = True

    def number(self, env: Env, s: Builder) -> int:
        return int_gcd(self.a.number(env, s), self.b.number(env, s))

    def __repr__(self) -> str:
        return f"gcd({self.a!r}, {self.b!r})"


x, y, z, w, u, lanes = [Name(n, i) for i, n in enumerate(("x", "y", "z", "w", "u", "lanes"))]
p, q, t, o = Name("p", 6), Name("q", 7), Term("t", 8), NoExtremum("o", 8)
c1, c2, c3, c4, c5 = [Constant(f"c{i + 1}", FIRST_CONSTANT + i) for i in range(5)]


def min_(a: Pattern | int, b: Pattern | int) -> Pattern:
    """The smaller."""
    return Op(e.Min, lift(a), lift(b))


def max_(a: Pattern | int, b: Pattern | int) -> Pattern:
    """The larger."""
    return Op(e.Max, lift(a), lift(b))


def tdiv(a: Pattern | int, b: Pattern | int) -> Pattern:
    """The quotient rounded toward zero."""
    return Op(e.Div, lift(a), lift(b))


def tmod(a: Pattern | int, b: Pattern | int) -> Pattern:
    """The remainder of tdiv."""
    return Op(e.Mod, lift(a), lift(b))


def select(condition: Pattern, yes: Pattern | int, no: Pattern | int) -> Pattern:
    """One of two values."""
    return Choice(condition, lift(yes), lift(no))


def ramp(base: Pattern | int, stride: Pattern | int, count: Pattern) -> Pattern:
    """base, base + stride, ..."""
    return Steps(lift(base), lift(stride), count)


def broadcast(value: Pattern | int, count: Pattern) -> Pattern:
    """value, value, ..."""
    return Repeat(lift(value), count)


def lo(of: Pattern) -> Pattern:
    """The lower constant bound."""
    return BoundOf(of, 0)


def hi(of: Pattern) -> Pattern:
    """The upper constant bound."""
    return BoundOf(of, 1)


def proves(condition: Pattern) -> Pattern:
    """The condition simplifies to true."""
    return Proof(condition)


def plain(result: Pattern) -> Pattern:
    """The result as it is written."""
    assert isinstance(result, Op), "a node with two operands"
    return Plain(result)


def gcd(a: Pattern, b: Pattern) -> Pattern:
    """The greatest common divisor."""
    return Gcd(a, b)


class Only(Enum):
    """Where a rule is used that is not used everywhere."""

    NEITHER = 0
    PROOF = 1
    FORM = 2


class Rule:
    """One rewriting: what it looks like, what it becomes, and when."""

    __slots__ = ("a", "b", "guard", "kind", "lhs", "only", "rhs")

    def __init__(
        self, lhs: Op, rhs: Pattern, guard: Pattern | None, only: Only = Only.NEITHER
    ) -> None:
        self.kind: Final = lhs.kind
        self.lhs: Final = lhs
        self.a: Final = lhs.a
        self.b: Final = lhs.b
        self.rhs: Final = rhs
        self.guard: Final = guard
        self.only: Final = only

    def __repr__(self) -> str:
        tail = "" if self.guard is None else f"   when {self.guard!r}"
        return f"{self.lhs!r} -> {self.rhs!r}{tail}"


def rule(
    lhs: Pattern,
    rhs: Pattern | int,
    when: Pattern | None = None,
    ordered: bool = False,
    sums_ordered: bool = False,
) -> list[Rule]:
    """The rule, once for each order of its commutative operands (or as it stands, if `ordered`).

    With `sums_ordered` the sums in it stand, and only the other nodes are turned round.

    Where exactly one min or max below the root is turned round and the result is one too, the
    result is turned as well, so that operands keep the order in which they were written.
    """
    found: dict[str, Rule] = {}
    result = lift(rhs)
    for turned, swaps in [(lhs, 0)] if ordered else _orders(lhs, sums_ordered):
        assert isinstance(turned, Op), "a rule is about a node with two operands"
        made = result
        if swaps == 1 and turned.kind not in EXTREMA and isinstance(result, Op):
            made = Op(result.kind, result.b, result.a) if result.kind in EXTREMA else result
        found.setdefault(repr(turned), Rule(turned, made, when))
    return list(found.values())


def _orders(pattern: Pattern, sums_stand: bool) -> list[tuple[Pattern, int]]:
    """All ways to write a pattern, with the number of minima and maxima turned round."""
    if not isinstance(pattern, Op) or pattern.numeric:
        return [(pattern, 0)]
    found: list[tuple[Pattern, int]] = []
    for a, m in _orders(pattern.a, sums_stand):
        for b, n in _orders(pattern.b, sums_stand):
            found.append((Op(pattern.kind, a, b), m + n))
    if pattern.kind not in COMMUTATIVE or (sums_stand and pattern.kind is e.Add):
        return found
    extremum = pattern.kind in EXTREMA
    if not extremum and (pattern.a.numeric or pattern.b.numeric):
        # literals stand on the right of sums, products, equalities when rules are tried
        return [(_turned(op), n) for op, n in found] if pattern.a.numeric else found
    return [*found, *[(_turned(op), n + extremum) for op, n in found]]


def _turned(pattern: Pattern) -> Pattern:
    assert isinstance(pattern, Op), "only nodes with two operands are turned"
    return Op(pattern.kind, pattern.b, pattern.a)


def further(
    lhs: Pattern, rhs: Pattern | int, when: Pattern | None = None, ordered: bool = False,
    sums_ordered: bool = False,
) -> list[Rule]:  # fmt: skip
    """A rule that only proofs use: expressions that are simplified keep their form."""
    made = rule(lhs, rhs, when, ordered, sums_ordered)
    return [Rule(one.lhs, one.rhs, one.guard, Only.PROOF) for one in made]


def form(lhs: Pattern, rhs: Pattern, when: Pattern | None = None) -> list[Rule]:
    """A rule that proofs do without: the form of what is simplified, from which less follows."""
    return [Rule(one.lhs, one.rhs, one.guard, Only.FORM) for one in rule(lhs, rhs, when)]


class RuleTable:
    """The rules for one node kind, found quickly by the kinds of its operands and of theirs."""

    __slots__ = ("_found", "_of_first", "rules", "written")

    def __init__(self, *rules: Sequence[Rule]) -> None:
        self.rules: Final = [one for group in rules for one in group]
        self.written: Final = [group[0] for group in rules]  # one for each line of the table
        self._found: tuple[dict[tuple[type | None, ...], tuple[Rule, ...]], ...] = ({}, {})
        self._of_first: dict[tuple[type | None, ...], list[Rule]] = {}  # by the first operand

    def candidates(self, a: PrimExpr, b: PrimExpr, to_prove: bool = False) -> tuple[Rule, ...]:
        """The rules that may match these operands, in order; with those for proofs or without."""
        left, right = type(a), type(b)
        key = (
            (left, type(a.a), type(a.b)) if left in PAIRS else (left, None, None)  # type: ignore[attr-defined]
        ) + ((right, type(b.a), type(b.b)) if right in PAIRS else (right, None, None))  # type: ignore[attr-defined]
        known = self._found[to_prove]
        found = known.get(key)
        if found is None:
            fits = self._of_first.get(key[:3])
            if fits is None:
                fits = [one for one in self.rules if _may_match(one.a, *key[:3])]
                self._of_first[key[:3]] = fits
            other = Only.FORM if to_prove else Only.PROOF
            found = tuple(
                [one for one in fits if _may_match(one.b, *key[3:]) and one.only is not other]
            )
            known[key] = found
        return found


def _may_match(p: Pattern, kind: type | None, left: type | None, right: type | None) -> bool:
    """Whether the pattern may match a node of this kind with operands of these kinds."""
    wanted = p.kinds()
    if wanted is None:
        return True
    if wanted is not kind:
        return False
    if not isinstance(p, Op) or left is None:
        return True
    first, second = p.a.kinds(), p.b.kinds()
    return (first is None or first is left) and (second is None or second is right)
