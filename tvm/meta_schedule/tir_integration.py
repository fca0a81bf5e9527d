"""Search for the functions of a TIR module, and the schedule that was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tvm.error import message
from tvm.ffi import register_global_func
from tvm.ir.module import IRModule
from tvm.support.arguments import explained
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule

from .database import Database
from .logging import get_loggers_from_work_dir
from .search_context import normalize_mod
from .tune import tune_tasks
from .tune_context import TuneContext
from .utils import fork_seed


@register_global_func("tvm.meta_schedule.tune_tir", override=True)
@explained
def tune_tir(
    mod: IRModule | PrimFunc,
    target: str | Target,
    work_dir: str,
    max_trials_global: int,
    *,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = "json",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    space: Any = "post-order-apply",
    strategy: Any = "evolutionary",
    num_tuning_cores: Literal["physical", "logical"] | int = "physical",
    seed: int | None = None,
    module_equality: str = "structural",
    special_space: Mapping[str, Any] | None = None,
    post_optimization: bool | None = False,
    max_seconds_global: float | None = None,
) -> Database:
    """Tune each function of a module.

    `special_space` has other spaces for some functions, by their names. The same `seed` makes the
    same search.
    """
    named = _functions(mod)
    loggers = get_loggers_from_work_dir(work_dir, list(named))
    seeds = fork_seed(seed, len(named))
    spaces = dict(special_space or {})
    unknown = sorted(set(spaces) - set(named))
    if unknown:
        raise ValueError(
            message(
                "tune_tir: special_space",
                found=f"no function named {', '.join(unknown)}",
                legal=", ".join(named),
            )
        )
    tasks = [
        TuneContext(
            func,
            target=target,
            space_generator=spaces.get(name, space),
            search_strategy=strategy,
            task_name=name,
            rand_state=own_seed,
            num_threads=num_tuning_cores,
            logger=logger,
        ).clone()
        for (name, func), own_seed, logger in zip(named.items(), seeds, loggers)
    ]
    return tune_tasks(
        tasks=tasks,
        task_weights=[1.0] * len(tasks),
        work_dir=work_dir,
        max_trials_global=max_trials_global,
        max_trials_per_task=max_trials_per_task,
        num_trials_per_iter=num_trials_per_iter,
        builder=builder,
        runner=runner,
        database=database,
        cost_model=cost_model,
        measure_callbacks=measure_callbacks,
        task_scheduler=task_scheduler,
        module_equality=module_equality,
        post_optimization=post_optimization,
        max_seconds_global=max_seconds_global,
    )


def _functions(mod: IRModule | PrimFunc) -> dict[str, PrimFunc]:
    """The functions to tune, by name."""
    if isinstance(mod, PrimFunc):
        return {"main": mod}
    named = {
        gvar.name_hint: func
        for gvar, func in mod.functions_items()
        if isinstance(func, PrimFunc)
    }
    if not named:
        raise ValueError(
            message("tune_tir", found="a module without a PrimFunc", legal="at least one")
        )
    return named


def compile_tir(
    database: Database, mod: IRModule | PrimFunc, target: Target | str
) -> Schedule | None:
    """The best schedule that the database knows for a module of one function, or None."""
    if not isinstance(target, Target):
        target = Target(target)
    for form in (*_functions(mod).values(), mod):  # as `tune_tir` has it, as a module tuned whole
        sch = database.query_schedule(normalize_mod(form), target, workload_name="main")
        if sch is not None:
            return sch
    return None
