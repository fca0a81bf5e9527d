"""The blocks that write what a scope gives out."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import is_output_block
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("GetOutputBlocks", "get_output_blocks", "scope_block", pure=True, many=True)


def get_output_blocks(state: SRefTree, scope_block: StmtSRef) -> list[StmtSRef]:
    """The blocks of a scope that write buffers which the scope does not allocate."""
    return [b for b in state.child_blocks(scope_block) if is_output_block(b, scope_block)]
