"""Random search: the traces of the spaces with all decisions drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.tir.schedule import Schedule, Trace
from tvm.tir.schedule.random_engine import RandomEngine

from .search_strategy import (
    MeasureCandidate,
    Rounds,
    SearchStrategy,
    not_searching,
    require_idle,
    require_spaces,
)
from .trace_replay import candidate, replayer

if TYPE_CHECKING:
    from tvm.meta_schedule.cost_model import CostModel
    from tvm.meta_schedule.database import Database
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.tune_context import TuneContext


class ReplayTrace(SearchStrategy):
    """Draws space and decisions for each trial, up to `max_fail_count` times until one is legal."""

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count
        self._context: TuneContext | None = None
        self._search: _Search | None = None

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._context = context
        self._search = None

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: list[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin a search; database and cost model are not asked."""
        require_idle(self._search is not None)
        require_spaces(design_spaces)
        traces = [space.trace.simplified(remove_postproc=True) for space in design_spaces]
        self._search = _Search(self._context, Rounds(max_trials, num_trials_per_iter), traces)

    def post_tuning(self) -> None:
        """End the search."""
        if self._search is None:
            raise not_searching("post_tuning")
        self._search = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """A round of random candidates."""
        if self._search is None:
            raise not_searching("generate_measure_candidates")
        count = self._search.rounds.next_count
        if count == 0:
            return None
        drawn = [self._search.draw(self.max_fail_count) for _ in range(count)]
        return [candidate(sch) for sch in drawn if sch is not None]

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]
    ) -> None:
        """Go on to the next round."""
        if self._search is None:
            raise not_searching("notify_runner_results")
        self._search.rounds.advance()

    def clone(self) -> ReplayTrace:
        """Another one, not in a search."""
        return ReplayTrace(self.max_fail_count)


class _Search:
    """What a search needs from round to round."""

    def __init__(
        self, context: TuneContext | None, rounds: Rounds, traces: list[Trace]
    ) -> None:
        self.rounds = rounds
        self._traces = traces
        self._replayer, seed = replayer(context)
        self._engine = RandomEngine(seed)

    def draw(self, tries: int) -> Schedule | None:
        """A random schedule, or None if none of the tries is legal."""
        for _ in range(tries):
            trace = self._traces[self._engine.below(len(self._traces))]
            made = self._replayer.apply(Trace(trace.insts, {}), self._engine.fork())
            if made is not None:
                return made
        return None
