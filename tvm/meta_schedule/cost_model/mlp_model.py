"""The learned model that is a network: it keeps learning from each batch that was measured.

Scores are trained for their order: the loss is that of `rank_loss`. After Zheng et al., "TenSet"
(NeurIPS Datasets and Benchmarks 2021).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tvm.meta_schedule.feature_extractor import FeatureExtractor, PerStoreFeature
from tvm.meta_schedule.profiler import Profiler
from tvm.meta_schedule.utils import derived_object, shash2hex
from tvm.target.target import Target

from .cost_model import PyCostModel, Scores
from .feature_group import FeatureGroup, cost_of
from .files import load_arrays, save_arrays
from .mlp_network import Adam, Array, SegmentSumMLP, StepLR
from .rank_loss import lambda_rank_loss, rank_loss_and_gradient, topk_score

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.search_context import SearchContext

__all__ = [
    "FeatureGroup", "MLPModel", "SegmentDataLoader", "SegmentSumMLP", "SegmentSumMLPConfig",
    "SegmentSumMLPTrainer", "State", "TrainerConfig", "extract_features", "lambda_rank_loss",
    "topk_score",
]  # fmt: skip

_LOG = logging.getLogger(__name__)
Batch: TypeAlias = "tuple[npt.NDArray[Any], Array, npt.NDArray[Any] | None]"
# So much of what is known must be new for the network to be trained anew.
_NEW_ENOUGH = 0.2
_TOP_SIZES = (1, 5, 10)


class SegmentSumMLPConfig(NamedTuple):
    """The network's form."""

    input_dim: int = 172
    hidden_dim: int = 256
    output_dim: int = 1
    use_norm: bool = False
    use_sigmoid: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The options by name."""
        return self._asdict()


class TrainerConfig(NamedTuple):
    """How the network learns."""

    batch_size: int = 128
    learning_rate: float = 7e-4
    weight_decay: float = 1e-6
    num_epoch_full: int = 50
    num_epoch_incremental: int = 5
    grad_clip_norm: float = 0.5
    train_verbose: int = 1000
    test_interval: int = 1
    test_split: float = 0.2
    frozen: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The options by name."""
        return self._asdict()


class SegmentDataLoader:
    """Batches of candidates: rows of each, all rows, and their results where there are some."""

    def __init__(
        self,
        features: Sequence[Array],
        results: npt.NDArray[Any] | None = None,
        batch_size: int = 128,
        shuffle: bool = True,
    ) -> None:
        self.features = list(features)
        self.results = results
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.data_size = len(self.features)
        self._random = np.random.RandomState(43)

    def __len__(self) -> int:
        return -(-self.data_size // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        order = np.arange(self.data_size)
        if self.shuffle:
            self._random.shuffle(order)
        for begin in range(0, self.data_size, self.batch_size):
            chosen = order[begin : begin + self.batch_size]
            parts = [self.features[k] for k in chosen]
            sizes = np.array([len(part) for part in parts])
            results = None if self.results is None else self.results[chosen]
            yield sizes, np.concatenate(parts).astype(np.float32), results


def extract_features(
    context: SearchContext,
    candidates: Sequence[MeasureCandidate],
    results: Sequence[RunnerResult] | None = None,
    extractor: FeatureExtractor | None = None,
) -> tuple[list[Array], npt.NDArray[np.float32] | None]:
    """Features of each candidate, and its seconds where results are given."""
    extractor = extractor or PerStoreFeature(extract_workload=True)
    with Profiler.timeit("CostModel/ExtractFeatures"):
        extracted = extractor.extract_from(context, list(candidates))
    features = [x.numpy().astype(np.float32) for x in extracted]
    costs = None if results is None else np.array([cost_of(r) for r in results], np.float32)
    return features, costs


class State:
    """The network, and what was measured."""

    def __init__(
        self,
        model_config: SegmentSumMLPConfig | None = None,
        extractor: FeatureExtractor | None = None,
    ) -> None:
        self.config = model_config or SegmentSumMLPConfig()
        self.extractor = extractor or PerStoreFeature(extract_workload=True)
        self.model = SegmentSumMLP(**self.config.to_dict())
        self.data: dict[str, FeatureGroup] = {}
        self.data_size = 0
        self.untrained_size = 0

    def load(self, path: str, target: str = "nvidia/nvidia-v100") -> None:
        """Take up what `save` wrote, or the databases of tuning below a folder.

        Of databases, the records of `target` count; they train nothing by themselves.
        """
        if Path(path).is_dir():
            self._load_databases(Path(path), Target(target))
            return
        names = ("group_hashes", "group_sizes", "costs", "row_counts", "rows", "untrained")
        stored = load_arrays(path, "an MLPModel", (*names, *self.model.arrays()))
        self.model.set_arrays(stored)
        self.data = FeatureGroup.from_arrays(stored)
        self.data_size = sum(len(group.costs) for group in self.data.values())
        self.untrained_size = int(stored["untrained"])

    def _load_databases(self, folder: Path, target: Target) -> None:
        from tvm.meta_schedule.database import JSONDatabase  # which are above models
        from tvm.meta_schedule.search_context import SearchContext

        for path in sorted(folder.rglob("database_tuning_record.json")):
            for record in JSONDatabase(work_dir=str(path.parent)).get_all_tuning_records():
                if record.target is None or record.target.kind != target.kind:
                    continue
                context = SearchContext(record.workload.mod, target=target)
                candidates = [record.as_measure_candidate()]
                features, _ = extract_features(context, candidates, None, self.extractor)
                costs = np.array([record.mean_secs], np.float32)
                self.add_to_group(features, costs, shash2hex(record.workload.mod))

    def save(self, path: str) -> None:
        """Write the network, and what was measured."""
        counts = {"untrained": np.array(self.untrained_size)}
        groups = FeatureGroup.to_arrays(self.data)
        save_arrays(path, {**counts, **groups, **self.model.arrays()})

    def add_to_group(self, features: list[Array], costs: npt.NDArray[Any], group_hash: str) -> None:
        """Remember measured candidates of a program."""
        known = self.data.get(group_hash)
        if known is None:
            self.data[group_hash] = FeatureGroup(group_hash, features, costs)
        else:
            known.append(features, costs)
        self.data_size += len(features)
        self.untrained_size += len(features)


class SegmentSumMLPTrainer:
    """Trains the network of a state."""

    optimizer: Adam
    scheduler: StepLR

    def __init__(
        self, train_config: TrainerConfig | None = None, state: State | None = None
    ) -> None:
        config = train_config or TrainerConfig()
        self.state = state or State()
        self.batch_size = config.batch_size
        self.learning_rate = config.learning_rate
        self.weight_decay = config.weight_decay
        self.num_epoch_full = config.num_epoch_full
        self.num_epoch_incremental = config.num_epoch_incremental
        self.grad_clip_norm = config.grad_clip_norm
        self.train_verbose = config.train_verbose
        self.test_interval = config.test_interval
        self.test_split = config.test_split
        self.frozen = config.frozen
        self._new_optimizer()

    def _new_optimizer(self) -> None:
        model = self.state.model
        self.optimizer = Adam(model, self.learning_rate, self.weight_decay)
        self.scheduler = StepLR(self.optimizer, max(self.num_epoch_full // 10, 1), 0.8)

    def train_step(self, data: Batch, batch: int = 0, train_loss: float | None = None) -> float:
        """Learn from a batch; the loss, smoothed by that of the batches before."""
        sizes, features, results = data
        assert results is not None, "a batch to learn from has results"
        scores = self.state.model.train().forward(sizes, features)
        loss, gradient = rank_loss_and_gradient(scores.astype(np.float64), results)
        self.state.model.backward(gradient)
        self.optimizer.step(self.grad_clip_norm)
        train_loss = loss if train_loss is None else train_loss * 0.95 + loss * 0.05
        if self.train_verbose and batch % self.train_verbose == 0:
            _LOG.debug("batch %d, train loss %.4f", batch, train_loss)
        return train_loss

    def predict_step(self, data: Batch) -> Array:
        """The scores of a batch."""
        return self.state.model.eval().forward(data[0], data[1])

    def train_full(self) -> None:
        """Learn from all that was measured; some of it tells how well."""
        groups = list(self.state.data.values())
        features = [x for group in groups for x in group.features]
        results = np.concatenate([group.min_cost / group.costs for group in groups])
        tested = np.random.RandomState(43).random_sample(len(features)) < self.test_split
        if tested.all():
            tested[:] = False
        learned = [x for x, test in zip(features, tested) if not test]
        loader = SegmentDataLoader(learned, results[~tested], self.batch_size)
        self._new_optimizer()
        batch, loss = 0, None
        for epoch in range(self.num_epoch_full):
            for data in loader:
                loss = self.train_step(data, batch, loss)
                batch += 1
            self.scheduler.step()
            if tested.any() and self.test_interval and epoch % self.test_interval == 0:
                held = [x for x, test in zip(features, tested) if test]
                self._report(f"epoch {epoch}", held, results[tested])
        self.state.untrained_size = 0

    def train_incremental(self, features: list[Array], results: npt.NDArray[Any]) -> None:
        """Learn from throughputs that were measured just now."""
        loader = SegmentDataLoader(features, results, self.batch_size)
        loss = None
        for _ in range(self.num_epoch_incremental):
            for batch, data in enumerate(loader):
                loss = self.train_step(data, batch, loss)

    def predict_incremental(
        self, features: list[Array], results: npt.NDArray[Any] | None = None
    ) -> Array:
        """Scores in the order of the candidates; reports their loss where results are given."""
        loader = SegmentDataLoader(features, results, self.batch_size, shuffle=False)
        scores = np.concatenate([np.zeros(0, np.float32), *(self.predict_step(x) for x in loader)])
        if results is not None:
            self._log("validation", scores, results)
        return scores

    def _report(self, when: str, features: list[Array], results: npt.NDArray[Any]) -> None:
        self._log(when, self.predict_incremental(features), results)

    def _log(self, when: str, scores: Array, results: npt.NDArray[Any]) -> None:
        loss = lambda_rank_loss(scores.astype(np.float64), results)
        tops = [
            f"top{k}: {topk_score(-scores.astype(np.float64), 1 / results, k):.4f}"
            for k in _TOP_SIZES
        ]
        _LOG.debug("%s: loss %.4f, %s", when, loss, ", ".join(tops))

    def update(self, features: list[Array], costs: npt.NDArray[Any], group_hash: str) -> None:
        """Remember measured candidates, and learn from them unless the network is frozen."""
        self.state.add_to_group(features, costs, group_hash)
        results = self.state.data[group_hash].min_cost / np.asarray(costs, np.float64)
        self.predict_incremental(features, results)
        if self.frozen:
            return
        with Profiler.timeit("CostModel/Train"):
            if self.state.untrained_size > self.state.data_size * _NEW_ENOUGH:
                self.train_full()
            else:
                self.train_incremental(features, results)


@derived_object
class MLPModel(PyCostModel):
    """Scores candidates by a network that learns as the search goes on."""

    def __init__(self, *, trainer: SegmentSumMLPTrainer | None = None) -> None:
        super().__init__()
        self.trainer = trainer or SegmentSumMLPTrainer()

    def load(self, path: str) -> None:
        """Take up what `save` wrote."""
        self.trainer.state.load(path)

    def save(self, path: str) -> None:
        """Write the network, and what was measured."""
        self.trainer.state.save(path)

    def update(
        self,
        context: SearchContext,
        candidates: Sequence[MeasureCandidate],
        results: Sequence[RunnerResult],
    ) -> None:
        """Learn from measured candidates."""
        features, costs = extract_features(
            context, candidates, results, self.trainer.state.extractor
        )
        assert costs is not None, "there are results"
        some = [k for k, rows in enumerate(features) if len(rows)]
        if some:
            kept = [features[k] for k in some]
            self.trainer.update(kept, costs[some], shash2hex(context.mod))

    def predict(self, context: SearchContext, candidates: Sequence[MeasureCandidate]) -> Scores:
        """A score for each candidate."""
        features, _ = extract_features(context, candidates, None, self.trainer.state.extractor)
        return self.trainer.predict_incremental(features).astype(np.float64)
