"""The form of all rules."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tvm.meta_schedule.base import Component
from tvm.tir.schedule import BlockRV, Schedule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class ScheduleRule(Component):
    """Maps a schedule and one of its blocks to schedules; none means that there is no good one."""

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Read what the rule needs of the target."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules that the rule makes; the one given is among them if it does not apply."""
        self._missing("apply")

    def clone(self) -> ScheduleRule:
        """Another one that can belong to another context."""
        return copy.copy(self)

    @staticmethod
    def create(kind: str) -> list[ScheduleRule]:
        """The default rules of a kind: llvm, cuda, cuda-tensorcore, hexagon, and others."""
        from .defaults import default_rules  # made of the rules that are derived from this class

        return default_rules(kind)


class PyScheduleRule(ScheduleRule):
    """Derive from it, define `apply`, and decorate with `derived_object`."""

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Whoever derives says what to read of the context."""
        self._missing("initialize_with_tune_context")

    def clone(self) -> ScheduleRule:
        """Another one that can belong to another context."""
        self._missing("clone")


create = ScheduleRule.create
