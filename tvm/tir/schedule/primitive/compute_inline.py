"""Compute a value where it is used, instead of storing it."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import IterMapLevel, detect_iter_map
from tvm.arith.iter_affine_map import inverse_if_any
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, Var
from tvm.tir.functor import substitute, uses_any, vars_in
from tvm.tir.op.arith import cast, is_one, is_zero
from tvm.tir.schedule.analysis.blocks import require_complete
from tvm.tir.schedule.analysis.flags import pipeline_scope
from tvm.tir.schedule.analysis.query import block_of, is_output_block, require_allocated
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.leaves import remove_leaf
from tvm.tir.schedule.rebuild import TrackingMutator, change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BufferStore, MatchBufferRegion, Stmt

KIND = kind("ComputeInline", "compute_inline", "block")


def compute_inline(state: SRefTree, block: StmtSRef) -> None:
    """Replace each read of the block's buffer by its expression, and drop the block.

    for i: B[i] = f(A[i])
    for i: C[i] = g(B[i])      ->      for i: C[i] = g(f(A[i]))
    """
    scope, new, reuse = _inlined(state, block)
    state.replace(scope, new, reuse)


def can_compute_inline(state: SRefTree, block: StmtSRef) -> bool:
    """True if `compute_inline` would be legal."""
    try:
        _inlined(state, block)
    except Illegal:
        return False
    return True


def _inlined(state: SRefTree, block: StmtSRef) -> tuple[StmtSRef, Block, dict[Block, Block]]:
    """The scope, as it is without the block, and what became of its other blocks."""
    node = block_of(block)
    scope = pipeline_scope(state, block)
    buffer = require_single_buffer(node)
    require_complete(state, block)
    if is_output_block(block, scope):
        raise Illegal(
            f"block {node.name_hint!r} writes {buffer.name!r}, an output of its scope",
            legal="a block whose buffer the scope allocates and nobody else sees",
            spots=[node],
            fast="Cannot compute_inline an output block",
        )
    require_allocated(state, block, buffer)
    store = require_store(node)
    rule = _Inliner(buffer, *variables_at(node, store), store.value)
    smaller = remove_leaf(state, block)
    new = rule.inline_into(smaller, drop=buffer)
    return scope, new, {**rule.reuse, block_of(scope): new}


def require_single_buffer(block: Block) -> Buffer:
    """The one buffer that a block writes; refused if it writes several."""
    buffers = list(dict.fromkeys([w.buffer for w in block.writes]))
    if len(buffers) == 1:
        return buffers[0]
    raise Illegal(
        f"block {block.name_hint!r} writes {len(buffers)} buffers",
        legal="a block that writes one buffer",
        spots=[block],
        fast="The block has multiple write buffers or none",
    )


def require_store(block: Block) -> BufferStore:
    """The one statement of a block; refused if it is no plain store."""
    if isinstance(block.body, BufferStore) and block.init is None:
        return block.body
    raise Illegal(
        f"the body of block {block.name_hint!r} is not one store",
        legal="a block whose body is `B[i, j, ...] = expression`",
        spots=[block],
        fast="The body of the block cannot be inlined: it is not a single BufferStore",
    )


def variables_at(block: Block, store: BufferStore) -> tuple[list[Var], dict[Var, PrimExpr]]:
    """Names for the indices of an element, and the block's variables in terms of those.

    The store's indices are different variables, or an affine map that tells each of them. A
    dimension of one element at literal 0 stands for the variable of one value instead.

    Raises
    ------
    Illegal
        if the index does not tell all variables that the value uses.
    """
    names = [Var(f"i{dim}", index.dtype) for dim, index in enumerate(store.indices)]
    domains = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    found: dict[Var, PrimExpr] = {}
    plain = True
    for dim, index in enumerate(store.indices):
        if isinstance(index, Var) and index in domains and index not in found:
            found[index] = names[dim]
        elif not (isinstance(index, IntImm) and is_one(store.buffer.shape[dim])):
            plain = False
        elif is_zero(index) and len(names) == len(block.iter_vars):
            unit, dom = block.iter_vars[dim].var, block.iter_vars[dim].dom
            if dom is not None and is_zero(dom.min) and is_one(dom.extent):
                found.setdefault(unit, names[dim])
    used = {node for node in vars_in(store.value) if node in domains}
    if plain and used <= set(found):
        return names, found
    solved = _solved(names, store.indices, domains)
    if solved is not None and used <= set(solved):
        return names, solved
    raise Illegal(
        f"block {block.name_hint!r} writes {store.buffer.name!r} at "
        f"({', '.join([str(i) for i in store.indices])})",
        legal="a store whose indices are different block variables, or an affine map that tells "
        "all variables that its value uses",
        spots=[block],
        fast="The body of the block cannot be inlined: its indices are not distinct variables",
    )


def _solved(
    names: list[Var], indices: Sequence[PrimExpr], domains: dict[Var, Range]
) -> dict[Var, PrimExpr] | None:
    """The variables from the values of the indices; None unless the map has an inverse."""
    fixed = {var: dom.min for var, dom in domains.items() if is_one(dom.extent)}
    moving = {var: dom for var, dom in domains.items() if var not in fixed}
    moved = [(substitute(i, fixed), name) for i, name in zip(indices, names)]
    moved = [(i, name) for i, name in moved if uses_any(i, moving)]
    maps = detect_iter_map(
        [i for i, _ in moved], moving, True, IterMapLevel.Bijective, allow_padding=False
    ).indices
    if not maps:
        return None
    back = inverse_if_any(maps, [name for _, name in moved])
    if back is None or any(var not in back for var in moving):
        return None
    return {**fixed, **back}


class _Inliner(TrackingMutator):
    """Replaces reads of a buffer by the expression that made it."""

    def __init__(
        self, buffer: Buffer, names: list[Var], values: dict[Var, PrimExpr], value: PrimExpr
    ) -> None:
        super().__init__()
        self._buffer, self._names, self._values, self._value = buffer, names, values, value

    def inline_into(self, scope: Block, drop: Buffer) -> Block:
        """The scope with all reads replaced and the buffer's allocation gone."""
        new = self.visit_stmt(scope.body)
        allocs = [b for b in scope.alloc_buffers if b is not drop]
        return change_block(scope, body=new, alloc_buffers=allocs)

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._buffer:
            return super().visit_buffer_load_(op)
        # buffers of one size may be indexed in one integer type here, in another there
        by_name = {
            name: cast(index, name.dtype)
            for name, index in zip(self._names, self.visit_exprs(op.indices))
        }
        at = {
            var: cast(substitute(of_index, by_name), var.dtype)
            for var, of_index in self._values.items()
        }
        return substitute(self._value, at)

    def visit_var_(self, op: Var) -> PrimExpr:
        if op is self._buffer.data:
            raise Illegal(
                f"the memory of {self._buffer.name!r} is used in other ways than by loads",
                legal="consumers that read single elements of the buffer",
                fast="The buffer to be inlined has opaque access",
            )
        return op

    def visit_block_(self, op: Block) -> Stmt:
        for match in op.match_buffers:
            self._refuse_match(match, op)
        # not by what the block lists: an index that is read (`cache_index`) is in no list
        body = self.visit_stmt(op.body)
        init = None if op.init is None else self.visit_stmt(op.init)
        if body is op.body and init is op.init:
            return op
        new = with_regions(change_block(op, body=body, init=init))
        self.track(op, new)
        return new

    def _refuse_match(self, match: MatchBufferRegion, block: Block) -> None:
        if match.source.buffer is self._buffer:
            raise Illegal(
                f"block {block.name_hint!r} matches a buffer to a region of "
                f"{self._buffer.name!r}",
                legal="consumers that read single elements of the buffer",
                spots=[block],
                fast="The buffer to be inlined has opaque access",
            )
