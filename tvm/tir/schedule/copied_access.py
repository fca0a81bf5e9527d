"""A block's one access of a buffer, through a copy that is made elsewhere in the scope."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.analysis.deep_equal import region_deep_equal
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IterVar, Select, Var, is_call_of
from tvm.tir.functor import statements, substitute, vars_in, walk
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.analysis.query import (
    block_of,
    buffer_at,
    path_between,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.cached_region import fills_box, reached
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.rebuild import TrackingMutator, nest
from tvm.tir.schedule.scopes import (
    TRUE,
    ScopeEdit,
    add_before_readers,
    closest_ancestor,
    edit_scope,
    require_apart,
    require_own_indices,
    require_single_writer,
    sref_below,
)
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.schedule.write_back import WriteBack
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    Stmt,
    While,
)


class CopiedAccess:
    """The indices at which `block` reads, or writes, its buffer number `index`.

    Raises
    ------
    Illegal
        if the block accesses the buffer at several indices, or another block writes it in between.
    """

    def __init__(
        self, state: SRefTree, block: StmtSRef, index: int, written: bool, *, cached: bool = False
    ) -> None:
        self._state, self._block, self._written = state, block, written
        self._cached = cached
        self.node = block_of(block)
        self.buffer = buffer_at(self.node, index, written=written)
        self._scope = scope_of(block)
        self._writer = require_single_writer(state, self._scope, self.buffer, self.node)
        if not cached:
            require_apart(state, self._scope, block, self.buffer)
        if written:
            require_own_start(self.node, self.buffer)
        else:
            _require_only_read(self.node, self.buffer)
        self.indices = _only_indices(self.node, self.buffer)
        writers = state.get_block_scope(self._scope).buffer_writers
        looked_up = [region.buffer for region in _looked_up(self.indices)]
        for buffer in looked_up:
            require_apart(state, self._scope, block, buffer)
        self._waits = any(buffer in writers for buffer in looked_up)  # for its own indices
        guarded = not is_one(realize_of(state, block).predicate) or _has_condition(self.node)
        require_own_indices(
            self.node, self.buffer, self.indices, guarded=guarded and not written
        )

    def through(
        self, copy: Buffer, axes: Sequence[IterVar], near: Sequence[PrimExpr]
    ) -> StmtSRef:
        """Let the block access `copy[near]`; gives the new block that copies over the `axes`.

        With `cached` the copy stands where that of cache_read or cache_write would, in loops like
        the block's, else right beside the block's own loops, in loops over its domain.
        """
        if self._written:
            self._require_all(axes)
        new = _Redirect(self.buffer, copy, near).visit_stmt(self.node)
        assert isinstance(new, Block), "a block stays a block"
        edit = ScopeEdit({self.node: new})
        first: list[Stmt] = []
        last: list[Stmt] = []
        if not self._cached:
            loops, made = self._copying(copy, axes, near)
            edit.add_beside(sref_below(self._scope, self._block), loops, behind=self._written)
        elif self._written:
            back = WriteBack(self._state, self._scope, self._block, self.buffer)
            if back.behind:
                raise Illegal(
                    f"block {self.node.name_hint!r} writes {self.buffer.name!r} in a loop whose "
                    "next round reads it, so that only part of it is there at a time",
                    legal="blocks in loop nests of their own (before compute_at)",
                    spots=[self.node],
                    fast="The buffer is updated in a loop",
                )
            loops, made = self._copying_likewise(copy, axes, near, back.ancestor)
            last = back.add(edit, loops)
        elif self._writer is None:
            loops, made = self._copying_likewise(copy, axes, near, self._scope)
            if self._waits:
                edit.add_beside(sref_below(self._scope, self._block), loops)
            else:
                first = [loops]
        else:
            place = closest_ancestor(self._writer, [self._block], self._scope)
            loops, made = self._copying_likewise(copy, axes, near, place)
            add_before_readers(edit, self._writer, [self._block], self._scope, loops)
        edit_scope(self._state, self._scope, edit, first=first, last=last, allocate=[copy])
        return self._state.get_sref(made)

    def _require_all(self, axes: Sequence[IterVar]) -> None:
        """Refuse where the block runs for some of the axes' values, and the buffer holds others.

        What the copy lacks would be written back, too.
        """
        if any(self.buffer is buffer for buffer in block_of(self._scope).alloc_buffers):
            return
        filled = fills_box(self._state, self._scope, self._block, axes)
        if filled is None:
            raise Illegal(
                f"block {self.node.name_hint!r} writes only some of the elements of "
                f"{self.buffer.name!r} that are written back",
                legal="a block that runs for a whole box of its variables' values",
                spots=[self.node],
                fast="The block leaves out elements of the region",
            )

    def _copying(
        self, copy: Buffer, axes: Sequence[IterVar], near: Sequence[PrimExpr]
    ) -> tuple[Stmt, Block]:
        iter_vars: list[IterVar] = []
        loops: list[tuple[Var, PrimExpr]] = []
        values: list[PrimExpr] = []
        renamed: dict[Var, PrimExpr] = {}
        for i, (iv, part) in enumerate(zip(axes, self._parts(axes))):
            assert iv.dom is not None, "block variables have domains"
            loop, var = Var(f"ax{i}", iv.var.dtype), Var(f"v{i}", iv.var.dtype)
            loops.append((loop, part.extent))
            values.append(iv.dom.min + part.min + loop)
            renamed[iv.var] = var
            iter_vars.append(IterVar(Range.from_min_extent(iv.dom.min, iv.dom.extent), var, 0))
        block = self._copying_block(copy, near, iter_vars, renamed)
        return nest(loops, BlockRealize(values, TRUE, block)), block

    def _copying_likewise(
        self, copy: Buffer, axes: Sequence[IterVar], near: Sequence[PrimExpr], place: StmtSRef
    ) -> tuple[Stmt, Block]:
        """The copy in loops like those of the block below `place` that lead to the axes."""
        realize = realize_of(self._state, self._block)
        values = dict(zip(self.node.iter_vars, realize.iter_values))
        needed = set(vars_in(realize.predicate, *(values[iv] for iv in axes)))
        around = [sref.stmt for sref in path_between(place, self._block)]
        bounds: list[For] = []
        for loop in reversed(around):
            if isinstance(loop, For) and loop.loop_var in needed:
                bounds.insert(0, loop)
                needed.update(vars_in(loop.min, loop.extent))
        new_loops = {loop.loop_var: Var(loop.loop_var.name, loop.loop_var.dtype) for loop in bounds}
        names = [Var(iv.var.name, iv.var.dtype) for iv in axes]
        renamed: dict[Var, PrimExpr] = {iv.var: name for iv, name in zip(axes, names)}
        iter_vars = [IterVar(iv.dom, name, IterVar.DataPar) for iv, name in zip(axes, names)]
        block = self._copying_block(copy, near, iter_vars, renamed)
        body: Stmt = BlockRealize(
            substitute([values[iv] for iv in axes], new_loops),
            substitute(realize.predicate, new_loops),
            block,
        )
        for loop in reversed(bounds):
            low, extent = substitute([loop.min, loop.extent], new_loops)
            body = For(new_loops[loop.loop_var], low, extent, ForKind.SERIAL, body)
        return body, block

    def _copying_block(
        self,
        copy: Buffer,
        near: Sequence[PrimExpr],
        iter_vars: list[IterVar],
        renamed: dict[Var, PrimExpr],
    ) -> Block:
        original = self.buffer, substitute(list(self.indices), renamed)
        copied = copy, substitute(list(near), renamed)
        (source, at), (target, to) = (copied, original) if self._written else (original, copied)
        return Block(
            iter_vars,
            [BufferRegion.from_point(source, at), *_looked_up((*at, *to))],
            [BufferRegion.from_point(target, to)],
            copy.name if self._cached else f"{target.name}_reindex",
            BufferStore(target, BufferLoad(source, at), to),
        )

    def _parts(self, axes: Sequence[IterVar]) -> list[Range]:
        """What is copied of each variable's domain: of what is written, what the block reaches.

        All else holds nothing in the copy, and something in the buffer.
        """
        doms = [iv.dom for iv in axes if iv.dom is not None]
        if not self._written:
            return [Range.from_min_extent(dom.extent * 0, dom.extent) for dom in doms]
        realize = realize_of(self._state, self._block)
        values = {iv.var: v for iv, v in zip(self.node.iter_vars, realize.iter_values)}
        region = [
            Range.from_min_extent(values[iv.var] - dom.min, 1) for iv, dom in zip(axes, doms)
        ]
        shape = [dom.extent for dom in doms]
        return reached(self._state, self._block, region, shape, self._scope)


def _looked_up(indices: Sequence[PrimExpr]) -> list[BufferRegion]:
    """What the indices themselves read, each once."""
    loads = [n for index in indices for n in walk(index) if isinstance(n, BufferLoad)]
    regions = [BufferRegion.from_point(load.buffer, load.indices) for load in loads]
    return [
        region
        for i, region in enumerate(regions)
        if not any(region_deep_equal(region, earlier) for earlier in regions[:i])
    ]


def _only_indices(node: Block, buffer: Buffer) -> tuple[PrimExpr, ...]:
    """The indices of all accesses of a buffer; refused if they differ."""
    found = [
        n.indices
        for s in (node.body, node.init)
        for n in (() if s is None else walk(s))
        if isinstance(n, (BufferLoad, BufferStore)) and n.buffer is buffer
    ]
    analyzer = Analyzer()
    first = found[0] if found else None
    alike = first is not None and all(
        all(a is b or analyzer.can_prove_equal(a, b) for a, b in zip(first, other))
        for other in found[1:]
    )
    if first is None or not alike:
        raise Illegal(
            f"block {node.name_hint!r} accesses {buffer.name!r} at several indices",
            legal="a buffer that the block accesses at one index",
            spots=[node],
            fast="The buffer is accessed with multiple different indices",
        )
    return first


class _Redirect(TrackingMutator):
    """Accesses the new buffer at the new indices."""

    def __init__(self, old: Buffer, new: Buffer, indices: Sequence[PrimExpr]) -> None:
        super().__init__()
        self._old, self._new, self._indices = old, new, list(indices)

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._old:
            return super().visit_buffer_load_(op)
        return BufferLoad(self._new, self._indices, op.predicate, op.span)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        if op.buffer is not self._old:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        return BufferStore(self._new, value, self._indices, op.predicate, op.span)

    def visit_region(self, region: BufferRegion) -> BufferRegion:
        if region.buffer is not self._old:
            return super().visit_region(region)
        return BufferRegion.from_point(self._new, self._indices)


def _has_condition(node: Block) -> bool:
    """Whether something in the block may keep it from an access."""
    return any(
        isinstance(part, (IfThenElse, While, Select)) or is_call_of(part, "tir.if_then_else")
        for part in walk(node)
    )


def _require_only_read(node: Block, buffer: Buffer) -> None:
    """Refuse a block that writes what it reads: its result would stay in the copy."""
    if any(region.buffer is buffer for region in node.writes):
        raise Illegal(
            f"block {node.name_hint!r} writes {buffer.name!r} as well",
            legal="a buffer that the block only reads (cache_inplace copies one in and out)",
            spots=[node],
            fast="The block updates the buffer in place",
        )


def require_own_start(node: Block, buffer: Buffer) -> None:
    """Refuse a block that goes on from what the buffer held before: the copy would not have it.

    A block around others begins with the first of those that use the buffer.
    """
    if node.init is not None:
        return
    for part in list(statements(node.body, Block)):
        if any(r.buffer is buffer for r in (*part.reads, *part.writes)):
            node = part
            break
    if node.init is None and any(
        isinstance(part, BufferLoad) and part.buffer is buffer for part in walk(node.body)
    ):
        raise Illegal(
            f"block {node.name_hint!r} updates {buffer.name!r} and has no init, so it starts from "
            "what was there before",
            legal="a block that writes without reading, or has an init (cache_inplace copies the "
            "buffer in and out)",
            spots=[node],
            fast="The block updates the buffer in place",
        )
