"""Loops are cut where a guard starts or stops to hold, so that most iterations test nothing.

    for i in range(5):                          for i in range(4):
        for j in range(8):               ->         for j in range(8): B[i * 8 + j] = ...
            if i * 8 + j < 37:                  for j in range(8):
                B[i * 8 + j] = ...                  if 32 + j < 37: B[32 + j] = ...

A guard is a comparison, linear in the loop's variable, under `T.likely`, or anywhere in a loop that
has the hint `pragma_loop_partition_hint`; each part is cut again where other guards hold, or fail,
in all of it. Loops of constant extent are cut only with the hint or with `partition_const_loop` in
the config `tir.LoopPartition`; so are axes of blocks, between whose parts each block chooses. Where
a guard asks whether the variable has one certain value, the loop is cut before and behind it. What
`T.ignore_loop_partition` marks cuts nothing. By the other options loops of one iteration stay
loops, and loops with the hint that cannot be cut are unrolled.
"""

from __future__ import annotations

from tvm.ir.config import ConfigRecord
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator, bare_condition
from .annotate_irregular_loop import is_irregular
from .folding import FoldingSubstituter, RenamingSubstituter
from .index_bounds import IndexBounds
from .pass_form import tir_pass

HINT = "pragma_loop_partition_hint"


@tir_pass("tir.LoopPartition")
def LoopPartition(
    func: PrimFunc, mod: IRModule, ctx: PassContext, *, folds: bool = False
) -> PrimFunc:
    """Guards that hold for most iterations of a loop are tested only in the others.

    Where it `folds`, indices are worked out and choices by what is decided disappear.
    """
    body = _Partitioner(func, ctx.option("tir.LoopPartition"), folds).visit_stmt(func.body)
    body = _MarkRemover().visit_stmt(body)
    return func.with_body(_Decider().visit_stmt(body) if folds else body)


class _Guard:
    """A term of a condition in a loop, and the ranges of the loops between."""

    def __init__(self, term: PrimExpr, inner: dict[e.Var, Range | None]) -> None:
        self.term = term
        self.inner = inner


class _Guards(StmtExprVisitor):
    """Collects the terms of the conditions in the body of a loop."""

    def __init__(self, everything: bool) -> None:
        super().__init__()
        self.found: list[_Guard] = []
        self._everything = everything
        self._inner: dict[e.Var, Range | None] = {}

    def visit_for_(self, op: s.For) -> None:
        self._inner[op.loop_var] = Range.from_min_extent(op.min, op.extent)
        super().visit_for_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self._inner[op.var] = None
        super().visit_let_stmt_(op)

    def visit_let_(self, op: e.Let) -> None:
        self._inner[op.var] = None
        super().visit_let_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        self._collect(op.condition)
        super().visit_if_then_else_(op)

    def visit_call_(self, op: e.Call) -> None:
        if e.is_call_of(op, "tir.if_then_else"):
            self._collect(op.args[0])
        super().visit_call_(op)

    def visit_select_(self, op: e.Select) -> None:
        self._collect(op.condition)
        super().visit_select_(op)

    def _collect(self, condition: PrimExpr) -> None:
        for term in _terms(condition):
            if self._everything or bare_condition(term) is not term:
                self.found.append(_Guard(term, dict(self._inner)))


def _terms(condition: PrimExpr) -> list[PrimExpr]:
    """The terms of a conjunction; what is marked as likely is one term."""
    terms: list[PrimExpr] = []
    stack = [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, e.And):
            stack += [node.b, node.a]
        else:
            terms.append(node)
    return terms


class _Partitioner(AnalyzedMutator):
    def __init__(self, func: PrimFunc, config: ConfigRecord, folds: bool) -> None:
        super().__init__(func)
        self._folds = folds
        self._const_loops = bool(config.partition_const_loop)
        self._keep_single = bool(config.no_unroll_loop_with_extent_one)
        self._unroll = bool(config.unroll_loop_with_partition_hint_no_interval)
        self._hinted: set[e.Var] = set()  # by an attribute around them
        self._threads: dict[e.Var, Range | None] = {}  # that run side by side in a block

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "thread_extent" and isinstance(op.node, e.IterVar):
            return self._launch(op, op.node)
        if op.attr_key != HINT:
            return super().visit_attr_stmt_(op)
        loop = op.body
        while isinstance(loop, s.AttrStmt):
            loop = loop.body
        if isinstance(loop, s.For) and not ops.is_zero(op.value):
            self._hinted.add(loop.loop_var)
        return self.visit_stmt(op.body)

    def _launch(self, op: s.AttrStmt, iv: e.IterVar) -> s.Stmt:
        """Blocks choose between the parts of their axis; guards hold for all threads of a block."""
        if not iv.thread_tag.startswith("blockIdx"):
            self._threads[iv.var] = Range(ops.const(0, op.value.dtype), op.value)
            stmt = super().visit_attr_stmt_(op)
            del self._threads[iv.var]
            return stmt
        wanted = self._const_loops or not isinstance(op.value, e.IntImm)
        if self._folds or not wanted:
            return super().visit_attr_stmt_(op)
        zero = ops.const(0, op.value.dtype)
        self.analyzer.bind(iv.var, Range.from_min_extent(zero, op.value), allow_override=True)
        guards = _Guards(False)
        guards.visit_stmt(op.body)
        axis = s.For(iv.var, zero, op.value, s.ForKind.SERIAL, op.body)
        low, high, held = self._where_all_are(axis, guards.found, True)
        if not held:
            return super().visit_attr_stmt_(op)
        inside: PrimExpr = ops.const(True, "bool")
        if not self.analyzer.can_prove_equal(low, zero):
            inside = ops.logical_and(inside, ops.greater_equal(iv.var, low))
        if not self.analyzer.can_prove_equal(high, op.value):
            inside = ops.logical_and(inside, ops.less(iv.var, high))
        body = self.visit_stmt(_Assumer(held).visit_stmt(op.body))
        outside = RenamingSubstituter({}, True).visit_stmt(op.body)
        return with_fields(op, body=s.IfThenElse(inside, body, outside))

    def visit_for_(self, op: s.For) -> s.Stmt:
        hinted = op.loop_var in self._hinted
        constant = isinstance(op.extent, e.IntImm)
        wanted = not constant or hinted or self._const_loops
        if op.kind is s.ForKind.THREAD_BINDING or not wanted or is_irregular(op):
            return super().visit_for_(op)
        guards = _Guards(hinted)
        guards.visit_stmt(op.body)
        apart = self._cut_at_one_value(op, guards.found, hinted)
        if apart is not None:
            return apart
        self.bind_range(op)
        holds = True
        low, high, held = self._where_all_are(op, guards.found, holds)
        if not held:
            holds = False
            low, high, held = self._where_all_are(op, guards.found, holds)
        if not held:
            stmt = super().visit_for_(op)
            unroll = hinted and self._unroll and self._has_bound(op, guards.found)
            return with_fields(stmt, kind=s.ForKind.UNROLLED) if unroll else stmt
        return self._cut(op, low, high, held, holds)

    def _has_bound(self, op: s.For, guards: list[_Guard]) -> bool:
        """Some guard asks on which side of a bound the loop's variable is."""
        return any(self._solve(op, guard, True) is not None for guard in guards)

    def _cut_at_one_value(
        self, op: s.For, guards: list[_Guard], hinted: bool
    ) -> s.Stmt | None:
        """A loop in which a guard asks for one value of its variable: before it, it, behind it."""
        low, extent = self.analyzer.simplify(op.min), self.analyzer.simplify(op.extent)
        if not isinstance(low, e.IntImm) or not isinstance(extent, e.IntImm):
            return None
        end = low.value + extent.value
        for guard in guards:
            value = self._only_value(op, guard)
            if value is None or not low.value <= value < end or extent.value == 1:
                continue
            equal = isinstance(bare_condition(guard.term), e.EQ)
            parts: list[s.Stmt] = []
            for first, last in ((low.value, value), (value, value + 1), (value + 1, end)):
                if first < last:
                    holds = (first == value) is equal
                    body = _Assumer([guard.term], holds).visit_stmt(op.body)
                    parts.append(self._part(op, first, last - first, body, len(parts), hinted))
            return s.SeqStmt.flatten(parts)
        return None

    def _part(
        self, op: s.For, low: int, extent: int, body: s.Stmt, number: int, hinted: bool
    ) -> s.Stmt:
        dtype = op.loop_var.dtype
        piece = self._piece(
            op, ops.const(low, dtype), ops.const(extent, dtype), body, rename=number > 0
        )
        if hinted and isinstance(piece, s.For):
            self._hinted.add(piece.loop_var)
        return self.visit_stmt(piece)

    def _only_value(self, op: s.For, guard: _Guard) -> int | None:
        """The one value of the loop's variable for which an equality holds."""
        term, var = bare_condition(guard.term), op.loop_var
        if not isinstance(term, (e.EQ, e.NE)) or not term.a.dtype.is_int:
            return None
        gap = ops.subtract(term.a, term.b)
        intercept = self.analyzer.simplify(_with(gap, var, 0))
        factor = self.analyzer.simplify(ops.subtract(_with(gap, var, 1), intercept))
        if not isinstance(intercept, e.IntImm):
            return None
        if not isinstance(factor, e.IntImm) or not factor.value:
            return None
        linear = ops.add(intercept, ops.multiply(factor, ops.cast(var, gap.dtype)))
        if intercept.value % factor.value or not self.analyzer.can_prove_equal(gap, linear):
            return None
        return -intercept.value // factor.value

    def _where_all_are(
        self, op: s.For, guards: list[_Guard], holds: bool
    ) -> tuple[PrimExpr, PrimExpr, list[PrimExpr]]:
        """The range in which guards hold, or fail, in all iterations of inner loops; which do."""
        low, high = op.min, ops.add(op.min, op.extent)
        held: list[PrimExpr] = []
        for guard in guards:
            solved = self._solve(op, guard, holds)
            if solved is None:
                continue
            is_lower, bound = solved
            bound = ops.cast(bound, low.dtype)
            new_low = ops.max_of(bound, low) if is_lower else low
            new_high = high if is_lower else ops.min_of(ops.add(bound, 1), high)
            if self.analyzer.can_prove(ops.less_equal(new_high, new_low)):
                continue  # it holds elsewhere, perhaps in another part of the loop
            low, high = new_low, new_high
            held.append(guard.term)
        return self.analyzer.simplify(low), self.analyzer.simplify(high), held

    def _solve(self, op: s.For, guard: _Guard, holds: bool) -> tuple[bool, PrimExpr] | None:
        """(True, b): the guard holds, or fails, from b on; (False, b): it does up to b."""
        gap = _gap(bare_condition(guard.term))
        if gap is None:
            return None
        if not holds:
            gap = ops.subtract(-1, gap)
        var = op.loop_var
        intercept = self.analyzer.simplify(_with(gap, var, 0))
        factor = self.analyzer.simplify(ops.subtract(_with(gap, var, 1), intercept))
        linear = ops.add(intercept, ops.multiply(factor, ops.cast(var, gap.dtype)))
        if not isinstance(factor, e.IntImm) or factor.value == 0:
            return None
        if not self.analyzer.can_prove_equal(gap, linear):
            return None
        inner = {**self._threads, **guard.inner}
        bounds = IndexBounds(inner, self.analyzer).of(intercept)
        if bounds is None:
            return None
        least = bounds[0]
        if factor.value > 0:
            up = ops.add(ops.subtract(0, least), factor.value - 1)
            return True, self.analyzer.simplify(ops.floordiv(up, factor))
        return False, self.analyzer.simplify(ops.floordiv(least, -factor.value))

    def _cut(
        self, op: s.For, low: PrimExpr, high: PrimExpr, decided: list[PrimExpr], holds: bool
    ) -> s.Stmt:
        end = ops.add(op.min, op.extent)
        at_begin = self.analyzer.can_prove_equal(low, op.min)
        if not at_begin:
            low = self.analyzer.simplify(ops.min_of(low, end))
        high = self.analyzer.simplify(ops.max_of(high, low))
        middle = self.analyzer.simplify(ops.subtract(high, low))
        if isinstance(middle, e.IntImm) and middle.value <= 0:
            return super().visit_for_(op)
        whole = at_begin and self.analyzer.can_prove_equal(high, end)
        body = _Assumer(decided, holds).visit_stmt(op.body)
        if whole:
            return self._visit_piece(op, op.min, op.extent, body, rename=False)
        between = self._piece(op, low, middle, self.visit_stmt(body), rename=False)
        before = ops.const(0, low.dtype) if at_begin else ops.subtract(low, op.min)
        first = self._remainder_loop(op, op.min, before)
        last = self._remainder_loop(op, high, ops.subtract(end, high))
        return s.SeqStmt.flatten(first, between, last)

    def _remainder_loop(self, op: s.For, low: PrimExpr, extent: PrimExpr) -> s.Stmt:
        """A part that is certainly run is cut by other guards; so are the loops within it."""
        extent = self.analyzer.simplify(extent)
        if not self.analyzer.can_prove(ops.less(0, extent)):
            return self._piece(op, low, extent, op.body, rename=True)
        return self._visit_piece(op, low, extent, op.body, rename=True)

    def _visit_piece(
        self, op: s.For, low: PrimExpr, extent: PrimExpr, body: s.Stmt, rename: bool
    ) -> s.Stmt:
        """A part, cut in turn; where it is a loop still, the hint holds for it too."""
        piece = self._piece(op, low, extent, body, rename)
        hinted = op.loop_var in self._hinted
        is_loop = self._keep_single or not ops.is_one(extent)
        if hinted and is_loop and isinstance(piece, s.For):
            self._hinted.add(piece.loop_var)
        return self.visit_stmt(piece)

    def _piece(
        self, op: s.For, low: PrimExpr, extent: PrimExpr, body: s.Stmt, rename: bool
    ) -> s.Stmt:
        """The iterations of a part; a loop from zero, or the single one of a plain loop."""
        extent = self.analyzer.simplify(extent)
        if isinstance(extent, e.IntImm) and extent.value <= 0:
            return s.Evaluate(0)
        if ops.is_one(extent) and not self._keep_single and not op.annotations:
            if not self._folds and not ops.is_zero(low):
                low = e.Add(ops.const(0, low.dtype), low)
            return self._substituted(body, op.loop_var, low, rename)
        var = op.loop_var.copy_with_name(op.loop_var.name) if rename else op.loop_var
        start = self.analyzer.simplify(low)
        moved = var if ops.is_zero(start) else ops.add(var, start)
        if moved is not op.loop_var:
            body = self._substituted(body, op.loop_var, moved, rename)
        zero = ops.const(0, var.dtype)
        return s.For(
            var, zero, extent, op.kind, body, op.thread_binding, op.annotations, op.span
        )

    def _substituted(
        self, body: s.Stmt, var: e.Var, value: PrimExpr, rename: bool
    ) -> s.Stmt:
        kind = FoldingSubstituter if self._folds else RenamingSubstituter
        return kind({var: value}, rename).visit_stmt(body)


def _gap(term: PrimExpr) -> PrimExpr | None:
    """What is at least zero where the comparison holds."""
    if not isinstance(term, e.CmpExpr) or not term.a.dtype.is_int or not term.dtype.is_scalar:
        return None
    if isinstance(term, e.LT):
        return ops.subtract(ops.subtract(term.b, term.a), 1)
    if isinstance(term, e.LE):
        return ops.subtract(term.b, term.a)
    if isinstance(term, e.GT):
        return ops.subtract(ops.subtract(term.a, term.b), 1)
    return ops.subtract(term.a, term.b) if isinstance(term, e.GE) else None


def _with(expr: PrimExpr, var: e.Var, value: int) -> PrimExpr:
    return FoldingSubstituter({var: ops.const(value, var.dtype)}).visit_expr(expr)


class _Assumer(StmtExprMutator):
    """Replaces terms of conditions, known by identity, by what they are: true, or false.

    A choice by a term alone is made; one by a term that is marked as likely, or by a term among
    others, stays a choice by a constant.
    """

    def __init__(self, held: list[PrimExpr], holds: bool = True) -> None:
        super().__init__()
        self._holds = holds
        self._held = {id(bare_condition(term)) for term in held}
        self._kept = held  # the identities stay taken

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if id(expr) in self._held:
            return ops.const(self._holds, "bool")
        return super().visit_expr(expr)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if e.is_call_of(op, "tir.if_then_else") and id(op.args[0]) in self._held:
            return self.visit_expr(op.args[1 if self._holds else 2])
        return super().visit_call_(op)

    def visit_select_(self, op: e.Select) -> PrimExpr:
        if id(op.condition) in self._held:
            return self.visit_expr(op.true_value if self._holds else op.false_value)
        return super().visit_select_(op)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        if id(op.condition) in self._held:
            if self._holds:
                return self.visit_stmt(op.then_case)
            return s.Evaluate(0) if op.else_case is None else self.visit_stmt(op.else_case)
        return super().visit_if_then_else_(op)


class _Decider(StmtExprMutator):
    """Choices by what has become a constant are made."""

    def visit_and_(self, op: e.And) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return ops.logical_and(a, b, op.span)

    def visit_or_(self, op: e.Or) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return ops.logical_or(a, b, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if isinstance(call, e.Call) and e.is_call_of(call, "tir.if_then_else"):
            known = ops.literal(call.args[0])
            if known is not None:
                return call.args[1 if known else 2]  # type: ignore[no-any-return]
        return call

    def visit_select_(self, op: e.Select) -> PrimExpr:
        select = super().visit_select_(op)
        known = ops.literal(select.condition) if isinstance(select, e.Select) else None
        if known is None or not isinstance(select, e.Select):
            return select
        return select.true_value if known else select.false_value

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        stmt = super().visit_if_then_else_(op)
        known = ops.literal(stmt.condition) if isinstance(stmt, s.IfThenElse) else None
        if known is None or not isinstance(stmt, s.IfThenElse):
            return stmt
        if known:
            return stmt.then_case
        return s.Evaluate(0) if stmt.else_case is None else stmt.else_case


_MARKS = ("tir.likely", "tir.ignore_loop_partition")


class _MarkRemover(StmtExprMutator):
    """The marks have done their work."""

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if e.is_call_of(call, *_MARKS):
            return bare_condition(call.args[0])
        return call
