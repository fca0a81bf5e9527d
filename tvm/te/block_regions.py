"""Fill in what each block reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.analysis.block_access_region import get_block_accesses
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprMutator
from tvm.tir.stmt import Block, Stmt


def with_access_regions(body: Stmt, buffers: Sequence[Buffer]) -> Stmt:
    """The body with the reads and writes of all blocks but the outermost, which has none."""
    return _FillRegions(buffers).visit_stmt(body)


class _FillRegions(StmtExprMutator):
    def __init__(self, buffers: Sequence[Buffer]) -> None:
        super().__init__()
        self.known = {buffer.data: buffer for buffer in buffers}
        self.at_root = True

    def visit_block_(self, op: Block) -> Stmt:
        is_root, self.at_root = self.at_root, False
        self.known.update({buffer.data: buffer for buffer in op.alloc_buffers})
        self.known.update({match.buffer.data: match.buffer for match in op.match_buffers})
        block = super().visit_block_(op)
        assert isinstance(block, Block), "nothing here replaces a block"
        if is_root or block.reads or block.writes:
            return block
        reads, writes, opaque = get_block_accesses(block, self.known)
        return Block(
            block.iter_vars, (*reads, *opaque), (*writes, *opaque), block.name_hint, block.body,
            block.init, block.alloc_buffers, block.match_buffers, block.annotations, block.span,
        )  # fmt: skip
