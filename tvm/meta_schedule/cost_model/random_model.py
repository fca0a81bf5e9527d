"""A model that knows nothing: scores are random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.meta_schedule.utils import derived_object

from .cost_model import PyCostModel, Scores
from .files import load_arrays, save_arrays

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.search_context import SearchContext


@derived_object
class RandomModel(PyCostModel):
    """Scores are below `max_range`; the same seed gives the same scores."""

    def __init__(
        self,
        *,
        seed: int | None = None,
        path: str | None = None,
        max_range: int | None = 100,
    ) -> None:
        super().__init__()
        self.path = path
        self.max_range = max_range
        self._random = np.random.RandomState(seed)
        if path is not None:
            self.load(path)

    @property
    def random_state(self) -> Any:
        """The state of the generator, as numpy has it."""
        return self._random.get_state()

    @random_state.setter
    def random_state(self, state: Any) -> None:
        self._random.set_state(state)

    def load(self, path: str) -> None:
        """Take up the state that `save` wrote."""
        data = load_arrays(path, "a RandomModel", ("name", "keys", "position", "gauss"))
        has_gauss, cached = data["gauss"]
        self.random_state = (
            str(data["name"]), data["keys"], int(data["position"]), int(has_gauss), float(cached),
        )  # fmt: skip

    def save(self, path: str) -> None:
        """Write the state to a file."""
        name, keys, position, has_gauss, cached = self.random_state
        state = {
            "name": np.array(name), "keys": keys, "position": np.array(position),
            "gauss": np.array([has_gauss, cached]),
        }  # fmt: skip
        save_arrays(path, state)

    def update(
        self,
        context: SearchContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        """Nothing is learned."""

    def knows(self, context: SearchContext) -> bool:
        """Nothing."""
        return False

    def predict(self, context: SearchContext, candidates: Sequence[MeasureCandidate]) -> Scores:
        """Random numbers."""
        return self._random.rand(len(candidates)) * (self.max_range or 1)
