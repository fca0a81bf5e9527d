"""Callbacks of users, and those that there are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, scheduled
from tvm.error import TVMError
from tvm.meta_schedule import derived_object
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder import BuilderResult
from tvm.meta_schedule.cost_model import PyCostModel
from tvm.meta_schedule.database import MemoryDatabase
from tvm.meta_schedule.measure_callback import (
    AddToDatabase,
    MeasureCallback,
    PyMeasureCallback,
    RemoveBuildArtifact,
    UpdateCostModel,
)
from tvm.meta_schedule.runner import RunnerResult
from tvm.meta_schedule.search_strategy import MeasureCandidate
from tvm.meta_schedule.task_scheduler import RoundRobin, TaskRecord
from tvm.meta_schedule.tune_context import TuneContext

pytestmark = pytest.mark.pure

BUILT = [BuilderResult("no/such/place", None), BuilderResult(None, "no code")]
RAN = [RunnerResult([1.0, 2.1], None), RunnerResult(None, "no code")]


def candidates() -> list[MeasureCandidate]:
    info = ArgInfo.from_prim_func(Matmul["main"])
    return [MeasureCandidate(scheduled(inner), info) for inner in (4, 8)]


def scheduler() -> RoundRobin:
    made = RoundRobin()
    made.tasks_ = [TaskRecord(TuneContext(Matmul, target=LLVM))]
    return made


def test_callback_of_a_user() -> None:
    seen: list[Any] = []

    @derived_object
    class Looks(PyMeasureCallback):
        def apply(self, *told: Any) -> None:
            seen.extend(told)

    callback, given = Looks(), candidates()
    assert isinstance(callback, MeasureCallback)
    assert re.fullmatch(r"meta_schedule.Looks\(0x[a-f0-9]+\)", str(callback))
    lead = RoundRobin()
    callback.apply(lead, 0, given, BUILT, RAN)
    assert seen == [lead, 0, given, BUILT, RAN]


def test_errors_of_callbacks_are_errors() -> None:
    @derived_object
    class Fails(PyMeasureCallback):
        def apply(self, *told: Any) -> None:
            raise ValueError("test")

    with pytest.raises(ValueError, match="test"):
        Fails().apply(RoundRobin(), 0, [], [], [])
    with pytest.raises(TVMError, match=r"PyMeasureCallback's Apply method not implemented!"):
        PyMeasureCallback().apply(RoundRobin(), 0, [], [], [])


def test_create() -> None:
    kinds = [type(callback) for callback in MeasureCallback.create("default")]
    assert kinds == [AddToDatabase, RemoveBuildArtifact, UpdateCostModel]
    with pytest.raises(ValueError, match=r"Unknown MeasureCallback: all"):
        MeasureCallback.create("all")


def test_add_to_database() -> None:
    lead = scheduler()
    AddToDatabase().apply(lead, 0, candidates(), BUILT, RAN)
    lead.database_ = MemoryDatabase()
    AddToDatabase().apply(lead, 0, candidates(), BUILT, RAN)
    good, bad = lead.database_.get_all_tuning_records()
    assert (good.run_secs, bad.run_secs) == ([1.0, 2.1], [1e10])
    assert str(good.trace) == str(scheduled(4).trace)
    assert good.target == LLVM
    tvm.ir.assert_structural_equal(good.workload.mod, Matmul)
    assert [r.is_valid() for r in (good, bad)] == [True, False]


def test_remove_build_artifact(tmp_path: Path) -> None:
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "lib.tar").write_bytes(b"")
    built = [BuilderResult(str(folder / "lib.tar"), None), BUILT[1]]
    RemoveBuildArtifact().apply(scheduler(), 0, candidates(), built, RAN)
    assert not folder.exists()


def test_update_cost_model() -> None:
    seen: list[Any] = []

    @derived_object
    class Model(PyCostModel):
        def update(self, context: Any, candidates: Any, results: Any) -> None:
            seen.append((context, candidates, results))

        def predict(self, context: Any, candidates: Any) -> Any:
            return np.zeros(len(candidates))

    lead, given = scheduler(), candidates()
    UpdateCostModel().apply(lead, 0, given, BUILT, RAN)
    assert not seen, "a scheduler without a model"
    lead.cost_model_ = Model()
    UpdateCostModel().apply(lead, 0, given, BUILT, RAN)
    assert seen == [(lead.tasks_[0].ctx, given[:1], RAN[:1])]
