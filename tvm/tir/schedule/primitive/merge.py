"""Make one loop nest of several that stand one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tvm.arith import Analyzer, IterMapLevel, detect_iter_map
from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import DepKind, StmtSRef
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import uses_any
from tvm.tir.schedule.analysis.affine import loop_ranges
from tvm.tir.schedule.analysis.flags import why_no_pipeline
from tvm.tir.schedule.analysis.query import (
    block_of,
    loop_of,
    loops_above,
    path_between,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.error import Illegal, ScheduleValueError
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.leaves import without_leaf
from tvm.tir.schedule.loops import require_plain, require_same_scope_loops, substitute_loops
from tvm.tir.schedule.rebuild import change_block, change_loop, nest
from tvm.tir.schedule.scopes import common_ancestor
from tvm.tir.schedule.tree import SRefTree, swap_stmt
from tvm.tir.stmt import Block, For, SeqStmt, Stmt

KIND = kind("Merge", "merge", "**loops")


def merge(state: SRefTree, loops: Sequence[StmtSRef]) -> StmtSRef:
    """Run the bodies one after the other in each iteration.

    for i in range(n): S1(i)
    for i in range(n): S2(i)     ->     for i_m in range(n): S1(i_m); S2(i_m)
    """
    if len(loops) < 2:
        raise Illegal(
            "fewer than two loops are given", legal="at least two loops", error=ScheduleValueError
        )
    require_same_scope_loops(loops)
    above = common_ancestor(loops)
    if any(scope_of(sref) is not scope_of(loops[0]) for sref in loops):
        raise Illegal(
            "the loops are in different blocks",
            legal="loops of one block",
            spots=[sref.stmt for sref in loops],
            fast="Loops are not under the same scope",
        )
    chains = [[*path_between(above, sref), sref] for sref in loops]
    _require_alike(chains)
    _require_written_once(state, loops)
    _require_finished(state, loops, chains)
    first = [loop_of(sref) for sref in chains[0]]
    fresh = [node.loop_var.copy_with_suffix("_m") for node in first]
    bodies: list[Stmt] = []
    reuse: dict[Block, Block] = {}
    for chain in chains:
        values: dict[Var, PrimExpr] = {
            loop_of(sref).loop_var: var for sref, var in zip(chain, fresh)
        }
        body, moved = substitute_loops(loop_of(chain[-1]).body, values)
        bodies.append(body)
        reuse.update(moved)
    body = SeqStmt.flatten(bodies)
    merged = nest([(var, node.extent) for var, node in zip(fresh, first)], body)
    tops = [loop_of(chain[0]) for chain in chains]
    _put(state, above, {tops[0]: merged, **dict.fromkeys(tops[1:])}, reuse)
    reason = why_no_pipeline(state, scope_of(above) if isinstance(above.stmt, For) else above)
    if reason is not None:
        raise Illegal(
            f"in one loop the blocks would depend on what is not ready: {reason}",
            legal="loops whose iterations only need what the same iteration made before",
            spots=tops,
            fast="Merging would break a dependency",
        )
    return state.loops_of_vars(merged, [fresh[-1]])[0]


def _require_written_once(state: SRefTree, loops: Sequence[StmtSRef]) -> None:
    """Refuse if a later iteration of one block could wipe out what another one has updated."""
    inside = {child: i for i, sref in enumerate(loops) for child in state.child_blocks(sref)}
    scope = state.get_block_scope(scope_of(loops[0]))
    for child, number in inside.items():
        for dep in scope.get_deps_by_src(child):
            if dep.kind is not DepKind.WAW or inside.get(dep.dst, number) == number:
                continue
            realize = realize_of(state, child)
            ranges = loop_ranges(loops_above(child))
            once = detect_iter_map(
                list(realize.iter_values), ranges, realize.predicate, IterMapLevel.Bijective,
                allow_padding=False,
            )  # fmt: skip
            if not once.indices and ranges:
                raise Illegal(
                    f"block {realize.block.name_hint!r} writes an element in several iterations, "
                    f"and block {block_of(dep.dst).name_hint!r} updates it in between",
                    legal="a first block that writes each element once",
                    spots=[realize.block, dep.dst.stmt],
                    fast="Merging would break a dependency",
                )


def _require_finished(
    state: SRefTree, loops: Sequence[StmtSRef], chains: list[list[StmtSRef]]
) -> None:
    """Refuse if a block would read what another one still updates in later iterations."""
    inside = {child: i for i, sref in enumerate(loops) for child in state.child_blocks(sref)}
    scope = state.get_block_scope(scope_of(loops[0]))
    for child, number in inside.items():
        realize = realize_of(state, child)
        merged = set(loop_ranges(chains[number]))
        updating = [
            iv.var.name
            for iv, value in zip(realize.block.iter_vars, realize.iter_values)
            if iv.iter_type != IterVar.DataPar and uses_any(value, merged)
        ]
        for dep in scope.get_deps_by_src(child):
            if updating and dep.kind is DepKind.RAW and inside.get(dep.dst, number) != number:
                raise Illegal(
                    f"block {block_of(dep.dst).name_hint!r} would read what is not ready: block "
                    f"{realize.block.name_hint!r} updates it while {updating[0]!r} runs",
                    legal="loops of the data-parallel variables alone",
                    spots=[realize.block, dep.dst.stmt],
                    fast="Merging would break a dependency",
                )


def _require_alike(chains: list[list[StmtSRef]]) -> None:
    """Refuse nests of different depth or extents, with branches, or with special loops."""
    analyzer = Analyzer()
    for chain in chains:
        if len(chain) != len(chains[0]) or not all(isinstance(s.stmt, For) for s in chain):
            raise Illegal(
                "the loops have different depths below what they share",
                legal="loops of the same depth",
                spots=[chain[-1].stmt],
                fast="Merge loop's nesting depth must be same, but not.",
            )
        for sref, other in zip(chain, chains[0]):
            node, model = loop_of(sref), loop_of(other)
            require_plain(node, "merge")
            if not analyzer.can_prove_equal(node.extent, model.extent):
                raise Illegal(
                    f"the loops {model.loop_var.name!r} and {node.loop_var.name!r} run "
                    f"{model.extent} and {node.extent} times",
                    legal="loops with the same extents",
                    spots=[model, node],
                    fast="The loops to merge have different extents",
                )
        for outer, inner in pairwise(chain):
            if loop_of(outer).body is not inner.stmt:
                raise Illegal(
                    f"the loop {loop_of(outer).loop_var.name!r} holds more than one statement",
                    legal="nests without branches",
                    spots=[outer.stmt],
                    fast="The loops to merge hold more than one child",
                )


def _put(
    state: SRefTree,
    above: StmtSRef,
    changes: Mapping[For, Stmt | None],
    reuse: dict[Block, Block],
) -> None:
    """Replace some loops that stand in the body of an sref; None takes one away."""
    old = above.stmt
    assert old is not None, "a common ancestor stands in the program"
    body = old.body
    for loop, new in changes.items():
        body = without_leaf(body, loop) if new is None else swap_stmt(body, loop, new)
    if isinstance(old, Block):
        new_block = change_block(block_of(above), body=body)
        state.replace(above, new_block, {**reuse, old: new_block})
    else:
        state.replace(above, change_loop(old, body=body), reuse)


