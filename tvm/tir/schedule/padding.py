"""Values for the elements of a new layout that no element of the old one is laid out to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IterVar, Var, make_const
from tvm.tir.functor import Substituter, substitute, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import equal, is_one, is_zero, logical_not, logical_or
from tvm.tir.op.builtin import assume, if_then_else
from tvm.tir.stmt import Block, BlockRealize, BufferStore, Evaluate, For, ForKind, SeqStmt, Stmt

from .analysis.query import block_of, loops_above, realize_of
from .rebuild import change_block, nest
from .regions import with_regions
from .scopes import TRUE, sref_below
from .tree import SRefTree, swap_stmt


@dataclass
class Padding:
    """A buffer in its new layout, where its padding is, and what is to stand there.

    `where` and the way back are in terms of `indices`, the indices of the new layout.
    """

    buffer: Buffer
    back: IndexMap
    where: PrimExpr
    value: IndexMap

    @property
    def indices(self) -> tuple[Var, ...]:
        return tuple(self.back.initial_indices)

    def value_at(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """What stands at an element of the padding."""
        return self.value.map_indices(list(indices))[0]


def writer_to_widen(state: SRefTree, site: StmtSRef, old: Buffer) -> StmtSRef | None:
    """The only block that writes the buffer, if it can run over the new layout instead.

    Each of its instances stores to one element, at the block's spatial variables, and no other
    statement shares its loops. What a reduction adds up stays as it is.
    """
    writers = state.get_block_scope(site).buffer_writers.get(old, [])
    if len(writers) != 1:
        return None
    node, realize = block_of(writers[0]), realize_of(state, writers[0])
    stores = _stores(node.body)
    if not stores:
        return None
    store = stores[0]
    if node.alloc_buffers or node.match_buffers or not is_one(realize.predicate):
        return None
    spatial = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar]
    reduced = [iv for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce]
    if len(spatial) != len(store.indices) or len(spatial) + len(reduced) != len(node.iter_vars):
        return None
    for iv, index, extent in zip(spatial, store.indices, old.shape):
        if iv.var is not index or not _covers(iv.dom, extent):
            return None
    if node.init is not None:
        init = _stores(node.init)
        if not init:
            return None
        stores += init
    loads = [n for s in stores for n in walk(s.value) if isinstance(n, BufferLoad)]
    own = [n for n in loads if n.buffer is old]
    if not all(_is_at(s, store) for s in stores) or not all(_is_at(n, store) for n in own):
        return None
    return writers[0] if _alone(site, writers[0], realize) else None


def _stores(body: Stmt) -> list[BufferStore]:
    """The body as stores one after the other; none if there is anything else."""
    parts = body.seq if isinstance(body, SeqStmt) else (body,)
    stores = [s for s in parts if isinstance(s, BufferStore) and s.predicate is None]
    return stores if len(stores) == len(parts) else []


def _is_at(access: BufferLoad | BufferStore, store: BufferStore) -> bool:
    """True if the access is of the element that is stored."""
    return access.buffer is store.buffer and all(
        i is j for i, j in zip(access.indices, store.indices)
    )


def _covers(dom: Range | None, extent: PrimExpr) -> bool:
    return dom is not None and is_zero(dom.min) and Analyzer().can_prove_equal(dom.extent, extent)


def _alone(site: StmtSRef, writer: StmtSRef, realize: BlockRealize) -> bool:
    """True if the loops are plain, all bound to variables, and hold nothing but the block; those
    of spatial variables follow each other.
    """
    loops = loops_above(writer)
    names: list[Var] = []
    for i, sref in enumerate(loops):
        loop = sref.stmt
        assert isinstance(loop, For), "a loop"
        inner = loops[i + 1].stmt if i + 1 < len(loops) else realize
        plain = loop.kind is ForKind.SERIAL and not loop.annotations
        if loop.body is not inner or not plain:
            return False
        names.append(loop.loop_var)
    top = loops[0] if loops else writer
    kinds = {v: iv.iter_type for iv, v in zip(realize.block.iter_vars, realize.iter_values)}
    changes = [a for a, b in pairwise(names) if kinds.get(a) != kinds.get(b)]
    together = len(changes) < 3 and (len(changes) < 2 or kinds[names[0]] != IterVar.DataPar)
    return top.parent is site and set(names) == set(realize.iter_values) and together


def widen_writer(state: SRefTree, writer: StmtSRef, padding: Padding) -> None:
    """Let the block (already in the new layout) run over all of it.

    for i in range(14): B[i // 4, i % 4] = f(i)
    ->
    for i, j in grid(4, 4): B[i, j] = if_then_else(i == 3 and j >= 2, pad, f(i * 4 + j))
    """
    node = block_of(writer)
    loops, iter_vars = _new_loops(padding)
    names = [iv.var for iv in iter_vars]
    spatial = [iv.var for iv in node.iter_vars if iv.iter_type == IterVar.DataPar]
    old = dict(zip(spatial, padding.back.map_indices(list(names))))
    own = _AtNewIndices(old, padding.buffer, names)
    inside = substitute(padding.where, dict(zip(padding.indices, names)))
    pad = padding.value_at(names)

    def stored(body: Stmt) -> Stmt:
        return SeqStmt.flatten(
            [
                BufferStore(
                    padding.buffer,
                    if_then_else(inside, pad, own.visit_expr(part.value)),
                    names,
                    span=part.span,
                )
                for part in _stores(body)
            ]
        )

    init = None if node.init is None else stored(node.init)
    above = loops_above(writer)
    values: list[PrimExpr] = [var for var, _ in loops]
    realize = realize_of(state, writer)
    for iv, value in zip(node.iter_vars, realize.iter_values):
        if iv.iter_type == IterVar.CommReduce:
            iter_vars.append(iv)
            values.append(value)
    new = change_block(node, iter_vars=iter_vars, body=stored(node.body), init=init)
    body = nest(
        _joined(above, loops, set(values)),
        BlockRealize(values, TRUE, with_regions(new), node.span),
    )
    state.replace(above[0] if above else writer, body, {node: new})


def _joined(
    above: Sequence[StmtSRef], new: Sequence[tuple[Var, PrimExpr]], kept: set[PrimExpr]
) -> list[tuple[Var, PrimExpr]]:
    """The new loops in place of the first that is not kept, among those that are."""
    found: list[tuple[Var, PrimExpr]] = []
    pending = list(new)
    for sref in above:
        loop = sref.stmt
        assert isinstance(loop, For), "a loop"
        if loop.loop_var in kept:
            found.append((loop.loop_var, loop.extent))
        else:
            found += pending
            pending = []
    return [*found, *pending]


class _AtNewIndices(Substituter):
    """Replaces the variables; what a sum has so far stands at the new indices."""

    def __init__(
        self, values: Mapping[Var, PrimExpr], buffer: Buffer, indices: Sequence[PrimExpr]
    ) -> None:
        super().__init__(values)
        self._buffer, self._indices = buffer, indices

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is self._buffer:
            return BufferLoad(self._buffer, self._indices, op.predicate, op.span)
        return super().visit_buffer_load_(op)


def fill(state: SRefTree, site: StmtSRef, padding: Padding) -> None:
    """Store the value in the padding, after all that writes the buffer.

    for i, j in grid(4, 4): if i == 3 and j >= 2: B[i, j] = pad
    """
    writers = state.get_block_scope(site).buffer_writers.get(padding.buffer, [])
    loops, iter_vars = _new_loops(padding)
    names = [iv.var for iv in iter_vars]
    store = BufferStore(padding.buffer, padding.value_at(names), names)
    block = with_regions(Block(iter_vars, [], [], f"buffer_{padding.buffer.name}_padding", store))
    values = [var for var, _ in loops]
    inside = substitute(padding.where, dict(zip(padding.indices, values)))
    _insert(state, site, nest(loops, BlockRealize(values, inside, block)), writers)


def promise(state: SRefTree, site: StmtSRef, padding: Padding) -> None:
    """Tell the compiler what the caller has put in the padding of a parameter.

    for i, j in grid(4, 4): assume(not (i == 3 and j >= 2) or A[i, j] == pad)
    """
    loops, iter_vars = _new_loops(padding)
    names = [iv.var for iv in iter_vars]
    where = substitute(padding.where, dict(zip(padding.indices, names)))
    held = equal(BufferLoad(padding.buffer, names), padding.value_at(names))
    body = Evaluate(assume(logical_or(logical_not(where), held)))
    name = f"buffer_{padding.buffer.name}_assumptions"
    block = with_regions(Block(iter_vars, [], [], name, body))
    values = [var for var, _ in loops]
    _insert(state, site, nest(loops, BlockRealize(values, TRUE, block)), [])


def _new_loops(padding: Padding) -> tuple[list[tuple[Var, PrimExpr]], list[IterVar]]:
    """Loops over the new layout, and variables of a block in them."""
    loops: list[tuple[Var, PrimExpr]] = []
    iter_vars: list[IterVar] = []
    for index, extent in zip(padding.indices, padding.buffer.shape):
        dom = Range.from_min_extent(make_const(0, extent.dtype), extent)
        loops.append((Var(index.name, extent.dtype), extent))
        iter_vars.append(IterVar(dom, Var(f"v_{index.name}", extent.dtype), IterVar.DataPar))
    return loops, iter_vars


def _insert(state: SRefTree, site: StmtSRef, stmt: Stmt, after: Sequence[StmtSRef]) -> None:
    """Put a statement into a scope, after the last of some blocks or before everything."""
    scope = block_of(site)
    if not after:
        body: Stmt = SeqStmt.flatten(stmt, scope.body)
    else:
        top = sref_below(site, after[-1]).stmt
        assert top is not None, "below the site"
        old: Stmt = realize_of(state, after[-1]) if isinstance(top, Block) else top
        body = swap_stmt(scope.body, old, SeqStmt.flatten(old, stmt))
    new = change_block(scope, body=body)
    state.replace(site, new, {scope: new})
