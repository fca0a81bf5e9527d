"""Values that are cheap to compute are computed where they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tvm.ir.op import Op
from tvm.meta_schedule.structure import INLINE_RULE, TENSORIZE, in_spatial_func, index_order
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import Select, is_call_of, op_name
from tvm.tir.functor import walk
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.blocks import is_complete
from tvm.tir.schedule.analysis.query import (
    block_of,
    consumers_of,
    is_output_block,
    producers_of,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.primitive.compute_inline import can_compute_inline
from tvm.tir.schedule.primitive.reverse_compute_inline import can_reverse_compute_inline
from tvm.tir.stmt import Block, BlockRealize, IfThenElse

from .schedule_rule import ScheduleRule


class AutoInline(ScheduleRule):
    """Inlines a block into its consumers or its producer, if the conditions hold.

    `inline_const_tensor`: blocks that read nothing; `disallow_if_then_else`: none with branches;
    `require_injective`, `require_ordered`: what is read follows the order of what is written;
    `disallow_op`: none with these operators. Where no block of a function reduces, the last four
    are not asked for.
    """

    def __init__(
        self,
        into_producer: bool,
        into_consumer: bool,
        inline_const_tensor: bool,
        disallow_if_then_else: bool,
        require_injective: bool,
        require_ordered: bool,
        disallow_op: Sequence[str | Op] | None = None,
    ) -> None:
        self.into_producer = into_producer
        self.into_consumer = into_consumer
        self.inline_const_tensor = inline_const_tensor
        self.disallow_if_then_else = disallow_if_then_else
        self.require_injective = require_injective
        self.require_ordered = require_ordered
        self.disallow_op = [op if isinstance(op, str) else op.name for op in disallow_op or ()]

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with the block inlined if that is allowed."""
        where = self._where(sch, block)
        if where == "consumer":
            sch.compute_inline(block)
        elif where == "producer":
            sch.reverse_compute_inline(block)
        return [sch]

    def _where(self, sch: Schedule, block: BlockRV) -> Literal["consumer", "producer"] | None:
        sref = sch.get_sref(block)
        node = block_of(sref)
        if sref.parent is None or len(node.writes) != 1:
            return None
        if self.inline_const_tensor and not node.reads and _can_go_down(sch, sref):
            return "consumer"
        if not in_spatial_func(sch, block) and not self._is_cheap(sch, sref):
            return None
        if str(node.annotations.get(INLINE_RULE, "")) == "disable":
            return None
        if self.into_consumer and _can_go_down(sch, sref):
            return "consumer"
        if self.into_producer and _can_go_up(sch, sref):
            return "producer"
        return None

    def _is_cheap(self, sch: Schedule, sref: StmtSRef) -> bool:
        realize = realize_of(sch.state, sref)
        if self.disallow_op and _calls(realize, self.disallow_op):
            return False
        if self.disallow_if_then_else and _branches(realize):
            return False
        node = realize.block
        orders = [index_order(region, node.writes[0]) for region in node.reads]
        if self.require_injective and not all(o is not None and o.injective for o in orders):
            return False
        return not self.require_ordered or all(o is not None and o.ordered for o in orders)


class InlineConstantScalars(ScheduleRule):
    """Inlines blocks that write a scalar and read nothing, as frontends make of literals."""

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with the block inlined if it is such a scalar."""
        node: Block = sch.get(block)
        if not node.reads and len(node.writes) == 1 and not node.writes[0].buffer.shape:
            sref = sch.get_sref(block)
            if not is_output_block(sref, scope_of(sref)):
                sch.compute_inline(block)
        return [sch]


def _can_go_down(sch: Schedule, sref: StmtSRef) -> bool:
    scope = sch.state.get_block_scope(scope_of(sref))
    return bool(consumers_of(sref, scope)) and can_compute_inline(sch.state, sref)


def _can_go_up(sch: Schedule, sref: StmtSRef) -> bool:
    makers = producers_of(sref, sch.state.get_block_scope(scope_of(sref)))
    return (
        len(makers) == 1
        and is_complete(sch.state, makers[0])
        and TENSORIZE not in block_of(makers[0]).annotations
        and can_reverse_compute_inline(sch.state, sref)
    )


def _calls(realize: BlockRealize, names: Sequence[str]) -> bool:
    return any(op_name(node) in names for node in walk(realize))


def _branches(realize: BlockRealize) -> bool:
    return any(
        isinstance(node, (IfThenElse, Select)) or is_call_of(node, "tir.if_then_else")
        for node in walk(realize)
    )
