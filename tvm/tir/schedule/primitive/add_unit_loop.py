"""Put a loop of one iteration around a block or loop."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import Var
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.schedule.error import Illegal, ScheduleValueError
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, For, ForKind

KIND = kind("AddUnitLoop", "add_unit_loop", "block_or_loop")


def add_unit_loop(state: SRefTree, block_or_loop: StmtSRef) -> StmtSRef:
    """Add the loop.

    S  ->  for u in range(1): S
    """
    stmt = block_or_loop.stmt
    if isinstance(stmt, For):
        loop = For(Var("u", "int32"), 0, 1, ForKind.SERIAL, stmt, span=stmt.span)
        state.replace(block_or_loop, loop)
        return state.get_sref(loop)
    assert isinstance(stmt, Block), "an sref is that of a block or loop"
    if block_or_loop.parent is None:
        raise Illegal(
            f"block {stmt.name_hint!r} is the root of its function",
            legal="a block within the root block",
            spots=[stmt],
            error=ScheduleValueError,
        )
    realize = realize_of(state, block_or_loop)
    loop = For(Var("u", "int32"), 0, 1, ForKind.SERIAL, realize, span=stmt.span)
    state.replace(block_or_loop, loop)
    return state.get_sref(loop)
