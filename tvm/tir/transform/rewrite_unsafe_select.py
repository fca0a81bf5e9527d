"""A choice between values that must not both be computed evaluates only one of them.

    T.Select(i < n, A[i], 0)     ->     T.if_then_else(i < n, A[i], 0)

Loads, calls with effects and divisions by what may be zero are such values.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir.effects import is_stateful_call
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, distinct, expr_children
from tvm.tir.op import arith as ops

from .nodes_used import nodes_used
from .pass_form import tir_pass


@tir_pass("tir.RewriteUnsafeSelect")
def RewriteUnsafeSelect(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Both sides of every Select can be evaluated."""
    if "Select" not in nodes_used(func.body):
        return func
    if not any([_is_unsafe_choice(node) for node in distinct(func.body)]):
        return func
    return func.with_body(_SelectRewriter().visit_stmt(func.body))


def _is_unsafe_choice(node: object) -> bool:
    if not isinstance(node, e.Select) or node.condition.dtype.is_vector:
        return False
    return not (_is_safe(node.true_value) and _is_safe(node.false_value))


class _SelectRewriter(StmtExprMutator):
    def visit_select_(self, op: e.Select) -> PrimExpr:
        select = super().visit_select_(op)
        if not isinstance(select, e.Select) or not _is_unsafe_choice(select):
            return select
        args = (select.condition, select.true_value, select.false_value)
        return e.Call(select.dtype, "tir.if_then_else", args, select.span)


def _is_safe(expr: PrimExpr) -> bool:
    """True if evaluating `expr` reads nothing, changes nothing and cannot fail.

    Of `if_then_else` only the condition is looked at, for only one of its values is evaluated.
    """
    stack = [expr]
    while stack:
        node = stack.pop()
        if e.is_call_of(node, "tir.if_then_else"):
            stack.append(node.args[0])
        elif _is_unsafe(node):
            return False
        else:
            stack.extend(expr_children(node))
    return True


def _is_unsafe(node: object) -> bool:
    if isinstance(node, e.BufferLoad):
        return True
    if isinstance(node, (e.Div, e.Mod, e.FloorDiv, e.FloorMod)) and node.dtype.is_integer:
        return ops.literal(node.b) in (None, 0)
    return is_stateful_call(node)
