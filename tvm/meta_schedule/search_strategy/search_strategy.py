"""The form of all strategies, and what they propose to measure."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from tvm.error import ArgumentValueError, TVMError, message
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.meta_schedule.measure_candidate import MeasureCandidate as MeasureCandidate
from tvm.tir.schedule import Schedule

if TYPE_CHECKING:
    from tvm.meta_schedule.cost_model import CostModel
    from tvm.meta_schedule.database import Database
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.tune_context import TuneContext


class SearchStrategy(Component):
    """Proposes candidates, is told how they did, and proposes others.

    `pre_tuning`, then `generate_measure_candidates` and `notify_runner_results` in turn until the
    former returns None, then `post_tuning`.
    """

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        """Remember what is searched for."""
        self._missing("_initialize_with_tune_context")

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: list[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin a search."""
        self._missing("pre_tuning")

    def post_tuning(self) -> None:
        """End the search."""
        self._missing("post_tuning")

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """What to measure next; None when the search is over."""
        self._missing("generate_measure_candidates")

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]
    ) -> None:
        """How the candidates did."""
        self._missing("notify_runner_results")

    def clone(self) -> SearchStrategy:
        """Another one, not in a search, that can belong to another context."""
        return copy.copy(self)

    @staticmethod
    def create(kind: str = "evolutionary", *args: Any, **kwargs: Any) -> SearchStrategy:
        """A strategy by kind: evolutionary, replay-trace or replay-func."""
        from .evolutionary_search import EvolutionarySearch  # derived from this class
        from .replay_func import ReplayFunc
        from .replay_trace import ReplayTrace

        kinds: dict[str, type[SearchStrategy]] = {
            "evolutionary": EvolutionarySearch,
            "replay-trace": ReplayTrace,
            "replay-func": ReplayFunc,
        }
        if kind not in kinds:
            raise unknown_kind("SearchStrategy", kind, kinds)
        return kinds[kind](*args, **kwargs)


class PySearchStrategy(SearchStrategy):
    """Derive from it, define its methods, and decorate with `derived_object`."""

    def clone(self) -> SearchStrategy:
        """Another one that can belong to another context."""
        self._missing("clone")


class Rounds:
    """How many candidates were asked for so far, and how many the next round may have."""

    def __init__(self, max_trials: int, num_trials_per_iter: int) -> None:
        for name, value, least in (
            ("max_trials", max_trials, 0), ("num_trials_per_iter", num_trials_per_iter, 1),
        ):  # fmt: skip
            if value < least:
                raise ArgumentValueError(
                    message(f"pre_tuning: {name} is {value}", legal=f"a number, at least {least}")
                )
        self._most, self._each = max_trials, num_trials_per_iter
        self._done = 0

    @property
    def next_count(self) -> int:
        """Candidates of the next round; 0 when all trials are used up."""
        return max(0, min(self._each, self._most - self._done))

    def advance(self) -> None:
        """A round was measured."""
        self._done += self._each


class Search(Protocol):
    """What a strategy of rounds has from `pre_tuning` to `post_tuning`."""

    def round(self) -> list[MeasureCandidate] | None:
        """What to measure next; None when the search is over."""

    def notify(self, candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """How they did."""


S = TypeVar("S", bound=Search)


class StrategyInRounds(SearchStrategy, Generic[S]):
    """A strategy whose `_begin` makes the search that is asked from round to round.

    Where the context asks for it (`rule_first`) and its space is the one of the target, the first
    candidate is what the rules of the target make of the module.
    """

    def __init__(self) -> None:
        self._context: TuneContext | None = None
        self._search: S | None = None
        self._first_count = 0  # candidates of the first round, which is still to come

    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        self._context = context
        self._search = None

    def _begin(
        self,
        rounds: Rounds,
        design_spaces: list[Schedule],
        database: Database | None,
        cost_model: CostModel | None,
    ) -> S:
        self._missing("_begin")

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int,
        design_spaces: list[Schedule],
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin a search."""
        if self._search is not None:
            raise ArgumentValueError(
                message(
                    "`PreTuning` is already invoked without corresponding `PostTuning`.",
                    found="a strategy that is in a search",
                    legal="a call of post_tuning between two searches",
                )
            )
        rounds = Rounds(max_trials, num_trials_per_iter)
        self._first_count = rounds.next_count
        self._search = self._begin(rounds, design_spaces, database, cost_model)

    def post_tuning(self) -> None:
        """End the search."""
        if self._search is None:
            raise ArgumentValueError(
                message(
                    "`PostTuning` is invoked without corresponding `PreTuning`, or `PostTuning` "
                    "is already invoked.",
                    found="a strategy that is in no search",
                    legal="one call of post_tuning for each of pre_tuning",
                )
            )
        self._search = None

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """The candidates of the next round; None when the search is over."""
        found = self._searching("generate_measure_candidates").round()
        if self._first_count > 0:
            count, self._first_count = self._first_count, 0
            by_rule = self._by_rule()
            if by_rule is not None:
                return [by_rule, *(found or ())][:count]
        return found

    def _by_rule(self) -> MeasureCandidate | None:
        from .rule_candidate import rule_candidate  # which makes candidates of our kind

        context = self._context
        return rule_candidate(context) if context is not None and context.rule_first else None

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]
    ) -> None:
        """How the candidates did; the next round begins."""
        self._searching("notify_runner_results").notify(measure_candidates, results)

    def _searching(self, asked: str) -> S:
        if self._search is None:
            raise TVMError(
                message(
                    f"{asked}: the strategy is in no search", legal="a call of pre_tuning before"
                )
            )
        return self._search


def require_spaces(spaces: Sequence[Schedule]) -> None:
    """Refuse a search without anything to search in."""
    if not spaces:
        raise ArgumentValueError(
            message("pre_tuning: there are no design spaces", legal="at least one schedule")
        )


create = SearchStrategy.create
