"""Several searches at once: what they want measured is built and run, until the budget is spent.

A batch is built and started; while it runs, another task may be chosen. Its results are taken when
the task is chosen again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from logging import Logger
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tvm.error import TVMError, message
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.meta_schedule.builder import Builder, BuilderInput
from tvm.meta_schedule.logging import get_logger
from tvm.meta_schedule.profiler import Profiler
from tvm.meta_schedule.runner import Runner, RunnerFuture, RunnerInput, RunnerResult
from tvm.meta_schedule.table import Cell, format_table
from tvm.meta_schedule.tune_context import TuneContext

from .task_record import NO_LATENCY_MS, TaskRecord

if TYPE_CHECKING:
    from tvm.meta_schedule.cost_model import CostModel
    from tvm.meta_schedule.database import Database
    from tvm.meta_schedule.measure_callback import MeasureCallback

_HEAD = ("ID", "Name", "FLOP", "Weight", "Speed (GFLOPS)", "Latency (us)",
         "Weighted Latency (us)", "Trials", "Done")  # fmt: skip


_TRIALS_PER_ITER = 64


class TaskScheduler(Component):
    """Runs several searches; subclasses choose who is next."""

    def __init__(self, *, logger: Logger | None = None) -> None:
        self.tasks_: list[TaskRecord] = []
        self.measure_callbacks_: list[MeasureCallback] = []
        self.database_: Database | None = None
        self.cost_model_: CostModel | None = None
        self.remaining_tasks_ = 0
        self.logger = logger or get_logger("tvm.meta_schedule.task_scheduler")

    # --- what each kind defines ---

    def next_task_id(self) -> int:
        """The task to go on with, whose last batch was joined; -1 when all are done."""
        self._missing("next_task_id")

    def _reset(self) -> None:
        """Forget an earlier search; for kinds that remember how it went."""

    # --- the loop ---

    def tune(
        self,
        tasks: Sequence[TuneContext],
        task_weights: Sequence[float],
        max_trials_global: int,
        max_trials_per_task: int,
        num_trials_per_iter: int,
        builder: Builder,
        runner: Runner,
        measure_callbacks: Sequence[MeasureCallback],
        database: Database | None,
        cost_model: CostModel | None,
        *,
        max_seconds_global: float | None = None,
    ) -> None:
        """Search until all tasks are done, or trials or seconds are used up."""
        if len(tasks) != len(task_weights):
            raise ValueError(
                message(
                    "TaskScheduler.tune",
                    found=f"{len(tasks)} tasks and {len(task_weights)} weights",
                    legal="`task_weights` must have the same length as `tasks`",
                )
            )
        self.measure_callbacks_ = list(measure_callbacks)
        self.database_, self.cost_model_ = database, cost_model
        self.tasks_, self.remaining_tasks_ = [], len(tasks)
        self._reset()
        for ctx, weight in zip(tasks, task_weights):
            self._begin(ctx, float(weight), max_trials_per_task, num_trials_per_iter)
        end = None if max_seconds_global is None else time.monotonic() + max_seconds_global
        trials = 0
        while trials < max_trials_global and (end is None or time.monotonic() < end):
            task_id = self.next_task_id()
            if task_id == -1:
                break
            trials += self._start_batch(task_id, max_trials_per_task, builder, runner)
        self._finish()

    def _begin(self, ctx: TuneContext, weight: float, max_trials: int, per_iter: int) -> None:
        number = len(self.tasks_)
        self.logger.info("Initializing Task #%d: %s", number, ctx.task_name)
        with Profiler.timeit("InitializeTask"):
            self.tasks_.append(TaskRecord(ctx, weight))
            spaces = ctx.generate_design_space()
            ctx.logger.info("Total %d design space(s) generated", len(spaces))
            for i, sch in enumerate(spaces):
                ctx.logger.info("Design space #%d:\n%s\n%s", i, sch.mod, sch.trace)
            ctx.pre_tuning(max_trials, per_iter, spaces, self.database_, self.cost_model_)

    def _start_batch(
        self, task_id: int, max_trials: int, builder: Builder, runner: Runner
    ) -> int:
        """Build and run what the task wants measured; the number of candidates."""
        task = self.tasks_[task_id]
        assert not task.is_terminated, "tasks that are done are not chosen"
        assert task.runner_futures is None, "the last batch was joined"
        self.logger.info("TaskScheduler picks Task #%d: %s", task_id, task.ctx.task_name)
        if len(task.latency_ms) >= max_trials:
            self.terminate_task(task_id)
            return 0
        with Profiler.timeit("EvoSearch"):
            candidates = task.ctx.generate_measure_candidates()
        if candidates is None:
            self.terminate_task(task_id)
            return 0
        task.measure_candidates = list(candidates)
        self._build(task, builder)
        self._run(task, runner)
        return len(task.measure_candidates)

    def _build(self, task: TaskRecord, builder: Builder) -> None:
        assert task.measure_candidates is not None and task.ctx.target is not None
        self.logger.info("Sending %d sample(s) to builder", len(task.measure_candidates))
        with Profiler.timeit("SendToBuilder"):
            task.builder_results = list(
                builder.build(
                    [BuilderInput(c.sch.mod, task.ctx.target) for c in task.measure_candidates]
                )
            )

    def _run(self, task: TaskRecord, runner: Runner) -> None:
        """Start to run what was built; the errors of builds are results already."""
        assert task.measure_candidates is not None and task.builder_results is not None
        assert task.ctx.target is not None
        self.logger.info("Sending %d sample(s) to runner", len(task.measure_candidates))
        device = task.ctx.target.kind.name
        with Profiler.timeit("SendToRunner"):
            inputs = [
                RunnerInput(
                    built.artifact_path,
                    device,
                    candidate.args_info,
                    best_s=task.best_s,
                    reference=task.ctx.reference,
                )
                for candidate, built in zip(task.measure_candidates, task.builder_results)
                if built.error_msg is None and built.artifact_path is not None
            ]
            started = iter(runner.run(inputs))
            task.runner_futures = [
                next(started) if built.error_msg is None else _failed(str(built.error_msg))
                for built in task.builder_results
            ]

    def _finish(self) -> None:
        for task_id, task in enumerate(self.tasks_):
            if not task.is_terminated:
                if task.runner_futures is not None:
                    self.join_running_task(task_id)
                self.terminate_task(task_id)
            task.ctx.post_tuning()

    # --- one task ---

    def join_running_task(self, task_id: int) -> list[RunnerResult]:
        """Wait for the batch of a task, and tell the strategy and the callbacks of it."""
        task = self.tasks_[task_id]
        assert task.runner_futures is not None, "a batch is under way"
        assert task.measure_candidates is not None and task.builder_results is not None
        with Profiler.timeit("JoinRunnerFutures"):
            results = [future.result() for future in task.runner_futures]
        task.runner_results = results
        with Profiler.timeit("NotifyRunnerResults"):
            task.ctx.notify_runner_results(task.measure_candidates, results)
        for callback in self.measure_callbacks_:
            with Profiler.timeit(f"MeasureCallback/{type(callback).__name__}"):
                callback.apply(
                    self, task_id, task.measure_candidates, task.builder_results, results
                )
        self._log_results(task, results)
        task.finish(results)
        self.logger.info("[Updated] Task #%d: %s", task_id, task.ctx.task_name)
        self.logger.info("\n%s", self._statistics())
        return results

    def _log_results(self, task: TaskRecord, results: Sequence[RunnerResult]) -> None:
        first = len(task.latency_ms)
        for i, result in enumerate(results):
            if result.error_msg is not None:
                task.ctx.logger.info("[%s] Trial #%d: %s", task.ctx.task_name, first + i,
                                     result.error_msg)  # fmt: skip
            elif result.run_secs:
                micros = sum(result.run_secs) / len(result.run_secs) * 1e6
                task.ctx.logger.info("[%s] Trial #%d: GFLOPs: %.4f. Time: %.4f us",
                    task.ctx.task_name, first + i, task.flop / micros / 1000, micros)  # fmt: skip

    def touch_task(self, task_id: int) -> None:
        """Join the batch of a task if all of it is done."""
        task = self.tasks_[task_id]
        if task.is_terminated or task.runner_futures is None:
            return
        if all(future.done() for future in task.runner_futures):
            self.join_running_task(task_id)

    def terminate_task(self, task_id: int) -> None:
        """Do not go on with a task."""
        task = self.tasks_[task_id]
        if task.is_terminated:
            raise TVMError(
                message(
                    f"terminate_task: task {task_id}",
                    found="it has ended before",
                    legal="a task that goes on, once",
                )
            )
        task.is_terminated = True
        self.remaining_tasks_ -= 1
        self.logger.info("Task #%d has finished. Remaining task(s): %d", task_id,
                         self.remaining_tasks_)  # fmt: skip

    # --- statistics ---

    def print_tuning_statistics(self) -> None:
        """Print how fast the best of each task is."""
        print(self._statistics())

    def _statistics(self) -> str:
        rows = [_row(i, task) for i, task in enumerate(self.tasks_)]
        known = [task for task in self.tasks_ if task.best_latency_ms < NO_LATENCY_MS]
        trials = sum(len(task.latency_ms) for task in self.tasks_)
        total = sum(task.best_latency_ms * 1000 * task.task_weight for task in known)
        table = format_table(_HEAD, rows)
        return f"{table}\nTotal trials: {trials}\nTotal latency (us): {total:.6g}\n"

    @staticmethod
    def create(
        kind: Literal["round-robin", "gradient"] | TaskScheduler = "gradient",
        *args: Any,
        **kwargs: Any,
    ) -> TaskScheduler:
        """The scheduler of a kind; a scheduler is its own."""
        from .gradient_based import GradientBased  # which are of our kind
        from .round_robin import RoundRobin

        if isinstance(kind, TaskScheduler):
            return kind
        if kind == "round-robin":
            return RoundRobin(*args, **kwargs)
        if kind == "gradient":
            return GradientBased(*args, **kwargs)
        raise unknown_kind("TaskScheduler", kind, ("round-robin", "gradient"))


def _failed(why: str) -> RunnerFuture:
    return RunnerFuture(lambda: True, lambda: RunnerResult(None, why))


def _row(number: int, task: TaskRecord) -> tuple[Cell, ...]:
    known: tuple[Cell, ...] = ("N/A", "N/A", "N/A")
    micros = task.best_latency_ms * 1000
    if task.best_latency_ms < NO_LATENCY_MS:
        known = (task.flop / max(micros, 1e-9) / 1000, micros, micros * task.task_weight)
    return (
        number, task.ctx.task_name, int(task.flop), int(task.task_weight), *known,
        len(task.latency_ms), "Y" if task.is_terminated else "",
    )  # fmt: skip


TaskSchedulerType: TypeAlias = TaskScheduler | Literal["gradient", "round-robin"]
TaskScheduler.TaskSchedulerType = TaskSchedulerType  # type: ignore[attr-defined]  # in signatures
create = TaskScheduler.create


class PyTaskScheduler(TaskScheduler):
    """The base of schedulers that users write: they define `next_task_id`."""

    def __init__(self) -> None:
        super().__init__()

    def tune(self, *args: Any, **kwargs: Any) -> None:
        """As for other schedulers; the number of trials for each batch may be left out (64)."""
        if len(args) > 4 and not isinstance(args[4], int):
            args = (*args[:4], _TRIALS_PER_ITER, *args[4:])
        elif len(args) <= 4:
            kwargs.setdefault("num_trials_per_iter", _TRIALS_PER_ITER)
        super().tune(*args, **kwargs)
