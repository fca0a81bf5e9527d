"""Search for several programs at once, and keep what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import message
from tvm.support.arguments import explained

from .cost_model import CostModel
from .database import Database
from .logging import create_scheduler_logger
from .measure_callback import MeasureCallback
from .task_scheduler import TaskScheduler
from .tune_context import TuneContext
from .where_measured import builder_and_runner


@explained
def tune_tasks(
    *,
    tasks: Sequence[TuneContext],
    task_weights: Sequence[float],
    work_dir: str,
    max_trials_global: int,
    max_trials_per_task: int | None = None,
    num_trials_per_iter: int = 64,
    builder: Any = "local",
    runner: Any = "local",
    database: Any = "json",
    cost_model: Any = "xgb",
    measure_callbacks: Any = "default",
    task_scheduler: Any = "gradient",
    module_equality: str = "structural",
    post_optimization: bool | None = False,
    max_seconds_global: float | None = None,
) -> Database:
    """The database with the records of the search, which is also kept in `work_dir`.

    The search ends after `max_trials_global` measurements, or `max_seconds_global` seconds. Parts
    are given as objects, or by the names of their kinds; `runner` may be the address of a cluster
    (`ray://HOST`, `dask://HOST`), which builds as well. With `post_optimization` the best
    schedules are then refined further, one decision after the other.
    """
    if not tasks:
        raise ValueError(message("tune_tasks", found="no tasks to tune", legal="one or more"))
    if len(tasks) != len(task_weights):
        raise ValueError(
            message(
                f"Length of tasks ({len(tasks)}) and task_weights ({len(task_weights)}) do not "
                "match.",
                legal="a weight for each task",
            )
        )
    for task in tasks:
        task.rule_first = True  # what is found is then never slower
    cores = tasks[0].num_threads
    if not isinstance(task_scheduler, TaskScheduler):
        options = {"seed": tasks[0].rand_state} if task_scheduler == "gradient" else {}
        logger = create_scheduler_logger(work_dir)
        task_scheduler = TaskScheduler.create(task_scheduler, logger=logger, **options)
    kept = _database(database, work_dir, module_equality)
    with builder_and_runner(builder, runner, tasks[0].target, cores) as (own_builder, own_runner):
        task_scheduler.tune(
            tasks,
            task_weights,
            max_trials_global=max_trials_global,
            max_trials_per_task=(
                max_trials_global if max_trials_per_task is None else max_trials_per_task
            ),
            num_trials_per_iter=num_trials_per_iter,
            builder=own_builder,
            runner=own_runner,
            measure_callbacks=_callbacks(measure_callbacks),
            database=kept,
            cost_model=_cost_model(cost_model, cores),
            max_seconds_global=max_seconds_global,
        )
    if post_optimization:
        from .post_optimization import PostOpt  # seldom asked for

        target = tasks[0].target
        assert target is not None, "a task has a target"
        PostOpt(work_dir, target, max_trials_global).run()
    return kept


def _cost_model(given: Any, cores: int) -> CostModel | None:
    # the linear half of the model is right more often than not from the first round on
    options = {"num_warmup_samples": 16} if given == "xgb" else {}
    return CostModel.create(given, num_tuning_cores=cores, **options)


def _database(given: Any, work_dir: str, module_equality: str) -> Database:
    if isinstance(given, Database):
        return given
    if given == "json":
        return Database.create("json", work_dir=work_dir, module_equality=module_equality)
    return Database.create(given, module_equality=module_equality)


def _callbacks(given: Any) -> list[MeasureCallback]:
    if isinstance(given, MeasureCallback):
        return [given]
    return MeasureCallback.create(given) if isinstance(given, str) else list(given)
