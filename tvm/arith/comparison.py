"""What is known about two values: by bounds of their difference, and by facts like a <= b + 3.

Facts about differences form a graph (a - b <= c is an edge); a chain of facts proves what follows
from them, in the manner of difference constraints (Bellman 1958).
"""

from __future__ import annotations

from enum import Enum
from math import gcd
from typing import Final

from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e

from .bilinear import bilinear_bound
from .interval import NEG_INF, POS_INF, Bound, intersect_bounds
from .knowledge import Knowledge
from .linear import LinearForm, at_most_zero, difference

Shape = tuple[tuple[int, int], ...]
Entered = tuple[Shape, int, "tuple[int, int, int] | None"]
MAX_CHAIN: Final = 12  # facts that one proof may join


class Order(Enum):
    """How one value stands to another."""

    LESS = 1
    EQUAL = 2
    AT_MOST = 3
    GREATER = 4
    DIFFERS = 5
    AT_LEAST = 6
    UNKNOWN = 7

    # The numbers are sets of the bits less (1), equal (2), greater (4).
    @property
    def at_most(self) -> bool:
        """Less or equal."""
        return not self.value & 4

    @property
    def at_least(self) -> bool:
        """Greater or equal."""
        return not self.value & 1

    @property
    def differs(self) -> bool:
        """Never equal."""
        return not self.value & 2


def _order_of(bound: Bound, may_be_zero: bool) -> Order:
    low, high = bound
    less, equal, greater = low < 0, low <= 0 <= high and may_be_zero, high > 0
    return Order((less * 1 + equal * 2 + greater * 4) or 7)


class Comparisons:
    """Decides comparisons, and keeps the facts about differences that hold at this point.

    Conditions of scopes always count, each by itself. The symbolic range of a variable, i < n,
    counts by itself where it is asked for in so many words (`by_range`). Facts are joined to chains
    where that is wanted: by `ProofStrength.SYMBOLIC_BOUND`, or by the extension that proves
    inequalities.
    (0 <= i < n says that n is positive, which is true only where i has a value: in the loop, and
    not behind it.)
    """

    __slots__ = ("_analyzer", "_bound", "_facts", "_ranges", "products", "symbolic", "unequal")

    def __init__(self, analyzer: Knowledge) -> None:
        self._analyzer = analyzer
        self._facts = FactGraph(analyzer)
        self._ranges = FactGraph(analyzer)  # the facts and the symbolic ranges
        self._bound: dict[e.Var, list[Entered]] = {}
        self.unequal: list[LinearForm] = []  # sums that are not zero
        self.symbolic = False
        self.products = False  # x + y is compared with x * y too

    @property
    def is_empty(self) -> bool:
        """Nothing is known about differences."""
        return not self._ranges.forms

    @property
    def has_facts(self) -> bool:
        """Conditions say something of differences."""
        return bool(self._facts.forms or self.unequal)

    def is_bound(self, var: e.Var) -> bool:
        """The variable runs over a range that other variables bound."""
        return var in self._bound

    def enter(self, form: LinearForm) -> tuple[list[Entered], list[Entered]]:
        """Note that a sum is at most zero; returns what `leave` needs."""
        return self._facts.enter(form), self._ranges.enter(form)

    def leave(self, entered: tuple[list[Entered], list[Entered]]) -> None:
        """Forget what `enter` noted."""
        self._facts.leave(entered[0])
        self._ranges.leave(entered[1])

    def bind_range(self, var: e.Var, dom: Range) -> None:
        """Note min <= var < min + extent, where they are not constants; the last range counts."""
        analyzer = self._analyzer
        known = self._bound.pop(var, None)
        if known is not None:
            self._ranges.leave(known)
        if type(dom.min) is e.IntImm and type(dom.extent) is e.IntImm:
            return
        entered: list[Entered] = []
        if type(dom.min) is not e.IntImm:
            entered += self._ranges.enter(difference(dom.min, var, analyzer))
        from_zero = type(dom.min) is e.IntImm and dom.min.value == 0
        end = dom.extent if from_zero else e.Add(dom.min, dom.extent)
        for form in at_most_zero(var, end, True, analyzer):
            entered += self._ranges.enter(form)
        self._bound[var] = entered

    @property
    def _graph(self) -> FactGraph:
        return self._ranges if self.symbolic else self._facts

    def order(self, a: PrimExpr, b: PrimExpr) -> Order:
        """What is known about how `a` stands to `b`."""
        analyzer = self._analyzer
        if a is b:
            return Order.EQUAL
        if type(b) is e.IntImm and type(a) is not e.Add and type(a) is not e.Sub:
            low, high = analyzer.bounds.of(a)
            value = b.value
            bound = (
                low - value if low != NEG_INF else NEG_INF,
                high - value if high != POS_INF else POS_INF,
            )
            if bound[0] > 0 or bound[1] < 0:
                return _order_of(bound, True)
            if not self._graph.forms:
                return _order_of(bound, self._may_be_equal(a, value))
        form = difference(a, b, analyzer)
        bound = form.bound(analyzer)
        if self._graph.forms and bound[0] <= 0 <= bound[1]:
            bound = self._narrowed(form, bound)
        if self.products and bound[0] <= 0 <= bound[1]:
            bound = intersect_bounds(bound, bilinear_bound(form, analyzer))
        may_be_zero = bound[0] <= 0 <= bound[1] and self._may_be_zero(form)
        if may_be_zero and self.symbolic and self.unequal:
            may_be_zero = not self._is_unequal(form)
        return _order_of(bound, may_be_zero)

    def _may_be_equal(self, a: PrimExpr, value: int) -> bool:
        coeff, base = self._analyzer.modular.of(a)
        return (value - base) % coeff == 0 if coeff else value == base

    def _may_be_zero(self, form: LinearForm) -> bool:
        """The remainders of the terms allow zero."""
        coeff, base = 0, form.constant
        for key, count in form.counts.items():
            if count:
                step, remainder = self._analyzer.modular.of(form.atoms[key])
                coeff = gcd(coeff, step * count)
                base += remainder * count
        return base % coeff == 0 if coeff else base == 0

    def _is_unequal(self, form: LinearForm) -> bool:
        """The sum equals one that is known not to be zero, or its opposite: a = b and b != c."""
        for other in self.unequal:
            for sign in (1, -1):
                difference = form.plus(other, sign)
                if self._narrowed(difference, difference.bound(self._analyzer)) == (0, 0):
                    return True
        return False

    def _narrowed(self, form: LinearForm, bound: Bound) -> Bound:
        """The bounds of the difference with what the facts say about it."""
        low, high = bound
        shape = form.shape()
        negative = tuple([(key, -count) for key, count in shape])
        graph = self._graph
        limit = graph.upper_limit if self.symbolic else graph.direct_limit
        high = min(high, limit(shape, form.constant))
        low = max(low, -limit(negative, -form.constant))
        return (low, high) if low <= high else bound

    def narrowed(self, expr: PrimExpr, bound: Bound) -> Bound:
        """The bounds of a sum, with what the facts say about it."""
        if not self._graph.forms:
            return bound
        return self._narrowed(difference(expr, e.IntImm(expr.dtype, 0), self._analyzer), bound)

    def by_range(self, a: PrimExpr, b: PrimExpr) -> Order:
        """How `a` stands to `b` by the symbolic range of one variable alone."""
        if not self._ranges.forms:
            return Order.UNKNOWN
        form = difference(a, b, self._analyzer)
        shape = form.shape()
        high = self._ranges.direct_limit(shape, form.constant)
        negative = tuple([(key, -count) for key, count in shape])
        low = -self._ranges.direct_limit(negative, -form.constant)
        return _order_of((low, high), True) if low <= high else Order.UNKNOWN


def _reduced(shape: Shape) -> tuple[int, Shape]:
    """The greatest common divisor of the counts, and the counts without it."""
    step = gcd(*[count for _, count in shape]) if shape else 1
    return step, shape if step == 1 else tuple([(key, count // step) for key, count in shape])


class FactGraph:
    """Limits of sums, and the graph of those that are differences of two atoms."""

    __slots__ = ("_analyzer", "_edges", "forms")

    def __init__(self, analyzer: Knowledge) -> None:
        self._analyzer = analyzer
        self.forms: dict[Shape, list[int]] = {}  # sum of atoms -> its upper limits
        self._edges: dict[int, list[tuple[int, int]]] = {}  # a -> (b, c) for a - b <= c

    def direct_limit(self, shape: Shape, constant: int) -> int:
        """The limit of a sum of atoms plus a constant that one fact gives by itself."""
        step, reduced = _reduced(shape)
        limits = self.forms.get(reduced)
        return min(limits) * step + constant if limits else POS_INF

    def upper_limit(self, shape: Shape, constant: int) -> int:
        """The best known limit of a sum of atoms plus a constant."""
        step, reduced = _reduced(shape)
        limits = self.forms.get(reduced)
        best = min(limits) * step + constant if limits else POS_INF
        if best > 0 and len(reduced) == 2 and reduced[0][1] * reduced[1][1] == -1:
            start, end = reduced[0][0], reduced[1][0]
            if reduced[0][1] < 0:
                start, end = end, start
            path = self._shortest(start, end)
            if path < POS_INF:
                best = min(best, path * step + constant)
        elif best > 0 and len(reduced) == 1 and len(self._edges) > 0:
            best = min(best, self._single_limit(reduced[0], step, constant))
        return best

    def _single_limit(self, term: tuple[int, int], step: int, constant: int) -> int:
        """A limit of one atom by way of another atom with constant bounds."""
        key, count = term
        best = POS_INF
        for other, distance in self._reach(key, forward=count > 0).items():
            atom = self._analyzer.numbers.expr(other)
            low, high = self._analyzer.bounds.of(atom)
            if count > 0 and high != POS_INF:
                best = min(best, (high + distance) * step * count + constant)
            elif count < 0 and low != NEG_INF:
                best = min(best, (low - distance) * step * count + constant)
        return best

    def _shortest(self, start: int, end: int) -> int:
        return self._reach(start, forward=True).get(end, POS_INF)

    def _reach(self, start: int, forward: bool) -> dict[int, int]:
        """For each atom that facts lead to, the least c with start - atom <= c (or the reverse)."""
        best = {start: 0}
        front = [start]
        for _ in range(MAX_CHAIN):
            following = []
            for key in front:
                for other, cost in self._neighbours(key, forward):
                    total = best[key] + cost
                    if total < best.get(other, POS_INF):
                        best[other] = total
                        following.append(other)
            if not following:
                break
            front = following
        return best

    def _neighbours(self, key: int, forward: bool) -> list[tuple[int, int]]:
        if forward:
            return self._edges.get(key, [])
        return [
            (source, cost)
            for source, edges in self._edges.items()
            for target, cost in edges
            if target == key
        ]

    def enter(self, form: LinearForm) -> list[Entered]:
        """Note that a sum is at most zero; returns what `leave` needs."""
        shape = form.shape()
        if not shape:
            return []
        step, reduced = _reduced(shape)
        limit = -form.constant // step  # sum * step <= -constant, rounded down
        self.forms.setdefault(reduced, []).append(limit)
        edge = None
        if len(reduced) == 2 and reduced[0][1] * reduced[1][1] == -1:
            start, end = reduced[0][0], reduced[1][0]
            if reduced[0][1] < 0:
                start, end = end, start
            self._edges.setdefault(start, []).append((end, limit))
            edge = (start, end, limit)
        return [(reduced, limit, edge)]

    def leave(self, entered: list[Entered]) -> None:
        """Forget what `enter` noted."""
        for shape, limit, edge in reversed(entered):
            self.forms[shape].remove(limit)
            if not self.forms[shape]:
                del self.forms[shape]
            if edge is not None:
                start, end, _ = edge
                self._edges[start].remove((end, limit))
                if not self._edges[start]:
                    del self._edges[start]
