"""The loops around a block."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import loops_above
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("GetLoops", "get_loops", "block", pure=True, many=True)


def get_loops(state: SRefTree, block: StmtSRef) -> list[StmtSRef]:
    """The loops around a block within its scope, outermost first."""
    return loops_above(block)
