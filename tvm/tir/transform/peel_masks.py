"""Only the last vectors of a loop need their masks.

    for k in range(94):
        B[k * 16 : k * 16 + 16] = exp(A[...])           # lanes with k * 16 + lane < 1500
    ->
    for k in range(93):
        B[k * 16 : k * 16 + 16] = exp(A[...])
    for k in range(93, 94):
        B[k * 16 : k * 16 + 16] = exp(A[...])           # lanes with k * 16 + lane < 1500

Innermost loops are divided at the iteration from which on a lane may be beyond the limit.
"""

from __future__ import annotations

from typing import Final

from tvm.arith import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, uses_var, walk
from tvm.tir.op import arith as ops

from .folding import FoldingSubstituter
from .nodes_used import MASK, nodes_used
from .pass_form import tir_pass

LEAST: Final = 4  # iterations of a loop that is worth a second copy


@tir_pass("tir.PeelMasks")
def PeelMasks(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Innermost loops over masked vectors are two: one without masks, and one of what is left."""
    if MASK not in nodes_used(func.body):
        return func
    return func.with_body(_Peeler().visit_stmt(func.body))


class _Peeler(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        extent = op.extent.value if isinstance(op.extent, e.IntImm) else LEAST
        if op.kind != s.ForKind.SERIAL or op.annotations or extent < LEAST:
            return super().visit_for_(op)
        if any(statements(op.body, s.For)) or not ops.is_zero(op.min):
            return super().visit_for_(op)
        found = _first_limit(op)
        return op if found is None else _divided(op, *found)


def _first_limit(loop: s.For) -> tuple[e.LT, PrimExpr] | None:
    """A mask that holds in all lanes of the first iterations, and the number of these."""
    for node in walk(loop.body):
        if isinstance(node, (e.BufferLoad, s.BufferStore)) and isinstance(node.predicate, e.LT):
            whole = _whole_iterations(node.predicate, loop)
            if whole is not None:
                return node.predicate, whole
    return None


def _whole_iterations(mask: e.LT, loop: s.For) -> PrimExpr | None:
    """In how many iterations all lanes are below the limit; None if that is not known."""
    ramp, limit = mask.a, mask.b
    if not isinstance(ramp, e.Ramp) or not isinstance(limit, e.Broadcast):
        return None
    if ramp.dtype.is_scalable or not ops.is_one(ramp.stride):
        return None
    found = linear_equation(ramp.base, [loop.loop_var])
    if not found or not isinstance(found[0], e.IntImm) or uses_var(limit.value, loop.loop_var):
        return None
    step, lanes = found[0].value, ramp.dtype.lanes
    if step < lanes:
        return None
    # the last lane of iteration k is at step * k + base + lanes - 1
    room = ops.subtract(limit.value, found[1]) + (step - lanes)
    whole = Analyzer().simplify(ops.floordiv(room, ops.const(step, room.dtype)))
    if isinstance(whole, e.IntImm) and isinstance(loop.extent, e.IntImm):
        return whole if LEAST - 1 <= whole.value < loop.extent.value else None
    return ops.max_of(ops.min_of(ops.cast(whole, loop.extent.dtype), loop.extent), 0)


def _divided(loop: s.For, mask: e.LT, whole: PrimExpr) -> s.Stmt:
    body = _Unmasker(mask).visit_stmt(loop.body)
    first = s.For(loop.loop_var, loop.min, whole, loop.kind, body, None, {}, loop.span)
    name = e.Var(loop.loop_var.name, loop.loop_var.dtype)
    count = Analyzer().simplify(ops.subtract(loop.extent, whole))
    only = isinstance(count, e.IntImm) and count.value == 1
    at = whole if only else ops.add(name, whole)
    last = FoldingSubstituter({loop.loop_var: at}, rename=True).visit_stmt(loop.body)
    if not only:
        last = s.For(name, loop.min, count, loop.kind, last, None, {}, loop.span)
    return s.SeqStmt([first, last])


class _Unmasker(StmtExprMutator):
    """Drops a condition that holds."""

    def __init__(self, mask: e.LT) -> None:
        super().__init__()
        self._mask = mask

    def _holds(self, condition: PrimExpr | None) -> bool:
        return isinstance(condition, e.LT) and (
            condition is self._mask or expr_deep_equal(condition, self._mask)
        )

    def visit_select_(self, op: e.Select) -> PrimExpr:
        if self._holds(op.condition):
            return self.visit_expr(op.true_value)
        return super().visit_select_(op)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        if self._holds(op.predicate):
            indices = [self.visit_expr(index) for index in op.indices]
            return e.BufferLoad(op.buffer, indices, None, op.span)
        return super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        if self._holds(op.predicate):
            indices = [self.visit_expr(index) for index in op.indices]
            return s.BufferStore(op.buffer, self.visit_expr(op.value), indices, None, op.span)
        return super().visit_buffer_store_(op)
