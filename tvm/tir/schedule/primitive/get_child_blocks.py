"""The blocks within a block or loop."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("GetChildBlocks", "get_child_blocks", "^block_or_loop", pure=True, many=True)


def get_child_blocks(state: SRefTree, block_or_loop: StmtSRef) -> list[StmtSRef]:
    """The blocks directly below, in order; not those within other blocks."""
    return state.child_blocks(block_or_loop)
