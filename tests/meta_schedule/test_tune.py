"""Tuning as a whole: parts by name, records in files, the same search for the same seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, sampled_matmul
from tvm.meta_schedule import TuneContext, tune_tasks
from tvm.meta_schedule.database import JSONDatabase, MemoryDatabase
from tvm.meta_schedule.measure_callback import AddToDatabase
from tvm.meta_schedule.testing.dummy_object import DummyBuilder, DummyRunner

pytestmark = pytest.mark.pure


def tune(folder: Path, seed: int = 1, **options: Any) -> Any:
    context = TuneContext(
        Matmul, target=LLVM, space_generator=sampled_matmul, search_strategy="replay-trace",
        rand_state=seed,
    )  # fmt: skip
    given: dict[str, Any] = {
        "builder": DummyBuilder(), "runner": DummyRunner(), "cost_model": "none",
        "max_trials_global": 8, "num_trials_per_iter": 4, **options,
    }  # fmt: skip
    return tune_tasks(tasks=[context], task_weights=[1.0], work_dir=str(folder), **given)


def traces(database: Any) -> list[str]:
    return [str(record.trace) for record in database.get_all_tuning_records()]


def test_records_and_logs_lie_in_the_folder(tmp_path: Path) -> None:
    database = tune(tmp_path)
    assert len(database) == 8
    assert traces(JSONDatabase(work_dir=str(tmp_path))) == traces(database)
    (log,) = (tmp_path / "logs").glob("*task_scheduler.log")
    assert "[INFO] Sending 4 sample(s) to builder" in log.read_text()
    assert "Total trials: 8" in log.read_text()


def test_same_seed_same_search(tmp_path: Path) -> None:
    memory = {"database": "memory", "task_scheduler": "round-robin"}
    first, second, other = (tune(tmp_path, seed, **memory) for seed in (3, 3, 4))
    assert isinstance(first, MemoryDatabase)
    assert traces(first) == traces(second) != traces(other)


def test_one_callback(tmp_path: Path) -> None:
    assert len(tune(tmp_path, database="memory", measure_callbacks=AddToDatabase())) == 8
    assert len(tune(tmp_path, database="memory", measure_callbacks=[])) == 0


def test_tasks_and_weights(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no tasks to tune"):
        tune_tasks(tasks=[], task_weights=[], work_dir=str(tmp_path), max_trials_global=1)
    context = TuneContext(Matmul, target=LLVM)
    with pytest.raises(ValueError, match=r"tasks \(1\) and task_weights \(2\) do not match"):
        tune_tasks(tasks=[context], task_weights=[1, 1], work_dir="", max_trials_global=1)
