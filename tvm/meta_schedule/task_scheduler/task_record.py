"""The state of one search among several."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tvm.ffi.object import Object
from tvm.meta_schedule.builder import BuilderResult
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.runner import RunnerFuture, RunnerResult
from tvm.meta_schedule.tune_context import TuneContext
from tvm.tir.analysis import estimate_tir_flops

# The latency of a candidate that could not be measured.
NO_LATENCY_MS = 1e9


class TaskRecord(Object):
    """A search, what is under way for it, and how it went so far.

    `measure_candidates`, `builder_results` and `runner_futures` are None between batches.
    """

    def __init__(self, ctx: TuneContext, task_weight: float = 1.0) -> None:
        assert ctx.mod is not None, "a task has a module"
        self.ctx = ctx
        self.task_weight = task_weight
        self.flop = max(1.0, float(estimate_tir_flops(ctx.mod)))
        self.is_terminated = False
        self.build_error_count = 0
        self.run_error_count = 0
        self.measure_candidates: list[MeasureCandidate] | None = None
        self.builder_results: list[BuilderResult] | None = None
        self.runner_futures: list[RunnerFuture] | None = None
        self.runner_results: list[RunnerResult] | None = None
        self.latency_ms: list[float] = []

    @property
    def best_latency_ms(self) -> float:
        """The lowest latency so far."""
        return min(self.latency_ms, default=NO_LATENCY_MS)

    @property
    def best_s(self) -> float | None:
        """The lowest latency that is known, in seconds; None while nothing is."""
        known = NO_LATENCY_MS if self.ctx.known_s is None else self.ctx.known_s * 1000
        best = min(known, self.best_latency_ms)
        return best / 1000 if best < NO_LATENCY_MS else None

    def finish(self, results: Sequence[RunnerResult]) -> None:
        """Count the results of a batch, and forget the candidates."""
        assert self.builder_results is not None, "a batch is under way"
        for built, result in zip(self.builder_results, results):
            self.build_error_count += built.error_msg is not None
            self.run_error_count += built.error_msg is None and result.error_msg is not None
        self.latency_ms.extend(mean_latency_ms(result) for result in results)
        self.measure_candidates = self.builder_results = self.runner_futures = None


def mean_latency_ms(result: RunnerResult) -> float:
    """The mean of the measured times."""
    if not result.run_secs or result.error_msg is not None:
        return NO_LATENCY_MS
    return math.fsum(result.run_secs) / len(result.run_secs) * 1000
