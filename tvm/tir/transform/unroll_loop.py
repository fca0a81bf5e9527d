"""Loops marked as unrolled, and short enough ones where that is asked for, become sequences.

    for i in T.unroll(2):                   B[0] = A[0]
        B[i] = A[i]              ->         B[1] = A[1]

`tir.UnrollLoop` in the pass context, or the pragmas `auto_unroll_max_step` and `unroll_explicit`
around a loop, say which serial loops are unrolled too: innermost ones whose iterations times the
stores in them stay within `auto_max_step`, or with at most `auto_max_extent` iterations. Without
`explicit_unroll` loops are only marked, and the backend unrolls them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tvm.arith import Analyzer
from tvm.error import CheckError
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, uses_var, walk
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator, bare_condition
from .annotate_irregular_loop import is_irregular
from .folding import FoldingSubstituter, RenamingSubstituter
from .pass_form import tir_pass


@tir_pass("tir.UnrollLoop")
def UnrollLoop(
    func: PrimFunc, mod: IRModule, ctx: PassContext, *, folds: bool = False
) -> PrimFunc:
    """No loop is marked as unrolled afterwards, unless `explicit_unroll` is off.

    Where it `folds`, indices are worked out and guards that are decided disappear.
    """
    config = ctx.option("tir.UnrollLoop")
    limits = _Limits(
        int(config.auto_max_step),
        int(config.auto_max_depth),
        int(config.auto_max_extent),
        bool(config.explicit_unroll),
        bool(config.unroll_local_access),
        strict=not folds,
    )
    chooser = _Chooser(limits)
    body = chooser.visit_stmt(func.body)
    if chooser.chosen:
        if folds:
            body = _Decider(func).visit_stmt(_FoldingExpander(chooser.chosen).visit_stmt(body))
        else:
            body = _Expander(chooser.chosen).visit_stmt(body)
    return func.with_body(body)


@dataclass(frozen=True)
class _Limits:
    max_step: int
    max_depth: int
    max_extent: int
    explicit: bool
    local_access: bool
    strict: bool  # loops marked as unrolled have to have constant extents


class _Chooser(StmtExprMutator):
    """Bottom-up: counts the stores, kept loops and unrolled loops below each statement."""

    def __init__(self, limits: _Limits) -> None:
        super().__init__()
        self.chosen: set[s.For] = set()
        self._limits = limits
        self._analyzer = Analyzer()
        self._steps = 0
        self._loops_kept = 0
        self._loops_unrolled = 0

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        changed = _changed_limits(op, self._limits)
        if changed is None:
            return super().visit_attr_stmt_(op)
        outer, self._limits = self._limits, changed
        body = self.visit_stmt(op.body)
        self._limits = outer
        return body

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        self._steps += 1
        return op

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        self._steps += 1
        return op

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        """Each part is looked at alone; around them, the one with the most loops counts."""
        steps, kept, unrolled = self._steps, self._loops_kept, self._loops_unrolled
        new = []
        for stmt in op.seq:
            self._steps = self._loops_kept = self._loops_unrolled = 0
            new.append(self.visit_stmt(stmt))
            steps += self._steps
            kept, unrolled = max(kept, self._loops_kept), max(unrolled, self._loops_unrolled)
        self._steps, self._loops_kept, self._loops_unrolled = steps, kept, unrolled
        if all(a is b for a, b in zip(op.seq, new)):
            return op
        return s.SeqStmt.flatten(new)

    def visit_for_(self, op: s.For) -> s.Stmt:
        body = self.visit_stmt(op.body)
        extent = self._extent(op)
        loop = op if body is op.body and extent is op.extent else s.For(
            op.loop_var, op.min, extent, op.kind, body, op.thread_binding, op.annotations,
            op.span,
        )  # fmt: skip
        count = extent.value if isinstance(extent, e.IntImm) else None
        # a single iteration is written out whatever is in it, and whoever unrolls the others
        single = count is not None and count <= self._limits.max_extent == 1
        if not self._wanted(loop, count):
            self._loops_kept += 1
            if single and loop.kind == s.ForKind.SERIAL and not is_irregular(loop):
                self.chosen.add(loop)
            return loop
        assert count is not None, "only loops of constant extent are chosen"
        self._steps *= count
        self._loops_unrolled += 1
        if loop.kind != s.ForKind.UNROLLED:
            loop = s.For(op.loop_var, op.min, extent, s.ForKind.UNROLLED, body, None,
                         op.annotations, op.span)  # fmt: skip
        if self._limits.explicit or single:
            self.chosen.add(loop)
        return loop

    def _extent(self, op: s.For) -> PrimExpr:
        """The extent as a literal where it is one in disguise: `n + 2 - n`."""
        if isinstance(op.extent, e.IntImm):
            return op.extent
        simple = self._analyzer.simplify(op.extent)
        return simple if isinstance(simple, e.IntImm) else op.extent

    def _wanted(self, loop: s.For, count: int | None) -> bool:
        if count is None:
            if loop.kind == s.ForKind.UNROLLED and self._limits.strict:
                raise CheckError(
                    f"Cannot unroll non-constant loop over {loop.loop_var.name}, extent "
                    f"{loop.extent}; legal: a constant extent"
                )
            return False
        if loop.kind == s.ForKind.UNROLLED:
            return not is_irregular(loop)
        limits = self._limits
        if loop.kind != s.ForKind.SERIAL or self._loops_kept:
            return False
        local = limits.local_access and _indexes_local(loop)
        fits = count * self._steps <= limits.max_step or count <= limits.max_extent
        chosen = local or (fits and self._loops_unrolled <= limits.max_depth)
        return chosen and not is_irregular(loop)


def _changed_limits(op: s.AttrStmt, limits: _Limits) -> _Limits | None:
    value = ops.literal(op.value)
    if value is None:
        return None
    if op.attr_key == "pragma_auto_unroll_max_step":
        return replace(limits, max_step=int(value))
    if op.attr_key == "pragma_unroll_explicit":
        return replace(limits, explicit=bool(value))
    return None


def _indexes_local(loop: s.For) -> bool:
    """True if the loop picks elements of a buffer that could live in registers."""
    for node in walk(loop.body):
        access = isinstance(node, (e.BufferLoad, s.BufferStore))
        if access and node.buffer.scope() == "local" and _uses(node.indices, loop.loop_var):
            return True
    return False


def _uses(indices: tuple[PrimExpr, ...], var: e.Var) -> bool:
    return any(uses_var(index, var) for index in indices)


class _Decider(AnalyzedMutator):
    """Guards that always hold, or never, in the one iteration that a copy is: they decide."""

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        known = ops.literal(self.analyzer.simplify(bare_condition(op.condition)))
        if known is None:
            return super().visit_if_then_else_(op)
        if known:
            return self.visit_stmt(op.then_case)
        return s.Evaluate(0) if op.else_case is None else self.visit_stmt(op.else_case)


class _Expander(RenamingSubstituter):
    """Writes the iterations of the chosen loops out, in one walk over what comes out."""

    def __init__(self, chosen: set[s.For]) -> None:
        super().__init__({})
        self._chosen = chosen

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op not in self._chosen:
            return super().visit_for_(op)
        assert isinstance(op.extent, e.IntImm), "only loops of constant extent are chosen"
        low = self.visit_expr(op.min)
        outer, buffers = self.rename, self.buffers
        copies: list[s.Stmt] = []
        for i in range(op.extent.value):
            self.values[op.loop_var] = ops.add(low, ops.const(i, op.loop_var.dtype))
            self.rename = outer or i > 0  # the first copy keeps the names of what is bound inside
            self.buffers = dict(buffers)  # each copy has its own over memory allocated inside
            copies.append(self.visit_stmt(op.body))
        self.rename, self.buffers = outer, buffers
        return s.SeqStmt.flatten(copies)


class _FoldingExpander(_Expander, FoldingSubstituter):
    """The same, with indices worked out."""
