"""Fill in what each block reads and writes."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import Range
from tvm.tir.analysis.block_access_region import get_block_accesses
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm
from tvm.tir.functor import StmtExprMutator, statements, walk
from tvm.tir.stmt import Block, BufferRegion, BufferStore, Stmt


def with_access_regions(body: Stmt, buffers: Sequence[Buffer]) -> Stmt:
    """The body with the reads and writes of all blocks but the outermost, which has none."""
    return _FillRegions(buffers).visit_stmt(body)


def extern_regions(
    body: Stmt, inputs: Sequence[Buffer], outputs: Sequence[Buffer]
) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """What a stage written by hand reads and writes, in the order of first use.

    Where it passes data on to others, these may do anything with the whole of its buffers.
    """
    buffers = list(dict.fromkeys((*inputs, *outputs)))
    known = {buffer.data: buffer for buffer in buffers}
    changing = {n.buffer for n in statements(body, BufferStore)}
    reads, writes, opaque = get_block_accesses(Block([], [], [], "", body), known, changing)
    if opaque:
        loaded = {n.buffer for n in walk(body) if isinstance(n, BufferLoad)}
        whole = [*inputs, *(one for one in outputs if one in loaded)]
        return [BufferRegion.full_region(b) for b in whole], [
            BufferRegion.full_region(b) for b in outputs
        ]
    return (
        [_constant_bounds(one, changing) for one in reads if one.buffer in buffers],
        [_constant_bounds(one, changing) for one in writes if one.buffer in buffers],
    )


def _constant_bounds(region: BufferRegion, changing: set[Buffer]) -> BufferRegion:
    """The region; the buffer's width where the stage writes its elements, and where it is wider."""
    whole = BufferRegion.full_region(region.buffer).region

    def moves(one: Range) -> bool:
        loads = (n for part in (one.min, one.extent) for n in walk(part))
        return any(isinstance(n, BufferLoad) and n.buffer in changing for n in loads)

    ranges = [
        full if moves(one) or _is_wider(one, full) else one
        for one, full in zip(region.region, whole)
    ]
    return BufferRegion(region.buffer, ranges)


def _is_wider(one: Range, full: Range) -> bool:
    """Threads that a condition keeps idle count in what is found."""
    ends = (one.min, one.extent, full.extent)
    if not all(isinstance(end, IntImm) for end in ends):
        return False
    low, extent, width = (int(str(end.value)) for end in ends if isinstance(end, IntImm))
    return low < 0 or low + extent > width


def _is_root_of_another(block: Block) -> bool:
    """The outermost block of a function that stands here as a stage."""
    return block.name_hint == "root" and not block.iter_vars


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
        if is_root or block.reads or block.writes or _is_root_of_another(block):
            return block
        reads, writes, opaque = get_block_accesses(block, self.known)
        return Block(
            block.iter_vars, (*reads, *opaque), (*writes, *opaque), block.name_hint, block.body,
            block.init, block.alloc_buffers, block.match_buffers, block.annotations, block.span,
        )  # fmt: skip
