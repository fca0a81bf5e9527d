"""The form of all feature extractors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm.meta_schedule.base import Component, unknown_kind
from tvm.runtime import Tensor

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.search_context import SearchContext


class FeatureExtractor(Component):
    """Turns candidates into tables of numbers, for a cost model to learn from."""

    def extract_from(
        self, context: SearchContext, candidates: list[MeasureCandidate]
    ) -> list[Tensor]:
        """A tensor for each candidate: a row for each of its parts, a column for each feature."""
        self._missing("extract_from")

    @staticmethod
    def create(kind: str, *args: Any, **kwargs: Any) -> FeatureExtractor:
        """An extractor by kind: per-store-feature."""
        from .per_store_feature import PerStoreFeature  # derived from this class

        if kind != "per-store-feature":
            raise unknown_kind("FeatureExtractor", kind, ("per-store-feature",))
        return PerStoreFeature(*args, **kwargs)


class PyFeatureExtractor(FeatureExtractor):
    """Derive from it, define `extract_from`, and decorate with `derived_object`."""


create = FeatureExtractor.create
