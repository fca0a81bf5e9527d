"""The blocks that use a block's results."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import consumers_of, scope_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("GetConsumers", "get_consumers", "block", pure=True, many=True)


def get_consumers(state: SRefTree, block: StmtSRef) -> list[StmtSRef]:
    """The blocks of the same scope that depend on `block`."""
    return consumers_of(block, state.get_block_scope(scope_of(block)))
