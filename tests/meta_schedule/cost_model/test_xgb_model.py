"""The learned model: what it learns, forgets and stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import scheduled
from tvm.meta_schedule import TuneContext, derived_object
from tvm.meta_schedule.cost_model import XGBModel
from tvm.meta_schedule.cost_model.xgb_model import PackSum, XGBConfig, make_metric_sorter
from tvm.meta_schedule.feature_extractor import PyFeatureExtractor, RandomFeatureExtractor
from tvm.meta_schedule.runner import RunnerResult
from tvm.meta_schedule.search_strategy import MeasureCandidate
from tvm.runtime import tensor

pytestmark = pytest.mark.pure


def some(count: int) -> list[MeasureCandidate]:
    return [MeasureCandidate(scheduled(), [])] * count


def times(count: int) -> list[RunnerResult]:
    return [RunnerResult(list(np.random.rand(4) * 10 + 1e-6), None) for _ in range(count)]


@derived_object
class Known(PyFeatureExtractor):
    """Two rows a candidate, drawn from a stream; the sum of the first column is the speed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.last: list[Any] = []

    def extract_from(self, context: Any, candidates: Any) -> list[Any]:
        self.last = [self.random.random((2, 6), "float32") for _ in candidates]
        return [tensor(x) for x in self.last]

    def times(self) -> list[RunnerResult]:
        return [RunnerResult([1 / x[:, 0].sum()], None) for x in self.last]


def test_random_before_it_knows_enough() -> None:
    model = XGBModel(extractor=RandomFeatureExtractor(), num_warmup_samples=2)
    scores = model.predict(TuneContext(), some(5))
    assert scores.shape == (5,)
    assert len(set(scores)) == 5
    other = XGBModel(extractor=RandomFeatureExtractor(), num_warmup_samples=2)
    assert (other.predict(TuneContext(), some(5)) == scores).all(), "the same seed"
    model.update(TuneContext(), some(10), times(10))
    assert model.predict(TuneContext(), some(100)).shape == (100,)


def test_it_learns() -> None:
    extractor = Known(0)
    model = XGBModel(extractor=extractor, num_warmup_samples=10)
    for _ in range(3):
        # the model extracts the features that belong to the times
        state = extractor.random.bit_generator.state
        extractor.extract_from(None, some(100))
        extractor.random.bit_generator.state = state
        model.update(TuneContext(Matmul), some(100), extractor.times())
    scores = model.predict(TuneContext(Matmul), some(200))
    truth = [x[:, 0].sum() for x in extractor.last]
    assert np.corrcoef(scores, truth)[0, 1] > 0.9


def test_failures_are_slow() -> None:
    model = XGBModel(extractor=RandomFeatureExtractor(), num_warmup_samples=0)
    model.update(TuneContext(), some(2), [RunnerResult(None, "no"), RunnerResult([3.0, 1.0], None)])
    (group,) = model.data.values()
    assert group.costs.tolist() == [1e10, 2.0]
    assert group.min_cost == 2.0


def test_programs_are_groups() -> None:
    model = XGBModel(extractor=RandomFeatureExtractor())
    for mod in (Matmul, Add, Matmul):
        model.update(TuneContext(mod), some(4), times(4))
    assert [len(group.costs) for group in model.data.values()] == [8, 4]
    assert all(name == group.group_hash for name, group in model.data.items())
    assert model.data_size == 12


def test_candidates_without_features() -> None:
    @derived_object
    class Nothing(PyFeatureExtractor):
        def extract_from(self, context: Any, candidates: Any) -> list[Any]:
            return [tensor(np.zeros((0, 3), "float32")) for _ in candidates]

    model = XGBModel(extractor=Nothing(), num_warmup_samples=0)
    model.update(TuneContext(Matmul), some(1), times(1))
    assert model.data_size == 0
    assert model.predict(TuneContext(Matmul), some(1)).shape == (1,)


def test_per_store_features_by_default() -> None:
    model = XGBModel(num_warmup_samples=0)
    context = TuneContext(Matmul, target="llvm --num-cores 16")
    model.update(context, some(1), times(1))
    assert model.data_size == 1
    assert model.predict(context, some(2)).shape == (2,)


def test_training_waits_for_a_fifth_more() -> None:
    model = XGBModel(extractor=RandomFeatureExtractor(), num_warmup_samples=0)
    sizes = []
    for count in (10, 1, 1, 3):
        model.update(TuneContext(), some(count), times(count))
        sizes.append(model.last_train_size)
    assert sizes == [10, 10, 12, 15]
    eager = XGBModel(extractor=RandomFeatureExtractor(), adaptive_training=False)
    for count in (10, 1):
        eager.update(TuneContext(), some(count), times(count))
    assert eager.last_train_size == 11


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = XGBModel(extractor=RandomFeatureExtractor(), num_warmup_samples=10)
    model.update(TuneContext(Matmul), some(12), times(12))
    model.update(TuneContext(Add), some(8), times(8))
    path = str(tmp_path / "model.xgb")
    state = model.extractor.random_state
    data, size = dict(model.data), model.data_size
    model.save(path)
    first = model.predict(TuneContext(), some(30))
    model.extractor.random_state = state
    model.load(path)
    assert (model.predict(TuneContext(), some(30)) == first).all()
    assert model.data_size == size
    assert list(model.data) == list(data)
    for name, group in model.data.items():
        assert (group.costs == data[name].costs).all()
        assert len(group.features) == len(data[name].features)
        assert all((a == b).all() for a, b in zip(group.features, data[name].features))
    model.update(TuneContext(Add), some(8), times(8))
    assert model.data_size == 28


def test_model_that_knows_nothing_is_stored(tmp_path: Path) -> None:
    path = str(tmp_path / "empty")
    XGBModel(extractor=RandomFeatureExtractor()).save(path)
    model = XGBModel(extractor=RandomFeatureExtractor())
    model.load(path)
    assert (model.data, model.booster) == ({}, None)
    with pytest.raises(ValueError, match=r"legal: a file that an XGBModel saved"):
        model.load(str(tmp_path / "none"))


def test_options() -> None:
    assert XGBConfig().to_dict() == {
        "max_depth": 10, "gamma": 0.001, "min_child_weight": 0, "eta": 0.2, "seed": 43,
        "tree_method": "auto",
    }  # fmt: skip
    model = XGBModel(num_tuning_cores=4, tree_method="hist")
    assert (model.config.nthread, model.config.tree_method) == (4, "hist")


def test_pack_sum() -> None:
    xs = [np.ones((2, 3)), np.zeros((0, 3)), np.ones((1, 3))]
    pack = PackSum(xs, np.array([1.0, 0.5, 0.25]))
    assert pack.ids.tolist() == [0, 0, 2]
    pred = np.array([0.5, 0.25, 0.25])
    assert pack.predict_with_score(pred).tolist() == [0.75, 0.0, 0.25]
    gradient, hessian = pack.obj_square_error(pred)
    assert gradient.tolist() == [-0.25, -0.25, 0.0]
    assert hessian.tolist() == [1.0, 1.0, 0.25]
    assert pack.rmse(pred) == ("p-rmse", pytest.approx(np.sqrt(0.0625 / 3)))
    assert pack.average_peak_score(pred, 2) == ("a-peak@2", 1.0)
    worst_first = np.array([0.0, 0.0, 1.0])
    assert pack.average_peak_score(worst_first, 2) == ("a-peak@2", (0.25 + 1.0) / 2)


def test_metric_sorter() -> None:
    metrics = [("a-peak@32", 1.0), ("p-rmse", 2.0)]
    assert [name for name, _ in sorted(metrics, key=make_metric_sorter("p-rmse"))] == [
        "p-rmse", "a-peak@32"]  # fmt: skip
