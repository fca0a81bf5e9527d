"""How much work loops are, and where code that runs long looks up.

Work is counted in nodes of the program, each worth about a nanosecond or less. A loop looks up at
the end of an iteration where one iteration is a good piece of work; a loop with many small ones,
around which there is none, is cut into pieces that are. Looking up costs nothing but a subtraction
until a budget is used up, so that short kernels never do.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Container
from typing import Final, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import children, walk
from tvm.tir.op import arith as ops

BUDGET: Final = 1 << 20  # work between two polls: some tenth of a millisecond
CALL: Final = 1 << 14  # what a call of another kernel counts
MIN_COUNTED: Final = 1 << 14  # less work of an iteration is not counted: sums stay in registers
LONG: Final = 16 * BUDGET  # loops of less work are not cut
_ROUNDS: Final = 16  # what a loop counts whose extent depends on loops inside
_MAX_TERMS: Final = 4
_MAX_COUNT: Final = 1 << 62

_CALM = (s.ForKind.VECTORIZED, s.ForKind.UNROLLED)


class Work(NamedTuple):
    """A number of nodes, and products of a number and extents that are known when running."""

    fixed: int
    terms: tuple[tuple[int, tuple[PrimExpr, ...]], ...] = ()

    @property
    def is_much(self) -> bool:
        """Whether an iteration of so much work counts it."""
        return self.fixed >= MIN_COUNTED or bool(self.terms)

    def within(self, known: Container[e.Var]) -> Work:
        """The same in terms of `known` variables."""
        fixed = self.fixed
        terms: dict[tuple[PrimExpr, ...], int] = {}
        for factor, extents in self.terms:
            known_extents = tuple(x for x in extents if _is_known(x, known))
            factor *= _ROUNDS ** (len(extents) - len(known_extents))
            if known_extents:
                terms[known_extents] = terms.get(known_extents, 0) + factor
            else:
                fixed += factor
        return Work(fixed, tuple((f, x) for x, f in terms.items()))

    def as_expr(self) -> PrimExpr:
        """The number, as int64."""
        total: PrimExpr = e.IntImm("int64", self.fixed)
        for factor, extents in self.terms:
            product: PrimExpr = e.IntImm("int64", factor)
            for extent in extents:
                product = e.Mul(product, ops.cast(extent, DataType("int64")))
            total = e.Add(total, product)
        return total


NONE: Final = Work(0)


def work_of_loops(body: s.Stmt) -> dict[int, Work]:
    """The work of one iteration of each loop in a body, by the loop's id."""
    loops: dict[int, Work] = {}
    outside: list[s.Stmt] = [body]
    while outside:  # what is in no loop, as the checks of arguments, is not measured
        node = outside.pop()
        if isinstance(node, (s.For, s.While)):
            _measure(node, loops)
        else:
            outside += [child for child in children(node) if isinstance(child, s.Stmt)]
    return loops


def _measure(loop: s.For | s.While, loops: dict[int, Work]) -> None:
    """Add the work of a loop's iteration, and of those inside."""
    done: dict[int, Work] = {}
    stack: list[tuple[s.Stmt, bool]] = [(loop, False)]
    while stack:
        node, is_ready = stack.pop()
        inner = [child for child in children(node) if isinstance(child, s.Stmt)]
        if not is_ready:
            stack.append((node, True))
            stack += [(child, False) for child in inner]
            continue
        parts = [done[id(child)] for child in inner]
        whole = functools.reduce(_sum, parts, NONE)
        if isinstance(node, s.For):
            loops[id(node)] = whole
            whole = _times(whole, node.extent)
        elif isinstance(node, s.While):
            loops[id(node)] = whole
            whole = _times(whole, e.IntImm("int64", _ROUNDS))
        else:
            whole = Work(whole.fixed + _own_nodes(node), whole.terms)
        done[id(node)] = whole


def pieces(kind: s.ForKind, work: Work, extent: int | None) -> int | None:
    """Into how many iterations a piece a loop of little work each is cut; None: it stays whole."""
    if kind in _CALM or work.is_much or work.fixed <= 0:
        return None
    if extent is not None and extent * work.fixed < LONG:
        return None
    return 1 << max(int(math.log2(BUDGET / work.fixed)), 6)


def counts(kind: s.ForKind, work: Work) -> bool:
    """Whether a loop counts the work of its iterations."""
    return kind not in _CALM and work.is_much


def _own_nodes(node: s.Stmt) -> int:
    return 1 + sum(
        sum(1 for _ in walk(child)) for child in children(node) if not isinstance(child, s.Stmt)
    )


def _sum(a: Work, b: Work) -> Work:
    if not (a.terms or b.terms):
        return Work(a.fixed + b.fixed)
    terms = sorted([*a.terms, *b.terms], key=lambda term: len(term[1]), reverse=True)
    return Work(a.fixed + b.fixed, tuple(terms[:_MAX_TERMS]))


def _times(work: Work, extent: PrimExpr) -> Work:
    if isinstance(extent, e.IntImm):
        rounds = max(extent.value, 0)
        fixed = min(work.fixed * rounds, _MAX_COUNT)
        return Work(fixed, tuple((f * rounds, x) for f, x in work.terms))
    terms = [(f, (*x, extent)) for f, x in work.terms]
    if work.fixed:
        terms.append((work.fixed, (extent,)))
    return Work(0, tuple(terms[:_MAX_TERMS]))


def _is_known(extent: PrimExpr, known: Container[e.Var]) -> bool:
    """Whether an extent can be computed outside: no loads or calls, and known variables."""
    return all(
        node in known
        if isinstance(node, e.Var)
        else isinstance(node, (e.IntImm, e.Add, e.Sub, e.Mul, e.Min, e.Max, e.Cast, e.FloorDiv))
        and not (isinstance(node, e.FloorDiv) and not isinstance(node.b, e.IntImm))
        for node in walk(extent)
    )
