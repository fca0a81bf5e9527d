"""Random search: the traces of the spaces with all decisions drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.tir.schedule import Schedule, Trace
from tvm.tir.schedule.random_engine import RandomEngine

from .search_strategy import Rounds, StrategyInRounds, require_spaces
from .trace_replay import candidate, replayer

if TYPE_CHECKING:
    from tvm.meta_schedule.cost_model import CostModel
    from tvm.meta_schedule.database import Database
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.tune_context import TuneContext


class ReplayTrace(StrategyInRounds["_Search"]):
    """Draws space and decisions for each trial, up to `max_fail_count` times until one is legal."""

    def __init__(self, max_fail_count: int = 100) -> None:
        self.max_fail_count = max_fail_count
        super().__init__()

    def _begin(
        self,
        rounds: Rounds,
        design_spaces: list[Schedule],
        database: Database | None,
        cost_model: CostModel | None,
    ) -> _Search:
        require_spaces(design_spaces)
        traces = [space.trace.simplified(remove_postproc=True) for space in design_spaces]
        return _Search(self._context, rounds, traces, self.max_fail_count)

    def clone(self) -> ReplayTrace:
        """Another one, not in a search."""
        return ReplayTrace(self.max_fail_count)


class _Search:
    """What a search needs from round to round."""

    def __init__(
        self,
        context: TuneContext | None,
        rounds: Rounds,
        traces: list[Trace],
        max_fail_count: int,
    ) -> None:
        self._rounds = rounds
        self._traces = traces
        self._max_fail_count = max_fail_count
        self._replayer, seed = replayer(context)
        self._engine = RandomEngine(seed)

    def notify(self, candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Go on to the next round."""
        self._rounds.advance()

    def round(self) -> list[MeasureCandidate] | None:
        """A round of random candidates."""
        count = self._rounds.next_count
        if count == 0:
            return None
        drawn = [self._draw() for _ in range(count)]
        return [candidate(sch) for sch in drawn if sch is not None]

    def _draw(self) -> Schedule | None:
        """A random schedule, or None if none of the tries is legal."""
        for _ in range(self._max_fail_count):
            trace = self._traces[self._engine.below(len(self._traces))]
            made = self._replayer.apply(Trace(trace.insts, {}), self._engine.fork())
            if made is not None:
                return made
        return None
