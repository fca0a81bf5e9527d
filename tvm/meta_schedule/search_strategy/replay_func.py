"""Random search that makes the space anew for each trial: for spaces that are functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.error import ArgumentValueError, message
from tvm.ir.module import IRModule
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.space_generator.space_generator import SpaceGenerator
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.random_engine import RandomEngine

from .search_strategy import Rounds, StrategyInRounds
from .trace_replay import candidate, replayer

if TYPE_CHECKING:
    from tvm.meta_schedule.cost_model import CostModel
    from tvm.meta_schedule.database import Database
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.tune_context import TuneContext


class ReplayFunc(StrategyInRounds["_Search"]):
    """Calls the space generator of its context for each trial."""

    def _begin(
        self,
        rounds: Rounds,
        design_spaces: list[Schedule],
        database: Database | None,
        cost_model: CostModel | None,
    ) -> _Search:
        return _Search(self._context, rounds)

    def clone(self) -> ReplayFunc:
        """Another one, not in a search."""
        return ReplayFunc()


class _Search:
    """What a search needs from round to round."""

    MAX_FAILURES = 100  # spaces in a row without one legal schedule

    def __init__(self, context: TuneContext | None, rounds: Rounds) -> None:
        self._rounds = rounds
        self._replayer, seed = replayer(context)
        self._engine = RandomEngine(seed)
        self._mod, self._space = _space_of(context)

    def notify(self, candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Go on to the next round."""
        self._rounds.advance()

    def round(self) -> list[MeasureCandidate] | None:
        """A round of random candidates, or fewer if too many are refused."""
        count = self._rounds.next_count
        if count == 0:
            return None
        found: list[MeasureCandidate] = []
        failures = 0
        while len(found) < count and failures < self.MAX_FAILURES:
            spaces = self._space.generate_design_space(self._mod)
            sch = spaces[self._engine.below(len(spaces))]
            if self._replayer.finish(sch):
                found.append(candidate(sch))
            else:
                failures += 1
        return found


def _space_of(context: TuneContext | None) -> tuple[IRModule, SpaceGenerator]:
    if context is None or context.space_generator is None or context.mod is None:
        raise ArgumentValueError(
            message(
                "The search strategy has not been initialized.",
                found="there is no space to draw from",
                legal="TuneContext(mod, space_generator=..., search_strategy='replay-func')",
            )
        )
    return context.mod, context.space_generator
