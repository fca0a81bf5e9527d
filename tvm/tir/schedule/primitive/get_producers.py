"""The blocks whose results a block uses."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import producers_of, scope_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("GetProducers", "get_producers", "block", pure=True, many=True)


def get_producers(state: SRefTree, block: StmtSRef) -> list[StmtSRef]:
    """The blocks of the same scope that `block` depends on."""
    return producers_of(block, state.get_block_scope(scope_of(block)))
