"""Finish a value where it is made, instead of in a block of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer, IterMapLevel, detect_iter_map
from tvm.arith.iter_affine_map import inverse_if_any
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Node
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, Var
from tvm.tir.functor import StmtExprMutator, children, substitute, uses_any, walk
from tvm.tir.op.arith import equal, greater_equal, is_one, less, logical_and
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.blocks import require_complete, require_reduction
from tvm.tir.schedule.analysis.flags import pipeline_scope
from tvm.tir.schedule.analysis.inside import index_outside
from tvm.tir.schedule.analysis.query import (
    block_of,
    consumers_of,
    producers_of,
    realize_of,
    require_allocated,
)
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.leaves import remove_leaf
from tvm.tir.schedule.primitive.compute_inline import require_single_buffer, require_store
from tvm.tir.schedule.rebuild import TrackingMutator, change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferStore, Stmt

KIND = kind("ReverseComputeInline", "reverse_compute_inline", "block")


def reverse_compute_inline(state: SRefTree, block: StmtSRef) -> None:
    """Let the producer store what the block would have made of its result, and drop the block.

    for i: B[i] = f(A[i])
    for i: C[i] = g(B[i])      ->      for i: C[i] = g(f(A[i]))

    A producer that sums is not done before its last iteration, so behind it only the indices may
    change:

    for i, j, k: B[i, j] += A[i, j, k]
    for i, j: C[j, i] = B[i, j]      ->      for i, j, k: C[j, i] += A[i, j, k]
    """
    scope, new, reuse = _inlined(state, block)
    state.replace(scope, new, reuse)


def can_reverse_compute_inline(state: SRefTree, block: StmtSRef) -> bool:
    """True if `reverse_compute_inline` would be legal."""
    try:
        _inlined(state, block)
    except Illegal:
        return False
    return True


def _inlined(state: SRefTree, block: StmtSRef) -> tuple[StmtSRef, Block, dict[Block, Block]]:
    """The scope, as it is without the block, and what became of its other blocks."""
    node = block_of(block)
    scope = pipeline_scope(state, block)
    require_complete(state, block)
    target = require_single_buffer(node)
    finish = require_store(node)
    producer = _only_producer(state, block, scope)
    maker = block_of(producer)
    made = require_single_buffer(maker)
    _require_unused_outside(block_of(require_allocated(state, producer, made)), scope, made, node)
    if maker.init is None:
        new_maker, predicate = _finished(state, producer, node, finish, target)
    else:
        new_maker, predicate = _moved(state, producer, node, finish, target), TRUE
    smaller = remove_leaf(state, block)
    outer = realize_of(state, producer)
    to_loops = dict(zip([iv.var for iv in maker.iter_vars], outer.iter_values))
    both = _narrowed(outer.predicate, substitute(predicate, to_loops), analyzer_at(producer))
    swap = _SwapRealize(outer, both, new_maker)
    body = swap.visit_stmt(smaller.body)
    allocs = [b for b in smaller.alloc_buffers if b is not made]
    new = change_block(smaller, body=body, alloc_buffers=allocs)
    return scope, new, {**swap.reuse, maker: new_maker, block_of(scope): new}


def _finished(
    state: SRefTree, producer: StmtSRef, node: Block, finish: BufferStore, target: Buffer
) -> tuple[Block, PrimExpr]:
    """The producer with what the block makes of its value, and where it has to run."""
    require_complete(state, producer)
    maker = block_of(producer)
    made, start = require_single_buffer(maker), require_store(maker)
    values, predicate = _inverse(node, finish, made, start, maker)
    rule = _Finisher(made, start.value)
    value = rule.visit_expr(substitute(finish.value, values))
    indices = [rule.visit_expr(substitute(i, values)) for i in finish.indices]
    store = BufferStore(target, value, indices, None, finish.span or start.span)
    return with_regions(change_block(maker, body=store)), predicate


def _moved(
    state: SRefTree, producer: StmtSRef, node: Block, finish: BufferStore, target: Buffer
) -> Block:
    """The reduction that stores where the block would have copied its result to."""
    require_reduction(state, producer)
    maker = block_of(producer)
    made, start = require_single_buffer(maker), maker.body
    predicate: PrimExpr = TRUE
    copies = isinstance(finish.value, BufferLoad) and finish.value.buffer is made
    if copies and isinstance(start, BufferStore) and isinstance(maker.init, BufferStore):
        values, predicate = _inverse(node, finish, made, start, maker)
        indices = [substitute(i, values) for i in finish.indices]
        rule = _Mover(made, start.indices, target, indices)
        new = change_block(maker, body=rule.visit_stmt(start), init=rule.visit_stmt(maker.init))
        if is_one(predicate) and not rule.astray:
            return with_regions(new)
    raise Illegal(
        f"block {node.name_hint!r} does more than to move the sums of {maker.name_hint!r}",
        legal="behind a reduction a block such as `C[j, i] = B[i, j]`, over all of its result",
        spots=[node, maker],
        fast="The body of the block cannot be inlined into a reduction: it is no transpose",
    )


def _require_unused_outside(site: Block, scope: StmtSRef, made: Buffer, node: Block) -> None:
    """What is read or written in other scopes, too, has to be stored."""
    pending: list[Node] = [site]
    while pending:
        part = pending.pop()
        if part is scope.stmt:
            continue
        users = part.buffer if isinstance(part, (BufferLoad, BufferStore)) else None
        if users is made or part is made.data:
            raise Illegal(
                f"buffer {made.name!r}, which block {node.name_hint!r} reads, is used outside of "
                f"its scope {name_of(scope.stmt)}, too",
                legal="a buffer that only this scope uses",
                spots=[node],
                fast="The buffer is used outside of the scope",
            )
        pending += children(part)


def _only_producer(state: SRefTree, block: StmtSRef, scope: StmtSRef) -> StmtSRef:
    facts = state.get_block_scope(scope)
    producers = producers_of(block, facts)
    if len(producers) != 1:
        names = [name_of(p.stmt) for p in producers]
        raise Illegal(
            f"block {block_of(block).name_hint!r} has {len(producers)} producers: {names}. The "
            "block is only allowed to read a single buffer region, but it reads "
            f"{len(block_of(block).reads)} region(s)",
            legal="a block that reads the result of exactly one block of its scope",
            spots=[block.stmt],
            fast="The block is allowed to read only a single buffer region",
            detail="The block is only allowed to read a single buffer region, but it reads "
            f"{len(block_of(block).reads)} region(s): {{0}}",
        )
    users = consumers_of(producers[0], facts)
    if users != [block]:
        raise Illegal(
            f"the result of {name_of(producers[0].stmt)} is read by "
            f"{[name_of(u.stmt) for u in users]}",
            legal="a producer that only this block reads",
            spots=[producers[0].stmt],
            fast="The producer block is required to have a single consumer",
        )
    return producers[0]


def _inverse(
    node: Block, finish: BufferStore, made: Buffer, start: BufferStore, maker: Block
) -> tuple[dict[Var, PrimExpr], PrimExpr]:
    """The consumer's variables in terms of the producer's, and where they are in range."""
    loads = [n for n in walk(finish.value) if isinstance(n, BufferLoad) and n.buffer is made]
    reads = [tuple(load.indices) for load in loads]
    if not loads or any(not _same(reads[0], other) for other in reads[1:]):
        raise Illegal(
            f"block {node.name_hint!r} reads {made.name!r} at several indices",
            legal="a block that reads the producer's result at one index",
            spots=[node],
            fast="The consumer block does not read the producer buffer at a single place",
        )
    _require_inside(node, made, reads[0])
    values = _solve(node, reads[0], start.indices)
    analyzer = Analyzer()
    for iv in maker.iter_vars:
        if iv.dom is not None:
            analyzer.bind_domain(iv.var, iv.dom)
    predicate: PrimExpr = IntImm("bool", 1)
    for read, written in zip(reads[0], start.indices):
        back = substitute(read, values)  # another index where reads skip what is written
        if not analyzer.can_prove_equal(back, written):
            predicate = logical_and(predicate, analyzer.simplify(equal(written, back)))
    for iv in node.iter_vars:
        assert iv.dom is not None, "block variables have domains"
        value = values[iv.var]
        for inside in (greater_equal(value, iv.dom.min), less(value, iv.dom.min + iv.dom.extent)):
            if not analyzer.can_prove(inside):
                predicate = logical_and(predicate, analyzer.simplify(inside))
    return values, predicate


def _require_inside(node: Block, made: Buffer, read: Sequence[PrimExpr]) -> None:
    """Refuse a consumer some of whose instances read nothing that the producer made."""
    index = index_outside(node, made, read)
    if index is not None:
        raise Illegal(
            f"block {node.name_hint!r} also runs where it does not read {made.name!r}: the "
            f"index {index} may lie outside of the buffer",
            legal="a block each of whose instances reads an element of the producer",
            spots=[node],
            fast="The consumer block has instances without a producer",
        )


def _solve(
    node: Block, read: Sequence[PrimExpr], written: Sequence[PrimExpr]
) -> dict[Var, PrimExpr]:
    domains = {iv.var: iv.dom for iv in node.iter_vars if iv.dom is not None}
    if all(isinstance(i, Var) for i in read) and sorted(map(id, read)) == sorted(map(id, domains)):
        return {i: w for i, w in zip(read, written) if isinstance(i, Var)}
    fixed = {
        iv.var: iv.dom.min
        for iv in node.iter_vars
        if iv.dom is not None and isinstance(iv.dom.extent, IntImm) and iv.dom.extent.value == 1
    }
    ranges: dict[Var, Range] = {v: dom for v, dom in domains.items() if v not in fixed}
    plain = [(substitute(i, fixed), w) for i, w in zip(read, written)]
    moving = [(i, w) for i, w in plain if uses_any(i, ranges)]
    solved = _told(moving, ranges)
    if solved is None:
        raise Illegal(
            f"block {node.name_hint!r} reads at ({', '.join([str(i) for i in read])}), from which "
            "its variables cannot be told",
            legal="reads at an invertible affine map of all block variables",
            spots=[node],
            fast="The indices of the consumer block are not an invertible affine map",
        )
    return {**fixed, **{var: solved[var] for var in ranges}}


def _told(
    indices: Sequence[tuple[PrimExpr, PrimExpr]], ranges: dict[Var, Range]
) -> dict[Var, PrimExpr] | None:
    """The variables from the indices that are read and the values that these have, if they tell.

    Reads of blocks that the variables do not fill (127 in rows of 16) reach all values too, and
    then some; but a variable whose remainder no read tells has many values.
    """
    reads = [read for read, _ in indices]
    whole = detect_iter_map(reads, ranges, True, IterMapLevel.Bijective, allow_padding=False)
    if whole.indices:
        solved = inverse_if_any(whole.indices, [value for _, value in indices])
        return solved if solved and all(var in solved for var in ranges) else None
    padded = detect_iter_map(reads, ranges, True, IterMapLevel.NoCheck)
    if not padded.indices:
        return None
    analyzer = Analyzer()
    for var, dom in ranges.items():
        analyzer.bind(var, dom)
    back = inverse_if_any(padded.indices, reads)
    if back is None:
        return None
    if any(var not in back or not analyzer.can_prove_equal(back[var], var) for var in ranges):
        return None
    return inverse_if_any(padded.indices, [value for _, value in indices])


def _same(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    analyzer = Analyzer()
    return all(x is y or analyzer.can_prove_equal(x, y) for x, y in zip(a, b))


class _Finisher(StmtExprMutator):
    """Replaces reads of the producer's buffer by its value."""

    def __init__(self, buffer: Buffer, value: PrimExpr) -> None:
        super().__init__()
        self._buffer, self._value = buffer, value

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is self._buffer:
            return self._value
        return super().visit_buffer_load_(op)


class _Mover(StmtExprMutator):
    """Replaces one element of a buffer by one element of another."""

    def __init__(
        self, old: Buffer, at: Sequence[PrimExpr], new: Buffer, indices: Sequence[PrimExpr]
    ) -> None:
        super().__init__()
        self._old, self._at, self._new, self._indices = old, at, new, indices
        self.astray = False  # the old buffer is used elsewhere than at this element

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._old:
            return super().visit_buffer_load_(op)
        self.astray |= not _same(op.indices, self._at)
        return BufferLoad(self._new, self._indices, None, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer is not self._old:
            return super().visit_buffer_store_(op)
        self.astray |= not _same(op.indices, self._at)
        return BufferStore(self._new, self.visit_expr(op.value), self._indices, None, op.span)

    def visit_var_(self, op: Var) -> PrimExpr:
        self.astray |= op is self._old.data
        return op


def _narrowed(known: PrimExpr, more: PrimExpr, analyzer: Analyzer) -> PrimExpr:
    """Both conditions, without what the first says already."""
    said = [analyzer.simplify(part) for part in conjuncts(known)]
    for part in conjuncts(more):
        simple = analyzer.simplify(part)
        if not is_one(simple) and not any(expr_deep_equal(simple, other) for other in said):
            known = logical_and(known, part)
    return known


class _SwapRealize(TrackingMutator):
    """Puts a new block into one realize, with a predicate of its own."""

    def __init__(self, old: BlockRealize, predicate: PrimExpr, new: Block) -> None:
        super().__init__()
        self._old, self._predicate, self._new = old, predicate, new

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        if op is not self._old:
            return super().visit_block_realize_(op)
        return BlockRealize(op.iter_values, self._predicate, self._new, op.span)
