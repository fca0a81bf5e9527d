"""What the parts of an analyzer ask of each other: numbers of expressions, bounds and residues.

Bounds and residues are pairs of integers, one for every expression, found once and kept.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.functor import expr_children

from .deep_equal import ExprNumbers

Pair = tuple[int, int]
Remembered = dict[int, tuple[PrimExpr, Pair]]  # by the id of an expression, which is kept with it
Results = dict[int, tuple[PrimExpr, PrimExpr]]
MAX_KEPT: Final = 50_000
MAX_DEPTH: Final = 60


class Knowledge:
    """The part of an analyzer that its own parts stand on."""

    __slots__ = ("bounds", "modular", "numbers")

    def __init__(self) -> None:
        self.numbers: Final = ExprNumbers()
        self.bounds: PairAnalyzer  # each value lies from the first to the second of a pair
        self.modular: PairAnalyzer  # each value is a multiple of the first, plus the second


class PairAnalyzer:
    """Pairs of expressions under what the analyzer knows of variables."""

    __slots__ = ("_analyzer", "_depth", "_known", "facts", "variables")

    def __init__(self, analyzer: Knowledge) -> None:
        self._analyzer = analyzer
        self.variables: dict[PrimExpr, Pair] = {}
        self.facts: dict[int, Pair] = {}  # by the number of the expression
        self._known: Remembered = {}
        self._depth = 0

    def forget(self) -> None:
        """Drop remembered results; called when a variable or a fact changes."""
        if self._known:
            self._known = {}

    def remembered(self) -> Remembered:
        """The results, which are no longer remembered from here on."""
        known, self._known = self._known, {}
        return known

    def remember(self, known: Remembered) -> None:
        """Results hold again."""
        self._known = known

    def of(self, expr: PrimExpr) -> Pair:
        """The pair of `expr`."""
        raise NotImplementedError  # abstract

    def _find(self, expr: PrimExpr, kind: type) -> Pair:
        """The pair of an expression that is not remembered yet."""
        if self._depth >= MAX_DEPTH:
            self._visit_deep(expr)
        self._depth += 1
        pair = self._compute(expr, kind)
        self._depth -= 1
        if len(self._known) > MAX_KEPT:
            self._known = {}
        self._known[id(expr)] = (expr, pair)
        return pair

    def _visit_deep(self, expr: PrimExpr) -> None:
        """Find the pairs of what lies below, children first, so that no recursion is needed."""
        order: list[PrimExpr] = []
        stack = [expr]
        while stack:
            node = stack.pop()
            if id(node) not in self._known and isinstance(node, e.BinaryOpExpr):
                order.append(node)
                stack.extend(expr_children(node))
        depth, self._depth = self._depth, 0
        for node in reversed(order[1:]):
            if id(node) not in self._known:
                self._known[id(node)] = (node, self._compute(node, type(node)))
        self._depth = depth

    def _compute(self, expr: PrimExpr, kind: type) -> Pair:
        raise NotImplementedError  # abstract
