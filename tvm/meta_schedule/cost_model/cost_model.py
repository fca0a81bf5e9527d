"""What a cost model has to do: learn from results, and score candidates (higher is better)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tvm.meta_schedule.base import Component, unknown_kind

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.search_context import SearchContext

Scores: TypeAlias = npt.NDArray[np.float64]
_KINDS = ("xgb", "mlp", "random", "none")


class CostModel(Component):
    """Scores candidates."""

    def load(self, path: str) -> None:
        """Take up what `save` wrote."""
        self._missing("Load")

    def save(self, path: str) -> None:
        """Write what was learned to a file."""
        self._missing("Save")

    def update(
        self,
        context: SearchContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        """Learn from measured candidates."""
        self._missing("Update")

    def knows(self, context: SearchContext) -> bool:
        """Whether scores are more than random numbers."""
        return True

    def predict(self, context: SearchContext, candidates: Sequence[MeasureCandidate]) -> Scores:
        """A score for each candidate; higher is better."""
        self._missing("Predict")

    @staticmethod
    def create(
        kind: Literal["xgb", "mlp", "random", "none"] | CostModel, *args: Any, **kwargs: Any
    ) -> CostModel | None:
        """The model of a kind; None for "none"."""
        if isinstance(kind, CostModel):
            return kind
        if kind not in _KINDS:
            raise unknown_kind("CostModel", kind, _KINDS)
        if kind == "none":
            return None
        if kind != "xgb":
            kwargs.pop("num_tuning_cores", None)  # an option of one kind that tune_tir always gives
        return _named(kind)(*args, **kwargs)


def _named(kind: str) -> Callable[..., CostModel]:
    from .mlp_model import MLPModel  # which are of our kind
    from .random_model import RandomModel
    from .xgb_model import XGBModel

    models: dict[str, Callable[..., CostModel]] = {"xgb": XGBModel, "mlp": MLPModel}
    return models.get(kind, RandomModel)


CostModelType: TypeAlias = CostModel | Literal["xgb", "mlp", "random"]
CostModel.CostModelType = CostModelType  # type: ignore[attr-defined]  # the name in signatures
create = CostModel.create


class PyCostModel(CostModel):
    """The base of cost models that users write."""
