"""The blocks that write what a scope gives out."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import block_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("GetOutputBlocks", "get_output_blocks", "scope_block", pure=True, many=True)


def get_output_blocks(state: SRefTree, scope_block: StmtSRef) -> list[StmtSRef]:
    """The blocks in a scope that write buffers which nothing in it allocates, outer ones first."""
    found: list[StmtSRef] = []
    inside: set[Buffer] = set()
    stack = [scope_block]
    while stack:
        sref = stack.pop()
        node = block_of(sref)
        if sref is not scope_block and any(w.buffer not in inside for w in node.writes):
            found.append(sref)
        inside.update(node.alloc_buffers)
        stack.extend(reversed(state.child_blocks(sref)))
    return found
