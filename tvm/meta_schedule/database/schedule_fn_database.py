"""A database whose answer to any module is what a function makes of it."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.module import IRModule
from tvm.meta_schedule.module_equality import ModuleEquality
from tvm.target.target import Target
from tvm.tir.schedule import Schedule

from .database import Database
from .record import TuningRecord, Workload


class ScheduleFnDatabase(Database):
    """`schedule_fn(sch)` schedules in place, and says whether there is an answer.

    There is nothing to commit: all but queries is refused.
    """

    def __init__(
        self, schedule_fn: Callable[[Schedule], bool], module_equality: str = "structural"
    ) -> None:
        ModuleEquality.create(module_equality)  # refuses unknown names; no modules are compared
        self.schedule_fn = schedule_fn

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The schedule that the function makes, or None if it declines."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else TuningRecord(sch.trace, Workload(mod), target=target)

    def query_schedule(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> Schedule | None:
        """The function's schedule of the module, which is told the name of the task."""
        sch = Schedule(mod.with_attr("task_name", workload_name))
        answered = self.schedule_fn(sch)
        if not isinstance(answered, (bool, int)):
            raise TypeError(
                f"ScheduleFnDatabase: schedule_fn returned {type(answered).__name__}; legal: a bool"
            )
        return sch if answered else None
