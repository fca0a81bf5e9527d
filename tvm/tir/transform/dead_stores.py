"""Stores whose values nobody reads, because others come after them.

    for i in range(16): A[i] = 1            (nothing)
    for i in range(16): A[i] = 2     ->     for i in range(16): A[i] = 2

A loop nest goes as a whole, or single stores of it do.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import with_fields
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import BufferFacts
from tvm.tir.effects import has_effect, is_stateful_call, reads_memory
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, walk
from tvm.tir.op import arith as ops

from .analyzed_mutator import as_fact


def without_overwritten(parts: Sequence[s.Stmt], analyzer: Analyzer) -> list[s.Stmt]:
    """The statements of a sequence but for those that later ones overwrite unread."""
    kept = list(parts)
    for position in range(len(kept) - 2, -1, -1):
        part, following = kept[position], kept[position + 1 :]
        if isinstance(part, s.BufferStore) and _is_stored_again(part, following, analyzer):
            kept[position] = effects_of(*part.indices, part.value)
        elif _is_overwritten(part, following, analyzer):
            kept[position] = s.Evaluate(0)
        else:
            kept[position] = _without_sites(kept[position], kept[position + 1 :], analyzer)
    return kept


def _is_stored_again(store: s.BufferStore, following: Sequence[s.Stmt], analyzer: Analyzer) -> bool:
    """Whether the element is overwritten unread; what its value does comes before either store."""
    site, data = _Site(store, ()), store.buffer.data
    return site.is_definite and any(
        _covers(later, [site], analyzer) for later in _before_reads(data, following)
    )


def effects_of(*exprs: PrimExpr) -> s.Stmt:
    """What is left of a statement whose expressions are evaluated for nothing."""
    kept = [s.Evaluate(expr, expr.span) for expr in exprs if has_effect(expr)]
    return s.SeqStmt.flatten(kept)


def _without_sites(first: s.Stmt, following: Sequence[s.Stmt], analyzer: Analyzer) -> s.Stmt:
    """The statement without those of its stores that are overwritten before anything reads them."""
    if not isinstance(first, (s.For, s.IfThenElse)):
        return first
    collector = _Collector()
    collector.visit_stmt(first)
    dropped: set[s.BufferStore] = set()
    for site in collector.sites:
        data = site.store.buffer.data
        if not site.is_definite or _may_read(data, first):
            continue
        if any(_covers(later, [site], analyzer) for later in _before_reads(data, following)):
            dropped.add(site.store)
    return _Dropper(dropped).visit_stmt(first) if dropped else first


class _Dropper(StmtExprMutator):
    """Leaves out stores; what holds nothing then is left to others."""

    def __init__(self, dropped: set[s.BufferStore]) -> None:
        super().__init__()
        self._dropped = dropped

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        return s.Evaluate(0, op.span) if op in self._dropped else op


def without_unread(data: e.Var, body: s.Stmt) -> s.Stmt:
    """The scope of an allocation without the stores to it behind which nothing reads it.

    Memory that has another name, or is known elsewhere, stays as it is.
    """
    return body if _is_known_elsewhere(data, body) else _without_last(data, body)


def _without_last(data: e.Var, body: s.Stmt) -> s.Stmt:
    if not _reads(data, body):
        return _WithoutStores(data).visit_stmt(body)
    if isinstance(body, (s.DeclBuffer, s.LetStmt, s.AttrStmt, s.Allocate)):
        inner = _without_last(data, body.body)
        return body if inner is body.body else with_fields(body, body=inner)
    if not isinstance(body, s.SeqStmt):
        return body
    parts = list(body.seq)
    for position in range(len(parts) - 1, -1, -1):
        parts[position] = _without_last(data, parts[position])
        if _reads(data, parts[position]):
            break
    return body if all(map(is_, parts, body.seq)) else s.SeqStmt.flatten(parts)


def _reads(data: e.Var, body: s.Stmt) -> bool:
    return any(isinstance(n, e.BufferLoad) and n.buffer.data is data for n in walk(body))


def _is_known_elsewhere(data: e.Var, body: s.Stmt) -> bool:
    """The pointer itself occurs, in a call or for another name, or a block renames memory."""
    return any(
        node is data or (isinstance(node, s.Block) and bool(node.match_buffers))
        for node in walk(body)
    )


class _WithoutStores(StmtExprMutator):
    """Leaves out the stores to one memory."""

    def __init__(self, data: e.Var) -> None:
        super().__init__()
        self._data = data

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        return effects_of(*op.indices, op.value) if op.buffer.data is self._data else op


def uses_memory(data: e.Var, body: s.Stmt) -> bool:
    """The pointer occurs in the statement: as that of a buffer, by itself, or in an attribute."""
    for node in walk(body):
        buffer = getattr(node, "buffer", None)
        if node is data or (buffer is not None and buffer.data is data):
            return True
        if isinstance(node, s.AttrStmt) and not isinstance(node.node, e.IterVar):
            return True  # an attribute may name anything
        if isinstance(node, s.Block):
            return True  # its regions too
    return False


def _is_overwritten(first: s.Stmt, following: Sequence[s.Stmt], analyzer: Analyzer) -> bool:
    stores = _plain_stores(first)
    if stores is None:
        return False
    for data, group in stores.items():
        if not any(_covers(later, group, analyzer) for later in _before_reads(data, following)):
            return False
    return True


def _plain_stores(stmt: s.Stmt) -> dict[e.Var, list[_Site]] | None:
    """The stores of a statement that does nothing else, by memory; None for others."""
    collector = _Collector()
    collector.visit_stmt(stmt)
    if not collector.plain or not collector.sites:
        return None
    found: dict[e.Var, list[_Site]] = {}
    for site in collector.sites:
        found.setdefault(site.store.buffer.data, []).append(site)
    return found


def _before_reads(data: e.Var, following: Sequence[s.Stmt]) -> list[s.Stmt]:
    """The statements before the first one that may read the memory."""
    found: list[s.Stmt] = []
    for stmt in following:
        if _may_read(data, stmt):
            return found
        found.append(stmt)
    return found


def _may_read(data: e.Var, stmt: s.Stmt) -> bool:
    for node in walk(stmt):
        read = isinstance(node, e.BufferLoad) and node.buffer.data is data
        if read or is_stateful_call(node) or node is data:
            return True
    return False


def _covers(later: s.Stmt, sites: Sequence[_Site], analyzer: Analyzer) -> bool:
    """Each element that the sites store has been stored again behind the statement."""
    follower = _Follower(analyzer)
    follower.visit_stmt(later)
    return all(site.is_stored_again(follower.facts, analyzer) for site in sites)


class _Site:
    """A store, and the loops and conditions around it."""

    def __init__(self, store: s.BufferStore, around: Sequence[s.For | PrimExpr]) -> None:
        self.store: Final = store
        self.around: Final = tuple(around)

    @property
    def is_definite(self) -> bool:
        """The element does not depend on what memory contains."""
        return not any(reads_memory(i) or not i.dtype.is_scalar for i in self.store.indices)

    def is_stored_again(self, facts: BufferFacts, analyzer: Analyzer) -> bool:
        """A later value is known for the element, in every iteration that stores it."""
        entered = []
        for one in self.around:
            if isinstance(one, s.For):
                dom = Range.from_min_extent(one.min, one.extent)
                analyzer.bind(one.loop_var, dom, allow_override=True)
            else:
                entered.append(analyzer.enter(one))
        known = facts.known(e.BufferLoad(self.store.buffer, self.store.indices))
        for condition in reversed(entered):
            analyzer.leave(condition)
        return known is not None


class _Collector(StmtExprVisitor):
    """The stores of a loop nest, and whether it holds anything else that matters."""

    def __init__(self) -> None:
        super().__init__()
        self.sites: list[_Site] = []
        self.plain = True
        self._around: list[s.For | PrimExpr] = []

    def visit_expr(self, expr: PrimExpr) -> None:
        if has_effect(expr):
            self.plain = False

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        for part in (*op.indices, op.value):
            self.visit_expr(part)
        # where the element is not known for sure, no later store is known to cover it
        site = _Site(op, self._around)
        if not site.is_definite:
            self.plain = False
        self.sites.append(site)

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        if reads_memory(op.extent) or reads_memory(op.min):
            self.plain = False
        self._within(op, op.body)

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        self.visit_expr(op.condition)
        fact = as_fact(op.condition)
        lasts = not reads_memory(fact)
        self._within(fact if lasts else e.IntImm(e.BOOL, 1), op.then_case)
        if op.else_case is not None:
            opposite = ops.logical_not(fact) if lasts else e.IntImm(e.BOOL, 1)
            self._within(opposite, op.else_case)

    def _within(self, around: s.For | PrimExpr, body: s.Stmt) -> None:
        self._around = [*self._around, around]
        self.visit_stmt(body)
        self._around = self._around[:-1]

    def visit_evaluate_(self, op: s.Evaluate) -> None:
        self.visit_expr(op.value)

    def visit_stmt_default_(self, op: s.Stmt) -> None:
        if not isinstance(op, s.SeqStmt):
            self.plain = False  # allocations, names, assertions, ... are left to others
        else:
            super().visit_stmt_default_(op)


class _Follower(StmtExprVisitor):
    """What a statement surely stores: facts with a mark instead of every value."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self.facts = BufferFacts(analyzer)
        self._analyzer = analyzer

    def visit_expr(self, expr: PrimExpr) -> None:
        pass

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        mark = None if op.predicate is not None else _mark(op)
        if mark is not None:
            # what was stored stays stored: nothing ends such a fact
            before = self.facts.now
            self.facts.store(op.buffer, op.indices, mark)
            self.facts.now = [*before, *self.facts.now[-1:]]

    def visit_for_(self, op: s.For) -> None:
        before, self.facts.now = self.facts.now, []
        dom = Range.from_min_extent(op.min, op.extent)
        self._analyzer.bind(op.loop_var, dom, allow_override=True)
        self.visit_stmt(op.body)
        runs = self._analyzer.can_prove(ops.greater(op.extent, 0))
        made = []
        for fact in self.facts.now:
            if fact.mentions(op.loop_var):
                made.append(fact.for_all(op.loop_var, dom))
            elif runs:
                made.append(fact)
        self.facts.now = [*before, *made]

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        before = self.facts.now
        self.visit_stmt(op.then_case)
        after_then, self.facts.now = self.facts.now, before
        if op.else_case is not None:
            self.visit_stmt(op.else_case)
        self.facts.join(as_fact(op.condition), after_then)

    def visit_while_(self, op: s.While) -> None:
        pass


def _mark(op: s.BufferStore) -> PrimExpr | None:
    if any(map(reads_memory, op.indices)):
        return None
    if all(index.dtype.is_scalar for index in op.indices):
        return e.IntImm(e.INT32, 0)
    return e.Broadcast(e.IntImm(e.INT32, 0), op.indices[-1].dtype.lanes)
