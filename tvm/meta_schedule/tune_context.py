"""One search: a module, a target, the space of its schedules, and the strategy that looks there."""

from __future__ import annotations

from logging import Logger
from typing import TYPE_CHECKING, Any, Literal

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule

from .search_context import SearchContext, normalize_mod

if TYPE_CHECKING:
    from .cost_model import CostModel
    from .database import Database
    from .measure_candidate import MeasureCandidate
    from .runner import RunnerResult
    from .search_strategy import SearchStrategy
    from .space_generator import SpaceGenerator


class TuneContext(SearchContext):
    """A search: what it is about, and its parts, which are told of it when it is made."""

    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Target | str | None = None,
        space_generator: Any = None,
        search_strategy: Any = None,
        task_name: str = "main",
        rand_state: int = -1,
        num_threads: int | Literal["physical", "logical"] = "physical",
        logger: Logger | None = None,
    ) -> None:
        from .search_strategy import SearchStrategy  # their parts know the context by type
        from .space_generator import SpaceGenerator

        if space_generator is not None and not isinstance(space_generator, SpaceGenerator):
            space_generator = SpaceGenerator.create(space_generator)
        if search_strategy is not None and not isinstance(search_strategy, SearchStrategy):
            search_strategy = SearchStrategy.create(search_strategy)
        super().__init__(
            mod,
            target=target,
            task_name=task_name,
            rand_state=rand_state,
            num_threads=num_threads,
            logger=logger,
        )
        self.space_generator: SpaceGenerator | None = space_generator
        self.search_strategy: SearchStrategy | None = search_strategy
        self._initialize()

    def _initialize(self) -> None:
        if self.space_generator is not None:
            self.space_generator._initialize_with_tune_context(self)
        if self.search_strategy is not None:
            self.search_strategy._initialize_with_tune_context(self)

    def generate_design_space(self) -> list[Schedule]:
        """The schedules, with open decisions, that the space generator makes of the module."""
        if self.space_generator is None:
            raise _absent("space_generator")
        if self.mod is None:
            raise _absent("mod")
        return self.space_generator.generate_design_space(self.mod)

    def pre_tuning(
        self,
        max_trials: int,
        num_trials_per_iter: int = 64,
        design_spaces: list[Schedule] | None = None,
        database: Database | None = None,
        cost_model: CostModel | None = None,
    ) -> None:
        """Begin a search; what is not given is made here."""
        strategy = self._strategy()
        if design_spaces is None:
            design_spaces = self.generate_design_space()
        if database is None:
            from .database import Database  # it knows contexts, too

            database = Database.create("memory")
        if cost_model is None:
            from .cost_model import CostModel

            cost_model = CostModel.create("random")
        strategy.pre_tuning(max_trials, num_trials_per_iter, design_spaces, database, cost_model)

    def post_tuning(self) -> None:
        """End the search."""
        self._strategy().post_tuning()

    def generate_measure_candidates(self) -> list[MeasureCandidate] | None:
        """What to measure next; None when the search is over."""
        return self._strategy().generate_measure_candidates()

    def notify_runner_results(
        self, measure_candidates: list[MeasureCandidate], results: list[RunnerResult]
    ) -> None:
        """Tell the strategy what was measured."""
        self._strategy().notify_runner_results(measure_candidates, results)

    def clone(self) -> TuneContext:
        """Another context of the same module with parts of its own."""
        return TuneContext(
            self.mod,
            target=self.target,
            space_generator=self.space_generator and self.space_generator.clone(),
            search_strategy=self.search_strategy and self.search_strategy.clone(),
            task_name=self.task_name,
            rand_state=self.rand_state,
            num_threads=self.num_threads,
            logger=self.logger,
        )

    def _strategy(self) -> SearchStrategy:
        if self.search_strategy is None:
            raise _absent("search_strategy")
        return self.search_strategy


_normalize_mod = normalize_mod  # the name under which scripts of TVM import it


def _absent(part: str) -> ValueError:
    return ValueError(
        message(
            f"{part} is not provided.",
            legal=f"Please construct TuneContext with {part}",
        )
    )
