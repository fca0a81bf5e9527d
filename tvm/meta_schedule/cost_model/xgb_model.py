"""The learned model: a linear model and boosted trees over features of the candidates' programs.

A candidate has a row of features for each block that stores (Zheng et al., "Ansor", OSDI 2020,
section 5.2); the sums and the largest of its rows are its features. The label is the logarithm of
its speed. Of a few dozen measurements the linear model learns more, of hundreds the trees: a score
is the mean of both.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tvm.meta_schedule.feature_extractor import FeatureExtractor
from tvm.meta_schedule.profiler import Profiler
from tvm.meta_schedule.ridge import Ridge
from tvm.meta_schedule.utils import derived_object, shash2hex

from .boosted_trees import Booster, Floats
from .cost_model import PyCostModel, Scores
from .feature_group import FAILED_SECS, FeatureGroup, cost_of
from .files import load_arrays, save_arrays
from .metric import make_metric_sorter as make_metric_sorter
from .metric import max_curve, rank_correlation
from .xgb_callback import _get_custom_call_back as _get_custom_call_back

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.search_context import SearchContext

_LOG = logging.getLogger(__name__)
_MAX_ROUNDS = 60
_PENALTY = 100.0  # of the linear model
_MAX_REMEMBERED = 1024  # candidates whose features are at hand
TreeMethod = Literal["auto", "exact", "approx", "hist", "gpu_hist"]


class Rows(NamedTuple):
    """All rows of features, with a label each where it is known."""

    data: npt.NDArray[np.float32]
    label: Floats | None

    def get_label(self) -> Floats:
        """The labels."""
        assert self.label is not None, "labels are for training"
        return self.label


class PackSum:
    """The rows of several candidates in one matrix; `ids` says whose each row is.

    `xs` has an array of rows for each candidate, `ys` its label.
    """

    def __init__(self, xs: Sequence[npt.NDArray[Any]], ys: npt.NDArray[Any] | None) -> None:
        self._count = len(xs)
        sizes = [len(x) for x in xs]
        self.ids: npt.NDArray[np.int64] = np.repeat(np.arange(len(xs)), sizes)
        data = np.concatenate(list(xs), axis=0).astype(np.float32)
        label = None if ys is None else np.repeat(np.asarray(ys, np.float64), sizes)
        self.dmatrix = Rows(data, label)

    def predict_with_score(self, pred: Floats) -> Floats:
        """The score of each candidate: the sum over its rows."""
        # without any rows the sums are integers
        return np.bincount(self.ids, pred, self._count).astype(np.float64)

    def _labels(self) -> Floats:
        """The label of each candidate that has rows, 0 for others."""
        labels = np.zeros(self._count)
        labels[self.ids] = self.dmatrix.get_label()
        return labels

    def obj_square_error(self, ys_pred: Floats) -> tuple[Floats, Floats]:
        """Derivatives of the squared error of the scores, weighted by the labels."""
        label = self.dmatrix.get_label()
        gradient = (self.predict_with_score(ys_pred)[self.ids] - label) * label
        return gradient, label.copy()

    def rmse(self, ys_pred: Floats) -> tuple[str, float]:
        """The root of the mean squared error of the scores."""
        error = self.predict_with_score(ys_pred) - self._labels()
        return "p-rmse", float(np.sqrt(np.mean(error * error)))

    def average_peak_score(self, ys_pred: Floats, n: int) -> tuple[str, float]:
        """How close, on average over n trials in the order of the scores, the best so far is."""
        labels = self._labels()
        trials = np.argsort(-self.predict_with_score(ys_pred), kind="stable")[:n]
        curve = max_curve(labels[trials]) / max(float(labels.max()), 1e-12)
        return f"a-peak@{n}", float(np.mean(curve))


class XGBConfig(NamedTuple):
    """Options of the trees. All values of `tree_method` mean histograms here."""

    max_depth: int = 10
    gamma: float = 0.001
    min_child_weight: float = 0
    eta: float = 0.2
    seed: int = 43
    nthread: int | None = None
    tree_method: TreeMethod = "auto"

    def to_dict(self) -> dict[str, Any]:
        """The options by name, but those that are None."""
        return {name: value for name, value in self._asdict().items() if value is not None}


DEFAULT_CONFIG = XGBConfig()


@derived_object
class XGBModel(PyCostModel):
    """Scores candidates, as `-log(seconds)`; before `num_warmup_samples` were measured, at random.

    With `adaptive_training` it learns anew only when a fifth more was measured.
    """

    def __init__(
        self,
        *,
        extractor: Any = "per-store-feature",
        config: XGBConfig = DEFAULT_CONFIG,
        num_warmup_samples: int = 100,
        early_stopping_rounds: int = 50,
        verbose_eval: int = 25,
        average_peak_n: int = 32,
        adaptive_training: bool = True,
        num_tuning_cores: int | None = None,
        tree_method: TreeMethod | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(extractor, FeatureExtractor):
            extractor = FeatureExtractor.create(extractor)
        if num_tuning_cores is not None:
            config = config._replace(nthread=num_tuning_cores)
        if tree_method is not None:
            config = config._replace(tree_method=tree_method)
        self.extractor: FeatureExtractor = extractor
        self.config = config
        self.num_warmup_samples = num_warmup_samples
        self.early_stopping_rounds = early_stopping_rounds
        self.verbose_eval = verbose_eval
        self.average_peak_n = average_peak_n
        self.adaptive_training = adaptive_training
        self.data: dict[str, FeatureGroup] = {}
        self.data_size = 0
        self.booster: Booster | None = None
        self.linear = Ridge(_PENALTY)
        self.last_train_size = 0
        self.rank_correlations: list[float] = []  # of each batch with what was said before it
        self._features: dict[int, tuple[MeasureCandidate, npt.NDArray[np.float32] | None]] = {}
        self._random = np.random.RandomState(config.seed)

    # --- storing ---

    def load(self, path: str) -> None:
        """Take up what was measured, and the trees that `save` wrote."""
        names = ("group_hashes", "group_sizes", "costs", "row_counts", "rows", "trained")
        stored = load_arrays(path, "an XGBModel", (*names, "tree_sizes"))
        self.data = FeatureGroup.from_arrays(stored)
        self.data_size = sum(len(group.costs) for group in self.data.values())
        self.last_train_size = int(stored["trained"])
        self.booster = self._new_booster() if len(stored["tree_sizes"]) else None
        if self.booster is not None:
            self.booster.set_arrays(stored)
            self._fit_linear(*self._training_set())

    def save(self, path: str) -> None:
        """Write what was measured, and the trees."""
        trees = self.booster or self._new_booster()
        trained = {"trained": np.array(self.last_train_size)}
        save_arrays(path, {**trained, **FeatureGroup.to_arrays(self.data), **trees.arrays()})

    def _new_booster(self) -> Booster:
        c = self.config
        return Booster(c.max_depth, c.gamma, c.min_child_weight, c.eta)

    # --- learning ---

    def update(
        self,
        context: SearchContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        """Learn from measured candidates."""
        assert len(candidates) == len(results), "a result a candidate"
        if not candidates:
            return
        pairs = [
            (x, cost_of(r)) for x, r in zip(self._extract(context, candidates), results) if len(x)
        ]
        if not pairs:
            return
        features, costs = [x for x, _ in pairs], np.array([cost for _, cost in pairs])
        if self.knows(context):
            self._report(self._predicted(features), costs)
        self._add(shash2hex(context.mod), features, costs)
        if self._is_due():
            with Profiler.timeit("CostModel/Train"):
                self._train()

    def _extract(
        self, context: SearchContext, candidates: Sequence[MeasureCandidate]
    ) -> list[npt.NDArray[np.float32]]:
        """The features of candidates; of those that were scored before they are measured, once."""
        known = [self._features.pop(id(c), (c, None))[1] for c in candidates]
        new = [c for c, rows in zip(candidates, known) if rows is None]
        with Profiler.timeit("CostModel/ExtractFeatures"):
            extracted = iter(self.extractor.extract_from(context, new) if new else ())
        found = [
            next(extracted).numpy().astype(np.float32) if rows is None else rows for rows in known
        ]
        self._features.update({id(c): (c, rows) for c, rows in zip(candidates, found)})
        while len(self._features) > _MAX_REMEMBERED:
            self._features.pop(next(iter(self._features)))
        return found

    def _add(self, group: str, features: list[npt.NDArray[np.float32]], costs: Floats) -> None:
        known = self.data.get(group)
        if known is None:
            self.data[group] = FeatureGroup(group, features, costs)
        else:
            known.append(features, costs)
        self.data_size += len(features)

    def _is_due(self) -> bool:
        if not self.adaptive_training:
            return True
        return self.data_size - self.last_train_size >= self.last_train_size / 5

    def _train(self) -> None:
        self.last_train_size = self.data_size
        rows, labels = self._training_set()
        self._fit_linear(rows, labels)
        self.booster = self._new_booster()
        ones = np.ones(len(labels))
        self.booster.fit(
            rows, lambda pred: (pred - labels, ones), lambda pred: float(np.var(pred - labels)),
            _MAX_ROUNDS, min(self.early_stopping_rounds, _MAX_ROUNDS),
        )  # fmt: skip

    def _training_set(self) -> tuple[npt.NDArray[np.float32], Floats]:
        """The features of all candidates, and how much faster than usual in its program each is."""
        groups = list(self.data.values())
        rows = _aggregated([x for group in groups for x in group.features])
        return rows, np.concatenate([_log_speeds(g.costs) - _usual(g.costs) for g in groups])

    def _fit_linear(self, rows: npt.NDArray[np.float32], labels: Floats) -> None:
        self.linear = Ridge(_PENALTY).fit(rows, labels)

    def _report(self, predicted: Floats, costs: Floats) -> None:
        """Say how well the model knew what was measured since it learned."""
        measured = costs < FAILED_SECS
        if measured.sum() < 2:
            return
        truth = costs.min() / costs
        order = np.argsort(-predicted, kind="stable")[: self.average_peak_n]
        peak = float(np.mean(max_curve(truth[order])))
        rho = rank_correlation(predicted[measured], truth[measured])
        self.rank_correlations.append(rho)
        _LOG.debug("validation: rank correlation: %.6f\ta-peak@%d: %.6f", rho, len(order), peak)

    # --- scoring ---

    def knows(self, context: SearchContext) -> bool:
        """Whether scores are more than random numbers."""
        return self.booster is not None and self.data_size >= self.num_warmup_samples

    def predict(self, context: SearchContext, candidates: Sequence[MeasureCandidate]) -> Scores:
        """A score for each candidate."""
        if not self.knows(context) or not candidates:
            return self._random.uniform(0, 1, len(candidates))
        features = self._extract(context, candidates)
        own = self.data.get(shash2hex(context.mod))
        with Profiler.timeit("CostModel/Predict"):
            scores = np.full(len(features), -np.inf)
            legal = [i for i, x in enumerate(features) if len(x)]
            if legal:
                scores[legal] = self._predicted([features[i] for i in legal])
            return scores + (0.0 if own is None else _usual(own.costs))

    def _predicted(self, features: Sequence[npt.NDArray[np.float32]]) -> Floats:
        assert self.booster is not None, "asked before"
        rows = _aggregated(features)
        found: Floats = (self.linear.predict(rows) + self.booster.predict(rows)) / 2
        return found


def _aggregated(features: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
    """A row for each candidate: the sums of its rows, and the largest numbers."""
    return np.stack([np.concatenate([x.sum(axis=0), x.max(axis=0)]) for x in features])


def _log_speeds(costs: Floats) -> Floats:
    """Logarithms of speed; what failed is slower than the slowest by a factor."""
    measured = costs < FAILED_SECS
    if not measured.any():
        return np.zeros(len(costs))
    logs = -np.log(np.where(measured, np.maximum(costs, 1e-12), 1.0))
    return np.where(measured, logs, logs[measured].min() - 1.0)


def _usual(costs: Floats) -> float:
    return float(_log_speeds(costs).mean())
