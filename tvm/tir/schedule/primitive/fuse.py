"""Make one loop of several nested ones."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import Var, make_const
from tvm.tir.functor import walk
from tvm.tir.op.arith import cast, floordiv, floormod, is_one, is_zero, multiply
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.query import loop_of
from tvm.tir.schedule.error import Illegal, ScheduleValueError
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.loops import (
    commit_loops,
    require_chain,
    require_plain,
    require_same_scope_loops,
    substitute_loops,
)
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import For, ForKind

KIND = kind("Fuse", "fuse", "**loops", "=preserve_unit_iters")


def fuse(state: SRefTree, loops: Sequence[StmtSRef], preserve_unit_iters: bool) -> StmtSRef:
    """Make the loop.

    for i in range(n):                       for f in range(n * m):
        for j in range(m): S(i, j)     ->        S(f // m, f % m)
    """
    if not loops:
        raise Illegal(
            "no loops are given", legal="at least one loop", error=ScheduleValueError
        )
    require_same_scope_loops(loops)
    nodes = [loop_of(sref) for sref in loops]
    for node in nodes:
        require_plain(node, "fuse")
    require_chain(loops)
    require_independent(nodes)
    name = "_".join([node.loop_var.name for node in nodes])
    widest = max([node.loop_var.dtype for node in nodes], key=lambda dtype: dtype.bits)
    fused = Var(f"{name}_fused", widest)
    extent: PrimExpr = make_const(1, fused.dtype)
    for node in nodes:
        extent = multiply(extent, node.extent)
    analyzer = analyzer_at(loops[0])
    values: dict[Var, PrimExpr] = {}
    inner: PrimExpr = make_const(1, fused.dtype)  # how often all loops within run
    for node in reversed(nodes):
        if is_one(node.extent):  # also where it is kept: what it counts is known
            values[node.loop_var] = make_const(0, node.loop_var.dtype)
            continue
        if node is nodes[0]:
            values[node.loop_var] = floordiv(fused, inner)
            break
        outer = multiply(inner, node.extent)
        if is_zero(outer):  # nothing runs: any value will do, and there is no remainder by 0
            values = {node.loop_var: make_const(0, node.loop_var.dtype) for node in nodes}
            break
        values[node.loop_var] = floordiv(floormod(fused, outer), inner)
        inner = outer
    for var, value in values.items():
        values[var] = cast(value, var.dtype)  # the same where all loops are of one type
    body, reuse = substitute_loops(nodes[-1].body, values)
    extent = analyzer.simplify(extent)
    loop = For(fused, 0, extent, ForKind.SERIAL, body, span=nodes[0].span)
    made = commit_loops(state, loops[0], loop, reuse, preserve_unit_iters)
    return state.loops_of_vars(made, [fused])[0]


def require_independent(nodes: Sequence[For]) -> None:
    """Refuse nested loops of which one's bounds depend on another's variable."""
    names = {node.loop_var: node for node in nodes}
    for node in nodes:
        for part in (*walk(node.min), *walk(node.extent)):
            if isinstance(part, Var) and part in names:
                raise Illegal(
                    f"the bounds of the loop {node.loop_var.name!r} depend on the loop "
                    f"{part.name!r}",
                    legal="loops whose bounds do not depend on each other",
                    spots=[node, names[part]],
                    fast="The loop's `extent` or `min` depends on another loop",
                )
