"""What statements compute: expressions that may be named, numbered, and how often they occur.

Equal expressions have one key; with `equivalent` those that simplify to the same have one, too. Of
a sum that may be named its parts are not counted: they are computed by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tvm.arith import Analyzer
from tvm.arith.deep_equal import ExprNumbers
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.children import expr_children, stmt_children
from tvm.tir.op import arith as ops


class Counted(NamedTuple):
    """An expression and how often it is computed."""

    expr: PrimExpr
    times: int


Table = dict[int, Counted]  # by key

_LEAVES = (e.Var, e.IntImm, e.FloatImm, e.StringImm)
_READS = (e.Call, e.BufferLoad, e.ProducerLoad, e.Reduce)
_DIVISIONS = (e.FloorDiv, e.FloorMod, e.Div, e.Mod)


class _Facts(NamedTuple):
    size: int  # nodes
    text: str  # in the notation of expressions, fully parenthesized
    repeatable: bool  # reads nothing, calls nothing, and cannot fail
    vars: frozenset[e.Var]


class Computations:
    """Keys, facts and tables of one function."""

    def __init__(self, equivalent: bool) -> None:
        self._numbers = ExprNumbers()
        self._facts: dict[int, _Facts] = {}
        self._keys: dict[int, int] | None = {} if equivalent else None
        self._analyzer = Analyzer()
        self._analyzer.rewriter.keeps_nan = True
        self._tables: dict[int, tuple[s.Stmt, Table]] = {}

    def key(self, expr: PrimExpr) -> int:
        """The same number for all that are the same computation."""
        number = self._numbers.number(expr)
        if self._keys is None:
            return number
        if number not in self._keys:
            self._keys[number] = self._numbers.number(self._analyzer.simplify(expr))
        return self._keys[number]

    def may_be_named(self, expr: PrimExpr) -> bool:
        """Arithmetic of variables and literals; no ramps and broadcasts, which shape accesses."""
        if isinstance(expr, (*_LEAVES, *_READS, e.Ramp, e.Broadcast, e.Let)):
            return False
        return self.facts(expr).repeatable

    def order(self, expr: PrimExpr) -> tuple[int, str]:
        """The largest come first, and of one size those whose text does."""
        facts = self.facts(expr)
        return (-facts.size, facts.text)

    def facts(self, expr: PrimExpr) -> _Facts:
        """What is known of an expression; equal ones share it."""
        number = self._numbers.number(expr)
        found = self._facts.get(number)
        if found is not None:
            return found
        stack: list[tuple[PrimExpr, bool]] = [(expr, False)]
        while stack:
            node, ready = stack.pop()
            number = self._numbers.number(node)
            if number in self._facts:
                continue
            below = expr_children(node)
            if ready or not below:
                self._facts[number] = self._found(node, [self.facts(child) for child in below])
            else:
                stack.append((node, True))
                stack.extend([(child, False) for child in below])
        return self._facts[self._numbers.number(expr)]

    def _found(self, node: PrimExpr, below: list[_Facts]) -> _Facts:
        repeatable = not isinstance(node, _READS) and all([f.repeatable for f in below])
        if isinstance(node, _DIVISIONS) and ops.literal(node.b) in (None, 0):
            repeatable = False
        own = frozenset([node]) if isinstance(node, e.Var) else frozenset()
        used = own.union(*[f.vars for f in below])
        texts = [f.text for f in below]
        return _Facts(1 + sum([f.size for f in below]), _text(node, texts), repeatable, used)

    def within(self, expr: PrimExpr) -> Iterator[PrimExpr]:
        """The largest parts of an expression that may be named, itself left out."""
        stack = list(expr_children(expr))[::-1]
        while stack:
            node = stack.pop()
            if self.may_be_named(node):
                yield node
            else:
                stack.extend(expr_children(node)[::-1])

    def of_expr(self, expr: PrimExpr) -> Table:
        """What an expression computes."""
        table: Table = {}
        for found in [expr] if self.may_be_named(expr) else self.within(expr):
            self.add(table, self.key(found), found, 1)
        return table

    def add(self, table: Table, key: int, expr: PrimExpr, times: int) -> None:
        """Count a computation; of equivalent ones the first by text stands for all."""
        old = table.get(key)
        if old is None:
            table[key] = Counted(expr, times)
        else:
            first = min(old.expr, expr, key=lambda x: self.facts(x).text)
            table[key] = Counted(first, old.times + times)

    def of_stmt(self, stmt: s.Stmt) -> Table:
        """What a statement computes whenever it runs."""
        known = self._tables.get(id(stmt))
        if known is not None:
            return known[1]
        table: Table = {}
        stack: list[PrimExpr | s.Stmt] = [stmt]
        while stack:
            node = stack.pop()
            if isinstance(node, PrimExpr):
                self._join(table, self.of_expr(node))
            elif isinstance(node, (s.For, s.While, s.IfThenElse)):
                self._join(table, self._of_parts(node))
            elif isinstance(node, s.DeclBuffer):
                stack.append(node.body)
            else:
                stack.extend(stmt_children(node))
        self._tables[id(stmt)] = (stmt, table)
        return table

    def _of_parts(self, stmt: s.For | s.While | s.IfThenElse) -> Table:
        """What two parts of a statement compute that do not always run together."""
        if isinstance(stmt, s.For):
            parts = [self.of_expr(stmt.min), self.of_expr(stmt.extent), self.of_stmt(stmt.body)]
        elif isinstance(stmt, s.While):
            parts = [self.of_expr(stmt.condition), self.of_stmt(stmt.body)]
        else:
            parts = [self.of_expr(stmt.condition), self.of_stmt(stmt.then_case)]
            parts += [] if stmt.else_case is None else [self.of_stmt(stmt.else_case)]
        table: Table = {}
        for i, one in enumerate(parts):
            for other in parts[i + 1 :]:
                for key in one.keys() & other.keys():
                    self.add(table, key, one[key].expr, one[key].times)
                    self.add(table, key, other[key].expr, other[key].times)
        return table

    def _join(self, table: Table, more: Table) -> None:
        for key, counted in more.items():
            self.add(table, key, counted.expr, counted.times)


_SIGNS: dict[type, str] = {
    e.Add: " + ", e.Sub: " - ", e.Mul: "*", e.Div: "/", e.Mod: " % ", e.EQ: " == ", e.NE: " != ",
    e.LT: " < ", e.LE: " <= ", e.GT: " > ", e.GE: " >= ", e.And: " && ", e.Or: " || ",
}  # fmt: skip


def _text(node: PrimExpr, parts: list[str]) -> str:
    sign = _SIGNS.get(type(node))
    if sign is not None:
        return f"({parts[0]}{sign}{parts[1]})"
    if isinstance(node, e.Var):
        return node.name
    if isinstance(node, (e.IntImm, e.FloatImm, e.StringImm)):
        plain = str(node.dtype) == "int32" or isinstance(node, e.StringImm)
        return str(node.value) if plain else f"({node.dtype}){node.value}"
    if isinstance(node, e.Not):
        return f"!{parts[0]}"
    name = str(node.dtype) if isinstance(node, e.Cast) else type(node).__name__.lower()
    return f"{name}({', '.join(parts)})"
