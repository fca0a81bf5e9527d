"""A condition goes where one of its branches may as well run always.

    if i < 14:                     A[i] = 1            # what the other branch stores is
        A[i] = 1            ->                         # overwritten before anybody reads it
    else:
        A[i] = 2
    ...

A branch may if the program with its body in both branches comes down to the same as the original,
once both are simplified and rid of what does nothing. With the option `use_dataflow_analysis` that
takes into account what buffers contain and which stores are overwritten.
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.tir import stmt as s
from tvm.tir.effects import side_effect
from tvm.tir.expr import CallEffectKind
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements
from tvm.tir.renew_defs import renew_defs

from .flow_simplifier import FlowSimplifier
from .pass_form import tir_pass
from .remove_no_op import without_no_op
from .simplifier import Simplifier


@tir_pass("tir.ReduceBranchingThroughOvercompute")
def ReduceBranchingThroughOvercompute(
    func: PrimFunc, mod: IRModule, ctx: PassContext
) -> PrimFunc:
    """No branch is left that could run always."""
    flow = bool(ctx.option("tir.ReduceBranchingThroughOvercompute").use_dataflow_analysis)
    position = 0
    wanted = _normal_form(func, flow)
    while True:
        conditions = list(statements(func.body, s.IfThenElse))
        if position >= len(conditions):
            return func
        target = conditions[position]
        made = _without_branch(func, target, wanted, flow)
        if made is None:
            position += 1
        else:
            func = made  # the next condition has the same position now


def _without_branch(
    func: PrimFunc, target: s.IfThenElse, wanted: PrimFunc, flow: bool
) -> PrimFunc | None:
    if side_effect(target.condition) > CallEffectKind.ReadState:
        return None
    for branch in (target.then_case, target.else_case):
        if branch is None or s.is_no_op(branch):
            continue
        both = s.IfThenElse(target.condition, branch, branch, target.span)
        tried = renew_defs(func.with_body(_Replace(target, both).visit_stmt(func.body)))
        if structural_equal(_normal_form(tried, flow), wanted):
            return func.with_body(_Replace(target, branch).visit_stmt(func.body))
    return None


class _Replace(StmtExprMutator):
    def __init__(self, old: s.Stmt, new: s.Stmt) -> None:
        super().__init__()
        self._old, self._new = old, new

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        return self._new if op is self._old else super().visit_if_then_else_(op)


def _normal_form(func: PrimFunc, flow: bool) -> PrimFunc:
    """What the function comes down to."""
    simplifier = FlowSimplifier(func, True) if flow else Simplifier(func)
    func = func.with_body(simplifier.visit_stmt(func.body))
    return without_no_op(func, flow)
