"""Nest loops in another order."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import walk
from tvm.tir.schedule.analysis.affine import require_affine
from tvm.tir.schedule.analysis.query import block_of, loop_of, mixed_loops, realize_of
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.loops import require_same_scope_loops
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import For, Stmt

KIND = kind("Reorder", "reorder", "**ordered_loops")


def reorder(state: SRefTree, ordered_loops: Sequence[StmtSRef]) -> None:
    """Put the given loops, from outermost to innermost, where they stand now in any order.

    for i: for j: for k: S   ->   for k: for j: for i: S      (reorder(k, i))
    """
    if len(ordered_loops) <= 1:
        return
    require_same_scope_loops(ordered_loops)
    chain = chain_of(state, ordered_loops)
    _require_reorderable_blocks(state, chain)
    wanted = iter([loop_of(sref) for sref in ordered_loops])
    moved = set(ordered_loops)
    new_order = [next(wanted) if sref in moved else loop_of(sref) for sref in chain]
    _require_order(new_order)
    for child in state.child_blocks(chain[-1]):
        _require_init_first(state, child, [loop_of(sref) for sref in chain], new_order)
    body: Stmt = loop_of(chain[-1]).body
    for node in reversed(new_order):
        body = For(
            node.loop_var, node.min, node.extent, node.kind, body, node.thread_binding,
            node.annotations, node.span,
        )  # fmt: skip
    state.replace(chain[0], body)


def chain_of(state: SRefTree, loops: Sequence[StmtSRef]) -> list[StmtSRef]:
    """All loops from the outermost to the innermost of the given ones; refused if it branches."""
    missing = set(loops)
    bottom = _innermost(loops)
    chain: list[StmtSRef] = []
    sref: StmtSRef | None = bottom
    while sref is not None and missing:
        if not isinstance(sref.stmt, For):
            break
        if chain and sref.stmt.body is not chain[-1].stmt:
            raise Illegal(
                f"the loop {sref.stmt.loop_var.name!r} holds more than the loop "
                f"{loop_of(chain[-1]).loop_var.name!r}",
                legal="loops that form a chain, each the whole body of the one around it",
                spots=[sref.stmt, chain[-1].stmt],
                fast="The loops are not in a chain",
            )
        chain.append(sref)
        missing.discard(sref)
        sref = sref.parent
    if missing:
        lost = loop_of(next(sref for sref in loops if sref in missing))
        raise Illegal(
            f"the loops {lost.loop_var.name!r} and {loop_of(bottom).loop_var.name!r} are not in "
            "one chain",
            legal="loops around the same statement, with no block between them",
            spots=[lost, bottom.stmt],
            fast="The loops are not in a chain or not under the same scope",
        )
    chain.reverse()
    return chain


def _innermost(loops: Sequence[StmtSRef]) -> StmtSRef:
    depths: list[tuple[int, StmtSRef]] = []
    for sref in loops:
        depth, above = 0, sref.parent
        while above is not None:
            depth, above = depth + 1, above.parent
        depths.append((depth, sref))
    return max(depths, key=lambda pair: pair[0])[1]


def _require_reorderable_blocks(state: SRefTree, chain: Sequence[StmtSRef]) -> None:
    for child in state.child_blocks(chain[-1]):
        block = block_of(child)
        for iv in block.iter_vars:
            if iv.iter_type not in (IterVar.DataPar, IterVar.CommReduce):
                raise Illegal(
                    f"the variable {iv.var.name!r} of block {block.name_hint!r} has an order of "
                    "its own",
                    legal="blocks whose variables are data parallel or reducing",
                    spots=[block],
                    fast="The block's iter type is neither data parallel nor reduction",
                )
        # windows that overlap write an element several times, always the same value
        sums = any(iv.iter_type == IterVar.CommReduce for iv in block.iter_vars)
        require_affine(state, child, chain[0], overlaps=not sums)


def _require_init_first(
    state: SRefTree, child: StmtSRef, old: Sequence[For], new: Sequence[For]
) -> None:
    """Refuse to change the order of loops that make up both an index and a step of its sum.

    The init of an element runs at the first step of its sum, so that step has to stay the first
    one. Of loops that only one kind of variable depends on it always is.
    """
    realize = realize_of(state, child)
    if realize.block.init is None:
        return
    mixed = mixed_loops(realize)
    before = [node for node in old if node.loop_var in mixed]
    after = [node for node in new if node.loop_var in mixed]
    if any(a is not b for a, b in zip(before, after)):
        raise Illegal(
            f"the loops {[node.loop_var.name for node in before]} make up both indices and steps "
            f"of the sum of block {realize.block.name_hint!r}; in another order the init of an "
            "element would come after some of its steps",
            legal="decompose_reduction first, or loops that belong to indices or to steps only",
            spots=[realize.block, *before],
            fast="The order of loops bound to both spatial and reduction variables cannot change",
        )


def _require_order(loops: Sequence[For]) -> None:
    inner: dict[Var, For] = {}
    for node in reversed(loops):
        for part in (*walk(node.min), *walk(node.extent)):
            if isinstance(part, Var) and part in inner:
                raise Illegal(
                    f"the bounds of the loop {node.loop_var.name!r} depend on the loop "
                    f"{part.name!r}, which would stand inside of it",
                    legal="an order in which a loop stands inside of all that its bounds name",
                    spots=[node, inner[part]],
                    fast="Outer loop's `min` or `extent` is dependent on an inner loop "
                    "in the new order",
                )
        inner[node.loop_var] = node
