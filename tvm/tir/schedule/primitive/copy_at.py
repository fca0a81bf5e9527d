"""Copy the region that the iterations of a loop access, in one block that lowering may fill in.

Where a last region is smaller, a condition on the elements stands inside of the block.
"""

from __future__ import annotations

from tvm.ir.expr import Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import substitute, vars_in
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.query import (
    block_of,
    buffer_at,
    is_ancestor,
    loop_of,
    loops_above,
    realize_of,
)
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.cache_read import cache_read
from tvm.tir.schedule.primitive.cache_write import cache_write
from tvm.tir.schedule.primitive.compute_at import compute_at, reverse_compute_at
from tvm.tir.schedule.rebuild import change_block, nest
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, IfThenElse

READ_AT = kind("ReadAt", "read_at", "loop", "block", "=read_buffer_index", "=storage_scope")
WRITE_AT = kind("WriteAt", "write_at", "loop", "block", "=write_buffer_index", "=storage_scope")
KEY = "auto_copy"


def read_at(
    state: SRefTree, loop: StmtSRef, block: StmtSRef, read_buffer_index: int, storage_scope: str
) -> StmtSRef:
    """Copy what the blocks in the loop read of a buffer, at the beginning of each iteration.

    for io: for ii: S(A[io * 4 + ii])
    ->
    for io:
        block "A_shared" (auto_copy): for ax: A_shared[io * 4 + ax] = A[io * 4 + ax]
        for ii: S(A_shared[io * 4 + ii])
    """
    buffer = buffer_at(block_of(block), read_buffer_index, written=False)
    _require_around(loop, block)
    readers = [
        child
        for child in state.child_blocks(loop)
        if any(r.buffer is buffer for r in block_of(child).reads)
    ]
    copy = cache_read(state, block, read_buffer_index, storage_scope, readers)
    compute_at(state, copy, loop, True, -1)
    return _as_one_copy(state, copy, loop)


def write_at(
    state: SRefTree, loop: StmtSRef, block: StmtSRef, write_buffer_index: int, storage_scope: str
) -> StmtSRef:
    """Let the block write other memory, and copy the region at the end of each iteration.

    for io: for ii: B[io * 4 + ii] = S
    ->
    for io:
        for ii: B_shared[io * 4 + ii] = S
        block "B_shared" (auto_copy): for ax: B[io * 4 + ax] = B_shared[io * 4 + ax]
    """
    buffer_at(block_of(block), write_buffer_index, written=True)
    _require_around(loop, block)
    copy = cache_write(state, block, write_buffer_index, storage_scope, [])
    reverse_compute_at(state, copy, loop, True, -1, tile=True)
    return _as_one_copy(state, copy, loop)


def _require_around(loop: StmtSRef, block: StmtSRef) -> None:
    if not is_ancestor(loop, block):
        raise Illegal(
            f"{name_of(loop.stmt)} is not around {name_of(block.stmt)}",
            legal="one of the loops that get_loops of the block gives",
            spots=[loop.stmt, block.stmt],
            fast="The loop is not an ancestor of the block",
        )


def _as_one_copy(state: SRefTree, copy: StmtSRef, loop: StmtSRef) -> StmtSRef:
    """Make one annotated block of the loops of a copy, with a variable for each loop around it
    that tells where the region begins."""
    realize, old = realize_of(state, copy), block_of(copy)
    above = loops_above(copy)
    inner = [loop_of(sref) for sref in above[above.index(loop) + 1 :]]
    annotations = {**old.annotations, KEY: True}
    if not inner:  # a buffer without dimensions
        new = change_block(old, annotations=annotations)
        state.replace(copy, new, {old: new})
        return state.get_sref(new)
    still = {f.loop_var: f.min for f in inner}
    analyzer = analyzer_at(copy)
    starts = [analyzer.simplify(substitute(value, still)) for value in realize.iter_values]
    ranges = {f.loop_var: Range.from_min_extent(f.min, f.extent) for f in map(loop_of, above)}
    told = [var for var in dict.fromkeys(vars_in(*starts)) if var in ranges]
    own = {var: Var(f"v{i}", var.dtype) for i, var in enumerate(told)}
    iter_vars = [IterVar(ranges[var], own[var], IterVar.DataPar) for var in told]
    at = {iv.var: start for iv, start in zip(old.iter_vars, substitute(starts, own))}
    box = {iv.var: f.extent for iv, f in zip(old.iter_vars, inner)}
    body = substitute(old.body, {v: at[v] + f.loop_var for v, f in zip(at, inner)})
    if not is_one(realize.predicate):
        body = IfThenElse(substitute(realize.predicate, own), body, None, realize.span)
    body = nest([(f.loop_var, f.extent) for f in inner], body)

    def whole(region: BufferRegion) -> BufferRegion:
        """What the copy touches of a buffer, of which each index is one variable and a shift."""
        parts = []
        for part in region.region:
            (var,) = [n for n in vars_in(part.min) if n in at]
            parts.append(Range.from_min_extent(substitute(part.min, at), box[var]))
        return BufferRegion(region.buffer, parts)

    new = Block(
        iter_vars, [whole(r) for r in old.reads], [whole(w) for w in old.writes], old.name_hint,
        body, annotations=annotations, span=old.span,
    )  # fmt: skip
    outermost = above[above.index(loop) + 1]
    state.replace(outermost, BlockRealize(told, TRUE, new, realize.span), {old: new})
    return state.get_sref(new)
