"""Every access of a buffer is checked before it is performed.

    B[i] = A[i + 1]     ->     assert 0 <= i + 1 < 16, "load from A: ..."
                               assert 0 <= i < 16, "store to B: ..."
                               B[i] = A[i + 1]

A load that a condition guards is checked only where the condition holds. What is provably within
bounds is not checked.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import expr_children
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

from .analyzed_mutator import AnalyzedMutator, bare_condition
from .pass_form import tir_pass


@tir_pass("tir.InstrumentBoundCheckers")
def InstrumentBoundCheckers(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No access leaves its buffer without an error that names buffer, index and extent."""
    return func.with_body(_Checker(func).visit_stmt(func.body))


class _Checker(AnalyzedMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        checks = self._checks([op.value, *op.indices])
        guard = op.predicate if op.predicate is not None and op.predicate.dtype.is_scalar else None
        if op.predicate is None or guard is not None:
            checks += self._check("store to", op.buffer, op.indices, guard)
        return s.SeqStmt.flatten(checks, op)

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        return s.SeqStmt.flatten(self._checks([op.value]), op)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        checks = self._checks([op.value])
        return s.SeqStmt.flatten(checks, super().visit_let_stmt_(op))

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        checks = self._checks([op.condition])
        return s.SeqStmt.flatten(checks, super().visit_if_then_else_(op))

    def visit_for_(self, op: s.For) -> s.Stmt:
        checks = self._checks([op.min, op.extent])
        return s.SeqStmt.flatten(checks, super().visit_for_(op))

    def _checks(self, exprs: list[PrimExpr]) -> list[s.Stmt]:
        """The checks of all loads in expressions, each under the condition that guards it."""
        checks: list[s.Stmt] = []
        stack: list[tuple[PrimExpr, PrimExpr | None]] = [(x, None) for x in reversed(exprs)]
        while stack:
            node, guard = stack.pop()
            if isinstance(node, e.BufferLoad) and node.predicate is None:
                checks += self._check("load from", node.buffer, node.indices, guard)
            if e.is_call_of(node, "tir.if_then_else"):
                stack += _sides(node, guard)
            elif isinstance(node, e.And):
                stack += [(node.b, _both(guard, node.a)), (node.a, guard)]
            elif not isinstance(node, e.Let):  # its variable is not known outside of it
                stack += [(child, guard) for child in reversed(expr_children(node))]
        return checks

    def _check(
        self, what: str, buffer: Buffer, indices: tuple[PrimExpr, ...], guard: PrimExpr | None
    ) -> list[s.Stmt]:
        found: list[s.Stmt] = []
        for index, extent in zip(indices, buffer.shape):
            low, high = _ends(index)
            inside = self._unproved(low, high, ops.cast(extent, low.dtype))
            if inside is None:
                continue
            if guard is not None:
                inside = ops.logical_or(ops.logical_not(guard), inside)
            text = (
                f"BoundsError: {what} {buffer.name}\n"
                "  found: index {}\n  legal: 0 <= index < {}"
            )
            note = builtin.tvm_tuple(e.StringImm(text), high, extent)
            found.append(s.AssertStmt(inside, note, s.Evaluate(0)))
        return found

    def _unproved(self, low: PrimExpr, high: PrimExpr, extent: PrimExpr) -> PrimExpr | None:
        """What is to be checked; None if it is known to hold."""
        conditions = [ops.greater_equal(low, 0), ops.less(high, extent)]
        unknown = [c for c in conditions if not self.analyzer.can_prove(c)]
        return ops.all(*unknown) if unknown else None


def _ends(index: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    """The smallest and largest lane of an index."""
    if isinstance(index, e.Ramp):
        last = ops.add(index.base, ops.multiply(index.stride, ops.subtract(index.lanes, 1)))
        forward = ops.literal(index.stride)
        return (index.base, last) if forward is None or forward >= 0 else (last, index.base)
    if isinstance(index, e.Broadcast):
        return index.value, index.value
    return index, index


def _both(guard: PrimExpr | None, condition: PrimExpr) -> PrimExpr:
    return condition if guard is None else ops.logical_and(guard, condition)


def _sides(node: PrimExpr, guard: PrimExpr | None) -> list[tuple[PrimExpr, PrimExpr | None]]:
    """The condition of a choice, and its sides under it."""
    assert isinstance(node, e.Call), "the caller looked"
    condition = bare_condition(node.args[0])
    return [
        (node.args[2], _both(guard, ops.logical_not(condition))),
        (node.args[1], _both(guard, condition)),
        (condition, guard),
    ]
