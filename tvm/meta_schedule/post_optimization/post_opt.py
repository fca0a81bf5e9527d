"""Refine the best schedule of each program, one decision after the other.

From the best record on, schedules that differ in one decision by the smallest step are measured;
the fastest is the next to start from, until none is faster. After Canesche et al., "The Droplet
Search Algorithm for Kernel Scheduling" (TACO 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder import Builder, BuilderInput, LocalBuilder
from tvm.meta_schedule.database import Database, JSONDatabase, TuningRecord
from tvm.meta_schedule.mutator.decisions import decided, plain
from tvm.meta_schedule.runner import EvaluatorConfig, LocalRunner, Runner, RunnerInput
from tvm.meta_schedule.search_strategy.trace_replay import Replayer, replayer
from tvm.meta_schedule.tune_context import TuneContext
from tvm.meta_schedule.utils import remove_build_dir
from tvm.target.target import Target
from tvm.tir.schedule import Schedule, Trace

# Schedules -> their seconds; None for what could not be measured.
Measure = Callable[[Sequence[Schedule]], list["list[float] | None"]]
_FASTER = 0.99  # of the time before; less is noise


class PostOpt:
    """Refines what the search in `work_dir` found; new records go to its database.

    Each program has `trials` measurements at most.
    """

    def __init__(self, work_dir: str, target: Target, trials: int = 100) -> None:
        self.work_dir = work_dir
        self.target = target if isinstance(target, Target) else Target(target)
        self.trials = trials

    def run(self) -> None:
        """Refine all programs."""
        database = JSONDatabase(work_dir=self.work_dir)
        measure = _measurer(LocalBuilder(), LocalRunner(evaluator_config=_CAREFULLY), self.target)
        workloads = dict.fromkeys(r.workload for r in database.get_all_tuning_records())
        for workload in workloads:
            for record in database.get_top_k(workload, 1):
                refine(database, record, self.target, measure, self.trials)


_CAREFULLY = EvaluatorConfig(number=3, repeat=3, min_repeat_ms=50)


def _measurer(builder: Builder, runner: Runner, target: Target) -> Measure:
    def measure(schedules: Sequence[Schedule]) -> list[list[float] | None]:
        built = builder.build([BuilderInput(sch.mod, target) for sch in schedules])
        found: list[list[float] | None] = []
        for sch, result in zip(schedules, built):
            if result.artifact_path is None:
                found.append(None)
                continue
            info = ArgInfo.from_entry_func(sch.mod, remove_preproc=True)
            (future,) = runner.run([RunnerInput(result.artifact_path, target.kind.name, info)])
            run_secs = future.result().run_secs
            found.append(None if run_secs is None else [float(t) for t in run_secs])
            remove_build_dir(result.artifact_path)
        return found

    return measure


def refine(
    database: Database, record: TuningRecord, target: Target, measure: Measure, trials: int
) -> None:
    """Go from a record to its best neighbour until none is faster, or the trials are used up."""
    context = TuneContext(
        record.workload.mod, target=target, space_generator="post-order-apply"
    )
    replay, seed = replayer(context)
    best, trace, seen = record.mean_secs, record.trace, set[str]()
    while trials > 0:
        schedules = list(_new_neighbours(replay, trace, seed, seen))[:trials]
        trials -= len(schedules)
        step: tuple[float, Trace] | None = None
        for sch, run_secs in zip(schedules, measure(schedules)):
            made = _commit(database, record, sch, target, run_secs)
            if made.is_valid() and made.mean_secs < (best * _FASTER if step is None else step[0]):
                step = made.mean_secs, sch.trace
        if step is None:
            return
        best, trace = step


def _commit(
    database: Database, record: TuningRecord, sch: Schedule, target: Target, run_secs: Any
) -> TuningRecord:
    info = ArgInfo.from_entry_func(sch.mod, remove_preproc=True)
    times = [1e10] if run_secs is None else run_secs
    made = TuningRecord(sch.trace, record.workload, times, target, info)
    database.commit_tuning_record(made)
    return made


def _new_neighbours(
    replay: Replayer, trace: Trace, seed: int, seen: set[str]
) -> Iterator[Schedule]:
    """The legal schedules of the neighbours of a trace, each once in a descent."""
    for neighbour in neighbours(trace):
        text = str(neighbour)
        if text not in seen:
            seen.add(text)
            sch = replay.apply(neighbour, seed)
            if sch is not None:
                yield sch


def neighbours(trace: Trace) -> Iterator[Trace]:
    """All traces that differ in one decision by the smallest step."""
    for inst, factors in decided(trace, "SamplePerfectTile"):
        most = int(plain(inst.attrs[1]))
        for moved in _tilings(factors, most):
            yield trace.with_decision(inst, moved, remove_postproc=True)
    for inst, index in decided(trace, "SampleCategorical"):
        for other in (index - 1, index + 1):
            if 0 <= other < len(inst.attrs[0]):
                yield trace.with_decision(inst, other, remove_postproc=True)


def _tilings(factors: Sequence[int], most: int) -> Iterator[list[int]]:
    """The smallest prime of one factor goes to another; the innermost stays within `most`."""
    last = len(factors) - 1
    for source, size in enumerate(factors):
        prime = next((p for p in range(2, size + 1) if size % p == 0), None)
        for target in range(len(factors) if prime is not None else 0):
            made = list(factors)
            made[source] //= prime or 1
            made[target] *= prime or 1
            if target != source and (target != last or most == -1 or made[last] <= most):
                yield made
