"""Functions without anything to compute, as a product of no rows: they stay as they are."""

from __future__ import annotations

from tvm.dlight.base import open_schedule
from tvm.target.target import Target
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block, BlockRealize

from .base import CPUScheduleRule, with_reason


class Empty(CPUScheduleRule):
    """Takes functions in which a block has an empty domain; loops of none have no tiles."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The function as it is, or None if all its blocks may have something to do."""
        if not isinstance(func.body, BlockRealize):
            return None
        extents = [
            iv.dom.extent
            for node in statements(func.body, Block)
            for iv in node.iter_vars
            if iv.dom is not None
        ]
        if not any(isinstance(size, IntImm) and size.value == 0 for size in extents):
            return None
        return with_reason(open_schedule(func), "no places in one of its blocks: left as it is")
