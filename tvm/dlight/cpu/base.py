"""The form of CPU rules: one kind of block gets the rule's schedule, all others a general one."""

from __future__ import annotations

import contextlib

from tvm.dlight.analysis.common_analysis import get_root_block
from tvm.dlight.base import ScheduleRule
from tvm.target.kind import CPU
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError

REASON = "schedule_reason"

# Reductions with the loop before which they get their init. They are decomposed last: afterwards
# two blocks write one buffer, and the checks of most primitives refuse to move either.
Decompositions = list[tuple[BlockRV, LoopRV]]


def decompose(sch: Schedule, pending: Decompositions) -> None:
    """Decompose all reductions; one whose loops do not allow it keeps its init inside."""
    for block, loop in pending:
        with contextlib.suppress(ScheduleError):
            sch.decompose_reduction(block, loop)


class CPUScheduleRule(ScheduleRule):
    """A rule for targets that are CPUs."""

    def is_target_available(self, target: Target) -> bool:
        """True for CPUs."""
        return "cpu" in target.keys or target.kind.device_type == CPU


def root_blocks(sch: Schedule) -> list[BlockRV]:
    """The blocks of the function, in order."""
    return sch.get_child_blocks(get_root_block(sch))


def with_reason(sch: Schedule, reason: str) -> Schedule:
    """The schedule, with its reason in the function's attributes."""
    (gvar,) = sch.mod.functions
    func = sch.mod.functions[gvar]
    assert isinstance(func, PrimFunc), "rules schedule TIR functions"
    for _, root in sch.state.roots():
        sch.state.set_function(root, func.with_attr(REASON, reason))
    return sch
