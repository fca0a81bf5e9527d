"""Copy the region that the iterations of a loop access, in one block that lowering may fill in.

The regions of different iterations have to be tiles of one size: regions that overlap, or a last
one that is smaller, are refused (cache_read with compute_at copies those).
"""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm
from tvm.tir.functor import StmtExprMutator, substitute
from tvm.tir.op.arith import is_one
from tvm.tir.schedule.analysis.query import block_of, buffer_at, is_ancestor, loops_above
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.blockize import blockize
from tvm.tir.schedule.primitive.cache_read import cache_read
from tvm.tir.schedule.primitive.cache_write import cache_write
from tvm.tir.schedule.primitive.compute_at import compute_at, reverse_compute_at
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import BlockRealize, IfThenElse, Stmt

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
    compute_at(state, copy, loop, False, -1)
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
    reverse_compute_at(state, copy, loop, False, -1, tile=True)
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
    """Make one annotated block of the loops of a copy."""
    name = block_of(copy).name_hint
    loops = loops_above(copy)
    inner = loops[loops.index(loop) + 1 :]
    whole = blockize(state, inner[0], True) if inner else copy  # a single element has no loops
    old = block_of(whole)
    annotations = {**old.annotations, KEY: IntImm("bool", 1)}
    body = _Open().visit_stmt(old.body)
    new = change_block(old, name_hint=name, body=body, annotations=annotations)
    state.replace(whole, new, {old: new})
    return state.get_sref(new)


class _Open(StmtExprMutator):
    """Replaces a block by its body."""

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        values = {iv.var: v for iv, v in zip(op.block.iter_vars, op.iter_values)}
        body = substitute(op.block.body, values)
        return body if is_one(op.predicate) else IfThenElse(op.predicate, body, None, op.span)
