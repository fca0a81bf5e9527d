"""Features that say nothing: for tests of what uses features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.runtime import Tensor, tensor

from .feature_extractor import PyFeatureExtractor

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.search_context import SearchContext


class RandomFeatureExtractor(PyFeatureExtractor):
    """Random numbers for up to `max_block_num` parts of each candidate, the same for a seed."""

    def __init__(self, *, feature_size: int = 30, max_block_num: int = 5, seed: int = 0) -> None:
        self.feature_size = feature_size
        self.max_block_num = max_block_num
        self._numbers = np.random.RandomState(seed)

    @property
    def random_state(self) -> Any:
        """The state of numpy's generator."""
        return self._numbers.get_state()

    @random_state.setter
    def random_state(self, state: Any) -> None:
        self._numbers.set_state(state)

    def extract_from(
        self, context: SearchContext, candidates: list[MeasureCandidate]
    ) -> list[Tensor]:
        """A table of random numbers for each candidate."""
        found = []
        for _ in candidates:
            rows = self._numbers.randint(1, self.max_block_num + 1)
            found.append(tensor(self._numbers.rand(rows, self.feature_size)))
        return found
