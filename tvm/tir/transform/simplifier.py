"""The mutator behind the pass Simplify, for other passes to use."""

from __future__ import annotations

from itertools import islice
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.compiled import mypyc_attr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import variables_of_buffers
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.analysis.lasting_fact import lasting_fact
from tvm.tir.buffer import Buffer
from tvm.tir.effects import side_effect
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.op import arith as ops

from .analyzed_mutator import AnalyzedMutator, bare_condition


@mypyc_attr(allow_interpreted_subclasses=True)
class Simplifier(AnalyzedMutator):
    """Simplifies every expression of a program; definitions of buffers stay as they are.

    Of floating arithmetic only what gives the same number whatever is computed with is done:
    constants are folded, and zeros added or ones multiplied go.
    A buffer is one thing wherever it is used, and what holds at one access need not at another.
    """

    def __init__(self, func: PrimFunc | None = None) -> None:
        super().__init__(func)
        self._in_buffers = set() if func is None else variables_of_buffers(func.body)
        self._truths: dict[e.Var, PrimExpr] = {}  # names of conditions, and what they stand for

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return buffer

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return buffer

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        dtype = expr.dtype
        if dtype.is_integer or dtype.is_bool:
            return expr if isinstance(expr, e.IntImm) else self.analyzer.simplify(expr)
        if self._truths or not dtype.is_floating or isinstance(expr, e.FloatImm):
            return super().visit_expr(expr)
        return self.analyzer.simplify(expr)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self.values.get(op, op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        if ops.literal(op.extent) is not None or op.thread_binding is not None:
            return super().visit_for_(op)
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        self.bind_range(op)
        # only the body may know: after a loop that never ran, `var < n` says nothing of `n`
        inside = lasting_fact(ops.less(op.loop_var, ops.add(op.min, op.extent)), op.body)
        with self.analyzer.constraint_scope(inside):
            body = self.visit_stmt(op.body)
        annotations = self.visit_annotations(op.annotations) if op.annotations else op.annotations
        same = low is op.min and extent is op.extent and body is op.body
        if same and annotations is op.annotations:
            return op
        return s.For(op.loop_var, low, extent, op.kind, body, None, annotations, op.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        value = self.visit_expr(op.value)
        if not (_is_trivial(value) or _is_index(value)):
            if value.dtype.is_bool and side_effect(value) <= e.CallEffectKind.Pure:
                self._truths[op.var] = substitute(value, self._truths) if self._truths else value
            return super().visit_let_stmt_(op)
        self.bind_value(op.var, value)
        body = self.visit_stmt(op.body)
        # buffers below know their variables by identity
        if op.var not in self._in_buffers and not op.var.dtype.is_handle:
            return body
        same = value is op.value and body is op.body
        return op if same else s.LetStmt(op.var, value, body, op.span)

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        if not _is_trivial(value) or op.var.dtype.is_handle:
            return super().visit_let_(op)
        self.bind_value(op.var, value)
        return self.visit_expr(op.body)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        known = self._outcome(op.condition)
        if known is None:
            return super().visit_if_then_else_(op)
        if known:
            return self.visit_stmt(op.then_case)
        return s.Evaluate(0) if op.else_case is None else self.visit_stmt(op.else_case)

    def _outcome(self, condition: PrimExpr) -> float | None:
        """What a condition is known to be, also by what the names in it stand for."""
        known = ops.literal(bare_condition(self.visit_expr(condition)))
        if known is not None or not self._truths:
            return known
        spelt = substitute(bare_condition(condition), self._truths)
        return None if spelt is condition else ops.literal(self.visit_expr(spelt))

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        """What `T.assume` says is for those who ask for it."""
        return StmtExprMutator.visit_seq_stmt_(self, op)

    def visit_select_(self, op: e.Select) -> PrimExpr:
        known = ops.literal(self.visit_expr(op.condition))
        if known is None:
            return super().visit_select_(op)
        return self.visit_expr(op.true_value if known else op.false_value)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if e.is_call_of(op, "tir.if_then_else"):
            known = self._outcome(op.args[0])
            if known is not None:
                return self.visit_expr(op.args[1] if known else op.args[2])
        return super().visit_call_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        store = super().visit_buffer_store_(op)
        if isinstance(store, s.BufferStore) and self._stores_itself(store):
            return s.Evaluate(0, store.span)
        return store

    def _stores_itself(self, op: s.BufferStore) -> bool:
        value = op.value
        return (
            isinstance(value, e.BufferLoad)
            and value.buffer is op.buffer
            and value.predicate is op.predicate
            and all(expr_deep_equal(a, b) for a, b in zip(value.indices, op.indices))
        )


MAX_INLINED: Final = 16  # nodes: longer values make programs long, and names of names much longer


def _is_index(value: PrimExpr) -> bool:
    """An integer that depends on variables alone: facts about them are worth more than its name.

    Not so where it takes a division by a variable: nothing moves that out of a loop that may be
    empty, since the divisor may be zero there.
    """
    if not value.dtype.is_int or side_effect(value) > e.CallEffectKind.Pure:
        return False
    nodes = list(islice(walk(value), MAX_INLINED + 1))
    return len(nodes) <= MAX_INLINED and not any(
        isinstance(node, (e.FloorDiv, e.FloorMod, e.Div, e.Mod))
        and not isinstance(node.b, e.IntImm)
        for node in nodes
    )


def _is_trivial(value: PrimExpr) -> bool:
    return isinstance(value, (e.IntImm, e.FloatImm, e.Var))
