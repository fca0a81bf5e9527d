"""Tune a whole program: search for faster kernels, and compile it with the best that is known.

    found = tune(mod, "llvm", database="sqlite:///records.db", max_seconds=60)
    found.compile().export_library("model.so")

Each kernel is measured as its rule schedules it before the search begins; what is compiled takes
the fastest record of a kernel only if it is faster than that. Kernels of sizes that are known only
when they run cannot be measured, and stay as their rules have them.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tvm import dlight
from tvm.backend import makes_host_code
from tvm.error import message
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo, Sequential
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder import Builder, BuilderInput, BuilderResult
from tvm.meta_schedule.cluster import is_address
from tvm.meta_schedule.database import Database, TuningRecord
from tvm.meta_schedule.extracted_task import ExtractedTask
from tvm.meta_schedule.measure_callback import MeasureCallback
from tvm.meta_schedule.relax_integration import extract_tasks, extracted_tasks_to_tune_contexts
from tvm.meta_schedule.runner import Runner, RunnerInput, RunnerResult
from tvm.meta_schedule.search_context import normalize_mod
from tvm.meta_schedule.search_strategy import MeasureCandidate
from tvm.meta_schedule.task_scheduler import TaskScheduler
from tvm.meta_schedule.tune import tune_tasks
from tvm.meta_schedule.utils import remove_build_dir
from tvm.meta_schedule.where_measured import builder_and_runner
from tvm.relax.backend import cpu_generic
from tvm.relax.backend.default_pipeline import DefaultPipeline, Passes
from tvm.relax.expr import Function
from tvm.relax.transform import MetaScheduleApplyDatabase
from tvm.support.progress import Listener, one_stage
from tvm.support.scratch import scratch
from tvm.target.kind import CPU
from tvm.target.target import Target
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc

from .build_module import compile as compile_module

WITHOUT_END = 1_000_000_000  # trials, where only seconds are limited


class TaskState(NamedTuple):
    """How the search for one kernel goes; seconds are None while nothing was measured."""

    name: str
    calls: int
    trials: int
    rule_s: float | None  # as the rule schedules it
    best_s: float | None  # of this search
    errors: dict[str, int]


class Tuned(NamedTuple):
    """What a search left: the database, how it went, and which kernels nobody could measure."""

    mod: IRModule
    target: Target
    database: Database
    tasks: list[TaskState]
    unmeasured: list[str]
    by_rule: list[tuple[IRModule, float]]  # kernels whose time by rule is known

    def compile(self) -> Any:
        """The program with the fastest known schedule of each kernel."""
        known = _FasterThanRule(self.database, self.by_rule)
        if _has_graphs(self.mod):
            pipeline = DefaultPipeline(self.target, _TunedLists(known))
            return compile_module(self.mod, self.target, relax_pipeline=pipeline)
        with self.target:
            best = _apply_in(known, self.mod, PassContext.current())
            rules = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())
            return compile_module(rules(best), self.target)


def tune(
    mod: IRModule,
    target: Target | str = "llvm",
    *,
    database: Any = "memory",
    max_trials: int | None = None,
    max_seconds: float | None = None,
    trials_per_round: int = 16,
    seed: int | None = None,
    work_dir: str | None = None,
    builder: Any = "local",
    runner: Any = "local",
    check: bool = False,
    watch: Callable[[list[TaskState]], None] | None = None,
) -> Tuned:
    """Search until `max_trials` measurements or `max_seconds` seconds are used up; at least one of
    them is given. `database` is one, its kind or its URL; `runner` may be the address of a cluster;
    `watch` is told after each round. With `check` a candidate that computes something else than its
    kernel by rule is an error. Ctrl-C ends the search, and what was measured is kept.
    """
    target = target if isinstance(target, Target) else Target(target)
    if not (makes_host_code(target) and target.kind.device_type == CPU):
        raise ValueError(message("tune", found=f"target {target.kind.name}", legal="llvm or c"))
    if max_trials is None and max_seconds is None:
        raise ValueError(message("tune", found="no limit", legal="max_trials= or max_seconds="))
    if check and is_address(runner):
        found, legal = f"runner {runner}", "a runner on this machine"
        raise ValueError(message("tune with check=True", found=found, legal=legal))
    kept = Database.create(database)
    begun = time.monotonic()
    with builder_and_runner(builder, runner, target) as (own_builder, own_runner):
        measured, unmeasured = _tasks(mod, target)
        rules = _by_rules(measured, target, own_builder, own_runner)
        by_rule = [seconds for _, seconds in rules]
        if max_seconds is not None:
            max_seconds = max(0.0, max_seconds - (time.monotonic() - begun))
        state = _Watch([(t.task_name, t.weight, s) for t, s in zip(measured, by_rule)], watch)
        if measured:
            with scratch("tvm-tune-") as own, one_stage() as state.heard:
                state.limits = max_trials, max_seconds
                folder = own if work_dir is None else work_dir
                contexts, weights = extracted_tasks_to_tune_contexts(measured, folder, seed=seed)
                for context, (artifact, seconds) in zip(contexts, rules):
                    context.known_s = seconds
                    context.reference = artifact if check and seconds is not None else None
                try:
                    tune_tasks(
                        tasks=contexts,
                        task_weights=weights,
                        work_dir=folder,
                        max_trials_global=WITHOUT_END if max_trials is None else max_trials,
                        num_trials_per_iter=trials_per_round,
                        builder=own_builder,
                        runner=own_runner,
                        database=kept,
                        measure_callbacks=[*MeasureCallback.create("default"), state],
                        max_seconds_global=max_seconds,
                    )
                except KeyboardInterrupt:
                    state.interrupted = True
                finally:
                    for artifact, _ in rules:
                        if artifact is not None:
                            remove_build_dir(artifact)
    known = [(t.dispatched[0], s) for t, s in zip(measured, by_rule) if s is not None]
    return Tuned(mod, target, kept, state.tasks(), unmeasured, known)


def _has_graphs(mod: IRModule) -> bool:
    return any(isinstance(func, Function) for func in mod.functions.values())


# --- what is tuned ---


def _tasks(mod: IRModule, target: Target) -> tuple[list[ExtractedTask], list[str]]:
    """The kernels to tune, each once, and the names of those of unknown sizes."""
    if _has_graphs(mod):
        passes = [*cpu_generic.library_dispatch_passes(target), *cpu_generic.kernel_passes(target)]
        with target:
            found = extract_tasks(Sequential(passes)(mod), target)
    else:
        found = [
            ExtractedTask(var.name_hint, one, target, [one], 1)
            for var, func in mod.functions_items()
            if isinstance(func, PrimFunc)
            for one in (normalize_mod(func),)
        ]
    fixed = [task for task in found if _is_fixed(task.dispatched[0])]
    return fixed, [task.task_name for task in found if task not in fixed]


def _is_fixed(mod: IRModule) -> bool:
    (func,) = mod.functions.values()
    assert isinstance(func, PrimFunc), "a kernel"
    shapes = [buffer.shape for buffer in func.buffer_map.values()]
    return len(shapes) == len(func.params) and all(
        isinstance(extent, IntImm) for shape in shapes for extent in shape
    )


def _by_rules(
    tasks: Sequence[ExtractedTask], target: Target, builder: Builder, runner: Runner
) -> list[tuple[str | None, float | None]]:
    """The compiled file of each kernel as its rule schedules it, and the seconds it takes; None
    where it could not be compiled, or measured.
    """
    rules = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())
    mods = [_by_rule(task.dispatched[0], target, rules) for task in tasks]
    built = builder.build([BuilderInput(mod, target) for mod in mods])
    found: list[tuple[str | None, float | None]] = []
    for mod, result in zip(mods, built):
        seconds = None
        if result.artifact_path is not None:
            infos = ArgInfo.from_entry_func(mod, remove_preproc=True)
            (future,) = runner.run([RunnerInput(result.artifact_path, target.kind.name, infos)])
            seconds = _mean(future.result())
        found.append((result.artifact_path, seconds))
    return found


def _by_rule(mod: IRModule, target: Target, rules: dlight.ApplyDefaultSchedule) -> IRModule:
    ((var, func),) = mod.functions.items()
    assert isinstance(func, PrimFunc), "a kernel"
    with target:
        return mod.with_functions({var: rules.scheduled(func, target) or func})


# --- how it goes ---


class _Watch(MeasureCallback):
    """Counts what was measured, of tasks by name, number of calls, and seconds by rule."""

    def __init__(
        self,
        given: Sequence[tuple[str, int, float | None]],
        tell: Callable[[list[TaskState]], None] | None,
    ) -> None:
        self._given = given
        self._tell = tell
        self._best: dict[int, float] = {}
        self._trials: dict[int, int] = {}
        self._errors: dict[int, dict[str, int]] = {}
        self.interrupted = False
        self.heard: Listener | None = None
        self.limits: tuple[int | None, float | None] = None, None
        self._begun = time.monotonic()

    def apply(
        self,
        task_scheduler: TaskScheduler,
        task_id: int,
        measure_candidates: Sequence[MeasureCandidate],
        builder_results: Sequence[BuilderResult],
        runner_results: Sequence[RunnerResult],
    ) -> None:
        """Take the results of a round."""
        for built, result in zip(builder_results, runner_results):
            self._trials[task_id] = self._trials.get(task_id, 0) + 1
            mean = _mean(result)
            if mean is None:
                kind = error_kind(built.error_msg, result.error_msg)
                errors = self._errors.setdefault(task_id, {})
                errors[kind] = errors.get(kind, 0) + 1
            else:
                self._best[task_id] = min(mean, self._best.get(task_id, mean))
        if self.heard is not None:
            self._advance(self.heard, self._given[task_id][0])
        if self._tell is not None:
            self._tell(self.tasks())

    def _advance(self, heard: Listener, task: str) -> None:
        trials, seconds = self.limits
        if trials is not None:
            heard(f"trials, now of {task}", sum(self._trials.values()), trials)
        elif seconds is not None:
            passed = min(time.monotonic() - self._begun, seconds)
            heard(f"seconds, now of {task}", int(passed), int(seconds))

    def tasks(self) -> list[TaskState]:
        """The state of all tasks."""
        return [
            TaskState(
                name, calls, self._trials.get(i, 0), by_rule, self._best.get(i),
                dict(self._errors.get(i, {})),
            )
            for i, (name, calls, by_rule) in enumerate(self._given)
        ]  # fmt: skip


def _mean(result: RunnerResult) -> float | None:
    if result.error_msg is not None or not result.run_secs:
        return None
    return sum(float(s) for s in result.run_secs) / len(result.run_secs)


def error_kind(build_error: str | None, run_error: str | None) -> str:
    """What kind of failure an error message tells of."""
    text = build_error or run_error or ""
    if "Timeout" in text:
        return "took too long"
    if "process died" in text:
        return "crashed"
    if "wrong result" in text:
        return "wrong result"
    return "did not compile" if build_error is not None else "did not run"


# --- what is compiled ---


class _FasterThanRule(Database):
    """Answers with what another database knows, unless the rule is as fast."""

    def __init__(self, known: Database, by_rule: Sequence[tuple[IRModule, float]]) -> None:
        self._known = known
        self._by_rule: dict[int, list[tuple[IRModule, float]]] = {}
        for mod, seconds in by_rule:
            self._by_rule.setdefault(structural_hash(mod), []).append((mod, seconds))

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The fastest record of a module that is faster than its rule, or None."""
        found = self._known.query_tuning_record(mod, target, workload_name)
        if found is None:
            return None
        for measured, seconds in self._by_rule.get(structural_hash(mod), ()):
            if structural_equal(measured, mod) and seconds <= found.mean_secs:
                return None
        return found


class _TunedLists:
    """The lists of a CPU, with the records of a database before the rules."""

    def __init__(self, database: Database) -> None:
        self.library_dispatch_passes: Passes = cpu_generic.library_dispatch_passes
        self.legalize_passes: Passes = self._legalize_passes
        self.dataflow_lower_passes: Passes = cpu_generic.dataflow_lower_passes
        self.finalize_passes: Passes = cpu_generic.finalize_passes
        self._apply = ModulePass(
            functools.partial(_apply_in, database), PassInfo(0, "relax.ApplyTuned")
        )

    def _legalize_passes(self, target: Target) -> list[Pass]:
        """From operators to scheduled kernels."""
        return [
            *cpu_generic.kernel_passes(target),
            self._apply,  # the best that is known
            *cpu_generic.schedule_passes(target),  # for all others
        ]


def _apply_in(database: Database, mod: IRModule, ctx: PassContext) -> IRModule:
    with database:
        return MetaScheduleApplyDatabase()(mod)
