"""Tuning as passes: search for schedules, and apply those that a database knows.

    MetaScheduleTuneTIR(work_dir, 64)(mod)          the module stays; work_dir gets records
    MetaScheduleApplyDatabase(work_dir)(mod)        kernels with a record are scheduled

The target is that of the context. A kernel that was scheduled has the attribute `tir.is_scheduled`,
and is left alone from there on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tvm.error import message
from tvm.ffi import get_global_func
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext, PassInfo, declare_module_pass
from tvm.support.log import logger
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.transform.pass_form import PrimFuncPass

if TYPE_CHECKING:
    from tvm.meta_schedule.database import Database, TuningRecord

_LOG = logger("relax.meta_schedule")
SCHEDULED = "tir.is_scheduled"


def MetaScheduleTuneTIR(work_dir: str, max_trials_global: int) -> PrimFuncPass:
    """Tune each PrimFunc; records lie in `work_dir`.

    The target is that of the context in which the pass was made, else of the one it runs in.
    """
    given = Target.current()

    def tune(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        # searches are loaded when there is one
        from tvm.meta_schedule.tir_integration import tune_tir

        target = given or current_target("MetaScheduleTuneTIR")
        tune_tir(IRModule({"main": func}), target, work_dir, max_trials_global)
        return func

    return PrimFuncPass(tune, PassInfo(0, "MetaScheduleTuneTIR", (), traceable=True))


@declare_module_pass("MetaScheduleTuneIRModule", traceable=True)
def MetaScheduleTuneIRMod(
    mod: IRModule,
    ctx: PassContext,
    params: Mapping[str, Any],
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    op_names: Sequence[str] | None = None,
) -> IRModule:
    """Tune the kernels that the graphs call; records lie in `work_dir`."""
    target = current_target("MetaScheduleTuneIRMod")
    tune_relax = get_global_func("tvm.meta_schedule.tune_relax")  # which stands floors above
    tune_relax(
        mod, dict(params), target, work_dir, max_trials_global, max_trials_per_task, op_names
    )
    return mod


@declare_module_pass("MetaScheduleApplyDatabase")
def MetaScheduleApplyDatabase(
    mod: IRModule, ctx: PassContext, work_dir: str | None = None, enable_warning: bool = False
) -> IRModule:
    """Give each PrimFunc the best schedule of the entered database, or of the one in `work_dir`,
    which may be the URL of a database in SQL.

    With `enable_warning` those without a record are named.
    """
    target, database = current_target("MetaScheduleApplyDatabase"), _database(work_dir)
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        functions[var] = func
        if not isinstance(func, PrimFunc) or func.attrs.get(SCHEDULED):
            continue
        tuned = _tuned(func, var.name_hint, database, target)
        if tuned is not None:
            functions[var] = tuned
        elif enable_warning:
            _LOG.warning("Tuning record is not found for primfunc: %s", var.name_hint)
    return mod.with_functions(functions)


def _tuned(func: PrimFunc, name: str, database: Database, target: Target) -> PrimFunc | None:
    """The function as the best record schedules it, with its own attributes; or None."""
    from tvm.meta_schedule.search_context import normalize_mod

    mod = normalize_mod(func)
    record = database.query_tuning_record(mod, target, name)
    if record is None:
        return None
    return with_schedule_of(func, _scheduled(mod, record, target))


def with_schedule_of(func: PrimFunc, mod: IRModule) -> PrimFunc:
    """The function as its normalized module `mod` was scheduled; it keeps its own attributes."""
    (found,) = mod.functions.values()
    assert isinstance(found, PrimFunc), "what a kernel was scheduled to"
    made = PrimFunc(
        found.params, found.body, func.ret_type, found.buffer_map, func.attrs, func.span
    )
    return made.with_attr(SCHEDULED, True)


def _scheduled(mod: IRModule, record: TuningRecord, target: Target) -> IRModule:
    if structural_equal(mod, record.workload.mod):
        return record.schedule().mod
    from tvm.meta_schedule.trace_apply import schedule_using_anchor_trace

    sch = Schedule(mod)  # the database found it by its anchor block
    schedule_using_anchor_trace(sch, record.trace, target)
    return sch.mod


def _database(work_dir: str | None) -> Database:
    from tvm.meta_schedule.database import Database

    current = Database.current()
    if current is not None:
        return current
    if work_dir is None:
        raise ValueError(
            message(
                "MetaScheduleApplyDatabase",
                found="no work_dir, and no database is entered",
                legal='work_dir="...", or `with database:` around the pass',
            )
        )
    path = os.fspath(work_dir)
    return Database.create(path) if "://" in path else Database.create("json", work_dir=path)


def current_target(asked: str) -> Target:
    """The target of the context; a ValueError without one."""
    target = Target.current()
    if target is None:
        raise ValueError(message(asked, found="no target", legal="`with target:` around the pass"))
    return target
