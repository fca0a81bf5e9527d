"""The network as a cost model: what it learns, stores and refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.cost_model.test_xgb_model import Known, some, times
from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, commit, scheduled
from tvm.meta_schedule import TuneContext
from tvm.meta_schedule.cost_model import CostModel, MLPModel
from tvm.meta_schedule.cost_model.files import ModelFileError
from tvm.meta_schedule.cost_model.mlp_model import (
    SegmentDataLoader,
    SegmentSumMLPConfig,
    SegmentSumMLPTrainer,
    State,
    TrainerConfig,
    extract_features,
)
from tvm.meta_schedule.database import JSONDatabase
from tvm.meta_schedule.feature_extractor import PerStoreFeature
from tvm.meta_schedule.search_strategy import MeasureCandidate

pytestmark = pytest.mark.pure

CONTEXT = TuneContext(Matmul, target=LLVM)
SMALL = SegmentSumMLPConfig(input_dim=6, hidden_dim=16)


def small(extractor: Any = None, **options: Any) -> MLPModel:
    state = State(SMALL, extractor or Known(0))
    return MLPModel(trainer=SegmentSumMLPTrainer(TrainerConfig(**options), state))


def order_of(scores: Any, speeds: Any) -> float:
    """How often two candidates stand in the right order."""
    apart = np.subtract.outer(speeds, speeds)
    return float(((np.subtract.outer(scores, scores) * apart) > 0).sum() / (apart != 0).sum())


def test_defaults_fit_the_features() -> None:
    assert PerStoreFeature(extract_workload=True).feature_vector_length == 172
    model = CostModel.create("mlp")
    assert isinstance(model, MLPModel)
    assert TrainerConfig().to_dict()["num_epoch_full"] == 50
    assert SegmentSumMLPConfig().to_dict() == {
        "input_dim": 172, "hidden_dim": 256, "output_dim": 1,
        "use_norm": False, "use_sigmoid": False,
    }  # fmt: skip
    candidate = MeasureCandidate(scheduled(), [])
    assert model.predict(CONTEXT, [candidate] * 3).shape == (3,)


def test_it_learns_the_order() -> None:
    stream = Known(0)
    model = small(stream, num_epoch_full=10, learning_rate=1e-2, batch_size=32)
    for _ in range(2):
        candidates = some(128)
        stream.extract_from(CONTEXT, candidates)
        model.trainer.update(stream.last, costs_of(stream), "program")
    scores = model.predict(CONTEXT, some(64))
    speeds = np.array([x[:, 0].sum() for x in stream.last])
    assert order_of(scores, speeds) > 0.85


def costs_of(stream: Known) -> np.ndarray:
    return np.array([1 / x[:, 0].sum() for x in stream.last], np.float32)


def test_it_counts_what_is_new() -> None:
    model = small(num_epoch_full=1, num_epoch_incremental=1)
    state = model.trainer.state
    model.update(CONTEXT, some(100), times(100))
    assert (state.data_size, state.untrained_size) == (100, 0), "trained with all"
    model.update(CONTEXT, some(10), times(10))
    assert (state.data_size, state.untrained_size) == (110, 10), "too few for that"
    (group,) = state.data.values()
    assert len(group.features) == 110


def test_a_frozen_network_stays() -> None:
    model = small(frozen=True)
    before = {k: v.copy() for k, v in model.trainer.state.model.arrays().items()}
    model.update(CONTEXT, some(10), times(10))
    for name, value in model.trainer.state.model.arrays().items():
        np.testing.assert_array_equal(value, before[name])


def test_save_and_load(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    model = small(num_epoch_full=1)
    model.update(CONTEXT, some(20), times(20))
    model.save(path)
    other = small()
    other.load(path)
    assert other.trainer.state.data_size == 20
    features, _ = extract_features(CONTEXT, some(4), None, Known(3))
    np.testing.assert_array_equal(
        other.trainer.predict_incremental(features), model.trainer.predict_incremental(features)
    )
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(ModelFileError, match="an MLPModel saved"):
        other.load(str(tmp_path / "text"))


def test_databases_of_a_target(tmp_path: Path) -> None:
    commit(JSONDatabase(work_dir=str(_folder(tmp_path / "a"))), [0.5])
    state = State()
    state.load(str(tmp_path), "cuda")
    assert state.data_size == 0
    state.load(str(tmp_path), "llvm -num-cores 4")
    (group,) = state.data.values()
    assert (state.data_size, group.min_cost) == (1, 0.5)
    assert group.features[0].shape[1] == 172


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_batches() -> None:
    features = [np.full((k + 1, 2), k, np.float32) for k in range(5)]
    loader = SegmentDataLoader(features, np.arange(5), batch_size=2, shuffle=False)
    assert len(loader) == 3
    batches = list(loader)
    assert [list(sizes) for sizes, _, _ in batches] == [[1, 2], [3, 4], [5]]
    assert batches[0][1][:, 0].tolist() == [0, 1, 1]
    seen = [int(r) for _, _, results in SegmentDataLoader(features, np.arange(5), 2)
            for r in results]  # fmt: skip
    assert sorted(seen) == list(range(5))
    assert next(iter(SegmentDataLoader(features)))[2] is None


def test_the_same_input_the_same_network() -> None:
    scores = []
    for _ in range(2):
        model = small(num_epoch_full=2)
        np.random.seed(0)
        model.update(CONTEXT, some(20), times(20))
        scores.append(model.predict(CONTEXT, some(5)))
    np.testing.assert_array_equal(scores[0], scores[1])
