"""Move a block into a loop: before its consumers, or after its producers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, Var, is_call_of, make_const
from tvm.tir.functor import statements, uses_any, uses_var, vars_in, walk
from tvm.tir.op.arith import is_one, logical_and, logical_or, max_of, min_of
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.analysis.affine import (
    Box,
    analyzer_at,
    bound_region,
    loop_ranges,
    relax_upper,
)
from tvm.tir.schedule.analysis.blocks import require_complete_or_reduction
from tvm.tir.schedule.analysis.cover import (
    region_cover,
    shared_threads,
    sums_nothing,
    sums_over,
)
from tvm.tir.schedule.analysis.flags import pipeline_scope
from tvm.tir.schedule.analysis.inside import index_outside
from tvm.tir.schedule.analysis.query import (
    block_of,
    consumers_of,
    is_ancestor,
    is_output_block,
    loop_of,
    loops_above,
    path_between,
    producers_of,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.domains import Domains, narrowed, narrowed_by, nest_over, symbolic_ends
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.leaves import leaf_top, without_leaf
from tvm.tir.schedule.loops import add_predicate
from tvm.tir.schedule.predicates import asked_beyond_domains, guard_of_idle_loops
from tvm.tir.schedule.primitive.compute_inline import compute_inline
from tvm.tir.schedule.primitive.reverse_compute_inline import reverse_compute_inline
from tvm.tir.schedule.rebuild import TrackingMutator, change_block, change_loop
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, For, ForKind, SeqStmt, Stmt

COMPUTE_AT = kind("ComputeAt", "compute_at", "block", "loop", "=preserve_unit_loops", "=index")
REVERSE_COMPUTE_AT = kind(
    "ReverseComputeAt", "reverse_compute_at", "block", "loop", "=preserve_unit_loops", "=index"
)  # fmt: skip


def compute_at(
    state: SRefTree, block: StmtSRef, loop: StmtSRef, preserve_unit_loops: bool, index: int
) -> None:
    """Compute in each iteration of `loop` just what its consumers there read.

    for i: B[i] = f(A[i])            for i0:
    for i0: for i1:            ->        for ax0: B[i0 * n + ax0] = f(A[i0 * n + ax0])
        C[i0 * n + i1] = g(B)            for i1: C[i0 * n + i1] = g(B[i0 * n + i1])
    """
    if _marked(state, block, loop, compute_inline):
        return
    scope = _checked_scope(state, block, loop)
    if is_output_block(block, scope):
        raise Illegal(
            f"block {block_of(block).name_hint!r} writes an output of its scope",
            legal="a block whose results only other blocks of the scope read "
            "(reverse_compute_at moves output blocks)",
            spots=[block.stmt],
            fast="Cannot operate on an output block",
            detail="The block {0} is an output block",
        )
    users = consumers_of(block, state.get_block_scope(scope))
    _require_inside(block, loop, users, "consumers")
    if not users:
        raise Illegal(
            f"block {block_of(block).name_hint!r} has no consumer",
            legal="a block whose result another block reads",
            spots=[block.stmt],
        )
    needed = _needed(state, loop, block, users, False)
    _move(state, block, loop, needed, preserve_unit_loops, index, reverse=False)


def reverse_compute_at(
    state: SRefTree,
    block: StmtSRef,
    loop: StmtSRef,
    preserve_unit_loops: bool,
    index: int,
    *,
    tile: bool = False,
) -> None:
    """Compute in each iteration of `loop` just what its producers there have finished.

    Without producers, as of a copy of a parameter, that is all of the block.

    for i0: for i1:                  for i0:
        B[i0 * n + i1] = f(A)            for i1: B[i0 * n + i1] = f(A)
    for i: C[i] = g(B[i])      ->        for ax0: C[i0 * n + ax0] = g(B[i0 * n + ax0])
    """
    if _marked(state, block, loop, reverse_compute_inline):
        return
    scope = _checked_scope(state, block, loop)
    makers = producers_of(block, state.get_block_scope(scope))
    _require_inside(block, loop, makers, "producers")
    if not makers:  # else the loop stands before the block, and so before what reads it
        _require_readers_after(state, block, loop, scope)
    for maker in makers:
        _require_finished(state, block, maker, loop)
    needed = _needed(state, loop, block, makers, True, tile)
    guard = _guard(state, loop, makers)
    _move(state, block, loop, needed, preserve_unit_loops, index, reverse=True, guard=guard)


def _marked(
    state: SRefTree, block: StmtSRef, loop: StmtSRef, inline: Callable[[SRefTree, StmtSRef], None]
) -> bool:
    """Do what a mark stands for: nothing for the root, inlining for the other; False for a loop."""
    if loop is StmtSRef.inline_mark():
        inline(state, block)
    return loop in (StmtSRef.inline_mark(), StmtSRef.root_mark())


_APART = (
    "Expected the block and loop to be under the same block scope, and loop not to be the ancestor "
    "of block",
    "ScheduleError: Expected the block {0} and loop {1} to be under the same block scope, and loop "
    "not to be the ancestor of block",
)


def _checked_scope(state: SRefTree, block: StmtSRef, loop: StmtSRef) -> StmtSRef:
    scope = pipeline_scope(state, block)
    if scope_of(loop) is not scope:
        raise Illegal(
            f"{name_of(loop.stmt)} and {name_of(block.stmt)} are in different scopes",
            legal="a loop of the same scope",
            spots=[block.stmt, loop.stmt],
            fast=_APART[0],
            detail=_APART[1],
        )
    if is_ancestor(loop, block):
        raise Illegal(
            f"{name_of(block.stmt)} stands within {name_of(loop.stmt)} already",
            legal="a loop that is not around the block",
            spots=[block.stmt, loop.stmt],
            fast=_APART[0],
            detail=_APART[1],
        )
    require_complete_or_reduction(state, block)
    return scope


def _require_inside(
    block: StmtSRef, loop: StmtSRef, others: Sequence[StmtSRef], role: str
) -> None:
    outside = [o for o in others if not is_ancestor(loop, o)]
    if outside:
        raise Illegal(
            f"the {role} {[block_of(o).name_hint for o in outside]} of block "
            f"{block_of(block).name_hint!r} are not under {name_of(loop.stmt)}",
            legal=f"a loop around all {role} of the block",
            spots=[loop.stmt, *[o.stmt for o in outside]],
            fast=f"The primitive requires all the {role[:-1]}(s) of the block to be under the loop",
        )


def _require_readers_after(
    state: SRefTree, block: StmtSRef, loop: StmtSRef, scope: StmtSRef
) -> None:
    order = {id(stmt): at for at, stmt in enumerate(statements(block_of(scope), Stmt))}
    at = order[id(loop.stmt)]
    users = consumers_of(block, state.get_block_scope(scope))
    early = [user for user in users if order[id(user.stmt)] < at]
    if early:
        raise Illegal(
            f"the consumers {[block_of(user).name_hint for user in early]} of block "
            f"{block_of(block).name_hint!r} stand before {name_of(loop.stmt)}",
            legal="a loop before all that reads the block, or around it",
            spots=[loop.stmt, *[user.stmt for user in early]],
        )


def _require_finished(state: SRefTree, block: StmtSRef, maker: StmtSRef, loop: StmtSRef) -> None:
    """A reduction is complete only outside of all its reducing loops.

    Within serial ones a block that sums nothing may stand: its last run sees the result. One that
    sums would take in each of its runs, also where the maker is such a block.
    """
    realize = realize_of(state, maker)
    again = sums_nothing(block)
    around = [loop_of(sref) for sref in [loop, *loops_above(loop)]]
    outer = {at.loop_var for at in around if not (again and at.kind is ForKind.SERIAL)}
    steps = [] if again else statements(around[-1], BlockRealize)
    repeated = {v for v in outer if not any(uses_any(x, {v}) for x in realize.iter_values)}
    for other, names in [(realize, outer), *[(step, repeated) for step in steps]]:
        if sums_over(other, names):
            raise Illegal(
                f"block {other.block.name_hint!r} sums over {name_of(loop.stmt)} or a loop "
                "around it, so its result is not complete there",
                legal="a loop outside of all reducing loops of the producer",
                spots=[loop.stmt, other.block],
                fast="The producer is not complete under the loop",
            )


def _guard(state: SRefTree, loop: StmtSRef, makers: Sequence[StmtSRef]) -> PrimExpr:
    """What tells, of loops that the makers' variables do not name, in which one of them runs.

    Threads that leave it to another one to make an element do not write it back either.
    """
    outer = loop_ranges([loop, *loops_above(loop)])
    found: PrimExpr | None = None
    for maker in makers:
        inner = loop_ranges([p for p in path_between(loop, maker) if isinstance(p.stmt, For)])
        here: PrimExpr = TRUE
        realize = realize_of(state, maker)
        for condition in conjuncts(realize.predicate):
            limit = guard_of_idle_loops(condition, realize, inner, outer)
            here = here if limit is None else logical_and(here, limit)
        found = here if found is None else logical_or(found, here)
    return TRUE if found is None else found


def _needed(
    state: SRefTree,
    loop: StmtSRef,
    block: StmtSRef,
    others: Sequence[StmtSRef],
    reverse: bool,
    tile: bool = False,
) -> dict[Buffer, Box]:
    """For each buffer between the block and the others: the box used in one iteration of `loop`.

    As a `tile` it is what the threads around make together where they share the memory.
    """
    node = block_of(block)
    shared = {r.buffer for r in (node.reads if reverse else node.writes)}
    analyzer = analyzer_at(loop)
    found: dict[Buffer, Box] = {}
    for other in others:
        realize = realize_of(state, other)
        inner = loop_ranges([p for p in path_between(loop, other) if isinstance(p.stmt, For)])
        for region in realize.block.writes if reverse else realize.block.reads:
            buffer = region.buffer
            if buffer not in shared:
                continue
            # a consumer may need what other threads made; a producer's threads each had their part
            threads = shared_threads(loop, buffer) if tile or not reverse else {}
            ranges = {**inner, **threads}
            box = relax_upper(bound_region(region, realize), ranges, buffer.shape, analyzer)
            if not is_one(realize.predicate):
                box = _without_loads(box, buffer)
            found[buffer] = _union(analyzer, found.get(buffer), box)
    return found


def _without_loads(box: Box, buffer: Buffer) -> Box:
    """All of a dimension where memory tells the index: without the predicate it is not read."""
    low, high = list(box.low), list(box.high)
    for axis, extent in enumerate(buffer.shape):
        if any(isinstance(n, BufferLoad) for end in (low[axis], high[axis]) for n in walk(end)):
            low[axis], high[axis] = make_const(0, extent.dtype), extent - 1
    return Box(low, high)


def _union(analyzer: Analyzer, a: Box | None, b: Box) -> Box:
    if a is None:
        return b
    low = [_extreme(analyzer, x, y, False) for x, y in zip(a.low, b.low)]
    high = [_extreme(analyzer, x, y, True) for x, y in zip(a.high, b.high)]
    return Box(low, high)


def _extreme(analyzer: Analyzer, x: PrimExpr, y: PrimExpr, greatest: bool) -> PrimExpr:
    return analyzer.simplify(max_of(x, y) if greatest else min_of(x, y))


def _move(
    state: SRefTree,
    block: StmtSRef,
    loop: StmtSRef,
    needed: Mapping[Buffer, Box],
    preserve_unit_loops: bool,
    index: int,
    *,
    reverse: bool,
    guard: PrimExpr = TRUE,
) -> None:
    scope = scope_of(block)
    realize = realize_of(state, block)
    analyzer = analyzer_at(loop)
    domains = narrowed(realize.block, needed, analyzer, reverse=reverse)
    around = [p for p in path_between(scope, block) if isinstance(p.stmt, For)]
    _require_own_variables(realize, loop_ranges(around))
    asked = asked_beyond_domains(realize, loop_ranges(around))
    if reverse:
        _require_narrowed(state, realize, loop, domains, needed)
        _require_one_source(realize.block, loop, needed, analyzer)
        _require_readers(realize.block, needed, asked)
    ends = symbolic_ends(realize.block, needed, analyzer) if reverse else {}
    nest = add_predicate(
        nest_over(realize, domains, asked, analyzer, preserve_unit_loops, ends), guard
    )
    position = _position(state, block, loop, index)
    top = leaf_top(state, block)
    assert top.stmt is not None, "an sref in the scope"
    edit = _Mover(top.stmt, loop_of(loop), nest, position)
    old = block_of(scope)
    body = edit.visit_stmt(old.body)
    new = change_block(old, body=body)
    state.replace(scope, new, {**edit.reuse, old: new})
    for child in [block, *consumers_of(block, state.get_block_scope(scope))]:
        if not region_cover(state, child, moved=block):
            raise Illegal(
                f"block {block_of(child).name_hint!r} would read what is not written yet",
                legal="a loop in whose iterations all that is read was written before",
                spots=[block_of(child)],
                fast="The region read would not be covered by its producers",
            )


def _require_own_variables(realize: BlockRealize, loops: Mapping[Var, Range]) -> None:
    """Refuse a block that names its loops, which it is taken out of, beside its variables."""
    named = [n for n in vars_in(realize.block) if n in loops]
    if named:
        raise Illegal(
            f"block {realize.block.name_hint!r} uses the loop {named[0].name!r} in its body",
            legal="a block that knows its loops by the values of its variables only",
            spots=[realize.block],
            fast="The block uses loops that are not bound to its variables",
        )


def _require_narrowed(
    state: SRefTree,
    realize: BlockRealize,
    loop: StmtSRef,
    domains: Domains,
    needed: Mapping[Buffer, Box],
) -> None:
    """Refuse if iterations of `loop` that make different regions would run the same instances."""
    around = [loop]
    ancestor = loop.parent
    while ancestor is not None and isinstance(ancestor.stmt, For):
        around.append(ancestor)
        ancestor = ancestor.parent
    for sref in around:
        var = loop_of(sref).loop_var
        made = any(_uses(var, [*box.low, *box.high]) for box in needed.values())
        ran = any(_uses(var, [dom.min, dom.extent]) for dom in domains.values())
        if made and not ran and not is_one(loop_of(sref).extent):
            raise Illegal(
                f"from what {name_of(loop.stmt)} makes in one iteration it cannot be told which "
                f"part of block {realize.block.name_hint!r} can run",
                legal="a block that reads the producers' results at affine indices",
                spots=[loop.stmt, realize.block],
                fast="Cannot match the block's variables with the produced region",
            )


def _require_one_source(
    block: Block, loop: StmtSRef, needed: Mapping[Buffer, Box], analyzer: Analyzer
) -> None:
    """Refuse if what one producer makes lets other instances run than what another one makes.

    Of C[i, j] = B[i, j] + A[j, i], with a row of A and of B in each iteration, only C[i, i] could.
    Parts that different loops tell are fine: they meet in all pairs.
    """
    loops = {loop_of(sref).loop_var for sref in (loop, *loops_above(loop))}
    told = [region for region in block.reads if region.buffer in needed]
    alone = [narrowed_by(block, [region], needed, analyzer) for region in told]
    for i, one in enumerate(alone):
        for other in alone[:i]:
            if _within(one, other, analyzer) or _within(other, one, analyzer):
                continue
            named = [{n for dom in d.values() for n in vars_in(dom.min)} for d in (one, other)]
            if not named[0] & named[1] & loops:
                continue
            raise Illegal(
                f"{name_of(loop.stmt)} makes parts of {sorted({r.buffer.name for r in told})} that "
                f"let different instances of block {block.name_hint!r} run",
                legal="a block all of whose instances find what they read in one iteration",
                spots=[loop.stmt, block],
                fast="Cannot match the block's variables with the produced region",
            )


def _within(inner: Domains, outer: Domains, analyzer: Analyzer) -> bool:
    """Whether each variable's part lies in the other one."""
    return all(
        dom is outer[var]
        or (
            analyzer.can_prove(outer[var].min <= dom.min)
            and analyzer.can_prove(
                dom.min + dom.extent <= outer[var].min + outer[var].extent
            )
        )
        for var, dom in inner.items()
    )


def _require_readers(
    block: Block, needed: Mapping[Buffer, Box], asked: Sequence[PrimExpr]
) -> None:
    """Refuse if some instances read nothing of the producers: no iteration would run them.

    What is read without a condition lies inside of its buffer, whatever the symbols of its extents.
    """
    guarded = any(is_call_of(node, "tir.if_then_else") for node in walk(block.body))
    for region in block.reads:
        if region.buffer not in needed:
            continue
        if not guarded and not all(isinstance(n, IntImm) for n in region.buffer.shape):
            continue
        first = [r.min for r in region.region]
        last = [r.min if is_one(r.extent) else r.min + r.extent - 1 for r in region.region]
        for indices in (first, last):
            index = index_outside(block, region.buffer, indices, asked)
            if index is not None:
                raise Illegal(
                    f"block {block.name_hint!r} also runs where it does not read "
                    f"{region.buffer.name!r}: the index {index} may lie outside of the buffer",
                    legal="a block each of whose instances reads what the producers made",
                    spots=[block],
                    fast="The consumer block has instances without a producer",
                )


def _uses(var: Var, exprs: Sequence[PrimExpr]) -> bool:
    return any(uses_var(expr, var) for expr in exprs)


def _position(state: SRefTree, block: StmtSRef, loop: StmtSRef, index: int) -> int:
    """Where in the body of `loop` the block goes: after its producers, before its consumers."""
    node = loop_of(loop)
    count = len(node.body.seq) if isinstance(node.body, SeqStmt) else 1
    facts = state.get_block_scope(scope_of(block))
    first = 0
    for maker in [d.src for d in facts.get_deps_by_dst(block)]:
        if is_ancestor(loop, maker):
            first = max(first, _number(loop, maker) + 1)
    last = count
    for user in [d.dst for d in facts.get_deps_by_src(block)]:
        if is_ancestor(loop, user):
            last = min(last, _number(loop, user))
    chosen = {-1: last, -2: first}.get(index, index)
    if first > last or not first <= chosen <= last:
        raise Illegal(
            f"there is no position {index} for the block in {name_of(node)}: it has to stand "
            f"after its producers (from {first}) and before its consumers (up to {last})",
            legal="another loop" if first > last else f"an index from {first} to {last}, -1 or -2",
            spots=[node, block.stmt],
            fast="No valid insertion point",
        )
    return chosen


def _number(loop: StmtSRef, inner: StmtSRef) -> int:
    sref = inner
    while sref.parent is not loop:
        assert sref.parent is not None, "`inner` stands in `loop`"
        sref = sref.parent
    return max(sref.seq_index, 0)


class _Mover(TrackingMutator):
    """Removes one statement and puts another into a loop's body."""

    def __init__(self, leaf: Stmt, loop: For, nest: Stmt, position: int) -> None:
        super().__init__()
        self._leaf, self._loop, self._nest, self._position = leaf, loop, nest, position

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_(self, op: Block) -> Stmt:
        return op

    def visit_for_(self, op: For) -> Stmt:
        if op is not self._loop:
            return super().visit_for_(op)
        parts = list(op.body.seq) if isinstance(op.body, SeqStmt) else [op.body]
        parts.insert(self._position, self._nest)
        return change_loop(op, body=SeqStmt.flatten(parts))

    def visit_seq_stmt_(self, op: SeqStmt) -> Stmt:
        new = super().visit_seq_stmt_(op)
        return without_leaf(new, self._leaf)
