"""Questions that users ask through a schedule."""

from __future__ import annotations

from tvm.tir.schedule.random_variable import BlockRV
from tvm.tir.schedule.schedule import Schedule
from tvm.tir.schedule.tree import inner_stmts
from tvm.tir.stmt import Block

from .query import is_output_block as _is_output
from .query import scope_of


def has_block(sch: Schedule, block_name: str) -> bool:
    """True if a function of the schedule has a block of this name."""
    for _, root in sch.state.roots():
        assert root.stmt is not None, "a function has a root block"
        stack = [root.stmt]
        while stack:
            stmt = stack.pop()
            if isinstance(stmt, Block) and stmt.name_hint == block_name:
                return True
            stack.extend([inner for inner, _ in inner_stmts(stmt)])
    return False


def is_output_block(sch: Schedule, block: BlockRV) -> bool:
    """True if the block writes something that outlives its scope."""
    sref = sch.get_sref(block)
    return _is_output(sref, scope_of(sref))
