"""What a block reads and writes, found from its body."""

from __future__ import annotations

from tvm.tir.analysis.block_access_region import get_block_accesses
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Var
from tvm.tir.functor import walk
from tvm.tir.stmt import Block, BufferRegion, BufferStore

from .rebuild import change_block


def access_regions(block: Block) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """The regions that the body and init of a block read and write."""
    buffers: dict[Var, Buffer] = {}
    for stmt in (block.init, block.body):
        for node in () if stmt is None else walk(stmt):
            if isinstance(node, (BufferLoad, BufferStore)):
                buffers.setdefault(node.buffer.data, node.buffer)
    for region in (*block.reads, *block.writes):
        buffers.setdefault(region.buffer.data, region.buffer)
    reads, writes, opaque = get_block_accesses(block, buffers)
    return [*reads, *opaque], [*writes, *opaque]


def with_regions(block: Block) -> Block:
    """The block with reads and writes as its body has them.

    A block with an init does not list what it only updates among its reads.
    """
    reads, writes = access_regions(block)
    if block.init is not None:
        written = {w.buffer for w in writes}
        reads = [r for r in reads if r.buffer not in written]
    return change_block(block, reads=reads, writes=writes)
