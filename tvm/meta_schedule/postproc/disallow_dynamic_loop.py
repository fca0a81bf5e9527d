"""Loops of an extent that only the running program knows are refused."""

from __future__ import annotations

from tvm.meta_schedule.structure import func_names
from tvm.tir.expr import IntImm
from tvm.tir.functor import walk
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import For

from .postproc import Postproc


class DisallowDynamicLoop(Postproc):
    """Refuses schedules in which the extent of a loop is no literal."""

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        """True if all extents are literals."""
        return not any(
            isinstance(node, For) and not isinstance(node.extent, IntImm)
            for _, func in func_names(sch)
            for node in walk(func.body)
        )
