"""What a loop does only in its first iteration stands before the loop.

    for k in range(n):                        C[i] = 0.0
        if k == 0:                     ->     for k in range(n):
            C[i] = 0.0                            C[i] = C[i] + A[i, k]
        C[i] = C[i] + A[i, k]

Reductions that no schedule has decomposed look like this after `LowerInitBlock`; without the test
the loop can be vectorized and its result kept in a register. A loop that may run no iteration keeps
its start under a condition.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.effects import effect_of
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.op import arith as ops
from tvm.tir.op.forms import conjuncts

from .pass_form import tir_pass


@tir_pass("tir.HoistReductionInit")
def HoistReductionInit(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No serial loop begins with a test for its first iteration."""
    return func.with_body(_Hoister().visit_stmt(func.body))


class _Hoister(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        body = self.visit_stmt(op.body)
        loop = op if body is op.body else s.For(
            op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding, op.annotations,
            op.span,
        )  # fmt: skip
        if loop.kind not in (s.ForKind.SERIAL, s.ForKind.UNROLLED):
            return loop
        start, remainder = _split_start(loop)
        if start is None:
            return loop
        start = substitute(start, {loop.loop_var: loop.min})
        if not (isinstance(loop.extent, e.IntImm) and loop.extent.value > 0):
            start = s.IfThenElse(ops.greater(loop.extent, 0), start, None, start.span)
        remaining = s.For(loop.loop_var, loop.min, loop.extent, loop.kind, remainder,
                          loop.thread_binding, loop.annotations, loop.span)  # fmt: skip
        return s.SeqStmt.flatten(start, remaining)


def _split_start(loop: s.For) -> tuple[s.Stmt | None, s.Stmt]:
    """What the body does first and only in the first iteration, and the remainder of the body."""
    parts = loop.body.seq if isinstance(loop.body, s.SeqStmt) else (loop.body,)
    first = parts[0]
    if not isinstance(first, s.IfThenElse) or first.else_case is not None or len(parts) < 2:
        return None, loop.body
    others: list[PrimExpr] = []
    found = False
    for term in conjuncts(first.condition):
        if not found and _is_first_iteration(term, loop):
            found = True
        elif any(node is loop.loop_var or isinstance(node, e.BufferLoad) for node in walk(term)):
            return None, loop.body
        else:
            others.append(term)
    if not found or any(_is_jump(node) for node in walk(first.then_case)):
        return None, loop.body
    start = first.then_case
    if others:
        start = s.IfThenElse(ops.all(*others), start, None, first.span)
    return start, s.SeqStmt.flatten(parts[1:])


def _is_jump(node: object) -> bool:
    return isinstance(node, e.Call) and effect_of(node) == e.CallEffectKind.ControlJump


def _is_first_iteration(term: PrimExpr, loop: s.For) -> bool:
    if not isinstance(term, e.EQ):
        return False
    for one, other in ((term.a, term.b), (term.b, term.a)):
        if one is loop.loop_var:
            low = loop.min
            return other is low or (
                isinstance(other, e.IntImm) and isinstance(low, e.IntImm)
                and other.value == low.value
            )  # fmt: skip
    return False
