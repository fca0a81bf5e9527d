"""What the nearest alternative costs: the program again, each kernel by the next rule that fits.

    first that fits  -> the schedule that the program has
    second           -> the one that it would have without this rule
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tvm.dlight.base import ScheduleRule
from tvm.dlight.base.schedule_rule import candidates
from tvm.dlight.base.transform import ApplyDefaultSchedule
from tvm.dlight.cpu import default_rules
from tvm.ir.module import IRModule
from tvm.ir.transform import Pass
from tvm.relax.backend import cpu_generic
from tvm.relax.backend.default_pipeline import DefaultPipeline
from tvm.relax.vm_build import build
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule, ScheduleError


class SecondChoice(ScheduleRule):
    """Schedules by the second of the rules that fit; where one fits alone, by that one."""

    def __init__(self, rules: list[ScheduleRule]) -> None:
        self._rules = rules

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Schedule | None:
        """The schedule of the second rule that takes the function."""
        only: Schedule | None = None
        for rule in self._rules:
            if not rule.is_target_available(target):
                continue
            try:
                found = candidates(rule.apply(func, target, False))
            except ScheduleError:
                continue
            if found and only is not None:
                return found[0]
            if found:
                only = found[0]
        return only


def build_by_second_choice(mod: IRModule, target: Target) -> Any:
    """The program for a CPU, its kernels scheduled by their second choices."""
    lists = SimpleNamespace(
        library_dispatch_passes=cpu_generic.library_dispatch_passes,
        legalize_passes=_legalize_passes,
        dataflow_lower_passes=cpu_generic.dataflow_lower_passes,
        finalize_passes=cpu_generic.finalize_passes,
    )
    return build(
        mod, target, relax_pipeline=DefaultPipeline(target, lists), exec_mode="compiled"
    )


def _legalize_passes(target: Target) -> list[Pass]:
    """As for any CPU, but for the rules."""
    by_rule, *rest = cpu_generic.schedule_passes(target)
    assert isinstance(by_rule, ApplyDefaultSchedule), "it comes first"
    chosen = ApplyDefaultSchedule(SecondChoice(default_rules()))
    return [*cpu_generic.kernel_passes(target), chosen, *rest]
