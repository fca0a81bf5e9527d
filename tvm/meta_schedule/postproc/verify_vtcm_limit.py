"""Schedules that need more tightly coupled memory than the target has are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.error import TVMError
from tvm.meta_schedule.lowered import lowered, without_blocks
from tvm.meta_schedule.rule_kind import require_target
from tvm.meta_schedule.structure import func_names
from tvm.tir.schedule import Schedule
from tvm.tir.transform import VerifyVTCMLimit as verify

from .postproc import Postproc

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class VerifyVTCMLimit(Postproc):
    """Refuses schedules that allocate more than the target's `vtcm-capacity`."""

    def __init__(self) -> None:
        self._limit = 0

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        attrs = require_target(context.target, "VerifyVTCMLimit").attrs
        self._limit = int(attrs.get("vtcm-capacity", 0))

    def apply(self, sch: Schedule) -> bool:
        """True if each function keeps to the limit."""
        for name, func in func_names(sch):
            try:
                verify(self._limit)(lowered(name, func, without_blocks()))
            except (TVMError, RuntimeError):
                return False
        return True
