"""Blocks that name a rule of their own are scheduled by it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from tvm.ffi import get_global_func
from tvm.meta_schedule.rule_kind import require_target
from tvm.tir.schedule import BlockRV, Schedule

from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext

_LOGGER = logging.getLogger(__name__)


class ApplyCustomRule(ScheduleRule):
    """Calls the global function `meta_schedule.<key>.<name>` for a block with the annotation
    `schedule_rule: name`; `key` is the first of the target's keys for which there is one.

    Where there is none the block loses its annotation, and other rules schedule it."""

    def __init__(self) -> None:
        self._keys: list[str] | None = None

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        self._keys = list(require_target(context.target, "ApplyCustomRule").keys)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """What the function makes of the schedule."""
        name = sch.get(block).annotations.get("schedule_rule")
        if name is None or str(name) == "None":
            return [sch]
        if self._keys is None:
            require_target(None, "ApplyCustomRule")
        names = [f"meta_schedule.{key}.{name}" for key in self._keys or ()]
        for full_name in names:
            rule = get_global_func(full_name, allow_missing=True)
            if rule is not None:
                return list(rule(sch, block))
        _LOGGER.warning("Unknown schedule rule %r; looked for %s", str(name), ", ".join(names))
        sch.unannotate(block, "schedule_rule")  # the rules after this one take the block
        return [sch]
