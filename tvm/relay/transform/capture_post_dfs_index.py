"""Spans of everything: its index in the post-order of the function, and that of its dominator.

    index:3:7    the fourth node; whatever it gives reaches the result through the eighth

The span's line is the index, its column the dominator's. What nobody uses has none: -1. A function
uses its body and not its parameters; a let uses its body, its variable the value. Operators and
constructors have an index too, but stay.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.op import Op
from tvm.ir.span import SourceName, Span
from tvm.ir.transform import PassContext
from tvm.relay.adt import Constructor
from tvm.relay.expr import Let
from tvm.relay.function import Function
from tvm.relay.traverse import Parts, children, post_order, transform

from .function_pass import expr_pass


@expr_pass("CapturePostDfsIndexInSpans", opt_level=0)
def CapturePostDfsIndexInSpans(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function whose expressions have spans that say where they stand."""
    order = list(post_order(func, parts_of=parts_by_index))
    index = {id(expr): at for at, expr in enumerate(order)}
    parents = _dominators(order, index)
    source = SourceName("index")

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, (Op, Constructor, GlobalVar)):
            return new
        at = index[id(old)]
        span = Span(source, at, at, parents[at], parents[at])
        made = with_fields(new, span=span)
        made.virtual_device_ = new.virtual_device_
        return made

    return transform(func, rule)


def parts_by_index(expr: RelaxExpr) -> Parts:
    """Parts in the order of the index: a bound value stands before its variable."""
    return (expr.value, expr.var, expr.body) if isinstance(expr, Let) else children(expr)


def _dominators(order: list[RelaxExpr], index: dict[int, int]) -> list[int]:
    """The nearest node on all ways from each node to the last one; -1 for what nobody uses.

    Users stand behind what they use, so that one walk from the end meets them first (Cooper,
    Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001).
    """
    values = {id(expr.var): expr.value for expr in order if isinstance(expr, Let)}
    parents = [-1] * len(order)
    depths = [0] * len(order)
    known = [False] * len(order)
    for at in range(len(order) - 1, -1, -1):
        user = order[at]
        depths[at] = depths[parents[at]] + 1 if parents[at] >= 0 else 0
        if isinstance(user, (Function, Let)):
            used: Parts = (user.body,)
        else:
            used = (values[id(user)],) if id(user) in values else children(user)
        for part in used:
            below = index[id(part)]
            parents[below] = _common(at, parents[below], parents, depths) if known[below] else at
            known[below] = True
    return parents


def _common(a: int, b: int, parents: list[int], depths: list[int]) -> int:
    while a != b and a >= 0 and b >= 0:
        if depths[a] >= depths[b]:
            a = parents[a]
        else:
            b = parents[b]
    return a if a == b else -1
