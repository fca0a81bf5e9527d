"""Spans of everything: its index in the post-order of the function, and that of its dominator.

    index:3:7    the fourth node; whatever it gives reaches the result through the eighth

The result itself has no dominator: -1. Operators and constructors have an index too, but stay.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.op import Op
from tvm.ir.span import SourceName, Span
from tvm.ir.transform import PassContext
from tvm.relay.adt import Constructor
from tvm.relay.traverse import children, post_order, transform

from .function_pass import expr_pass


@expr_pass("CapturePostDfsIndexInSpans", opt_level=0)
def CapturePostDfsIndexInSpans(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function whose expressions have spans that say where they stand."""
    order = list(post_order(func))
    index = {id(expr): at for at, expr in enumerate(order)}
    parents = _dominators(order, index)

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, (Op, Constructor, GlobalVar)):
            return new
        at = index[id(old)]
        name = f"index:{at}:{parents[at]}"
        made = with_fields(new, span=Span(SourceName(name), 0, 0, 0, 0))
        made.virtual_device_ = new.virtual_device_
        return made

    return transform(func, rule)


def _dominators(order: list[RelaxExpr], index: dict[int, int]) -> list[int]:
    """The nearest node on all ways from each node to the last one; -1 for that.

    Users stand behind what they use, so that one walk from the end meets them first (Cooper,
    Harvey, Kennedy: A Simple, Fast Dominance Algorithm, 2001).
    """
    parents = [-1] * len(order)
    depths = [0] * len(order)
    known = [False] * len(order)
    known[-1] = True
    for at in range(len(order) - 1, -1, -1):
        depths[at] = depths[parents[at]] + 1 if parents[at] >= 0 else 0
        for part in children(order[at]):
            below = index[id(part)]
            parents[below] = _common(at, parents[below], parents, depths) if known[below] else at
            known[below] = True
    return parents


def _common(a: int, b: int, parents: list[int], depths: list[int]) -> int:
    while a != b:
        if depths[a] >= depths[b]:
            a = parents[a]
        else:
            b = parents[b]
    return a
