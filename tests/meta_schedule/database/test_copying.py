"""Records that move between databases of all kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from tests.meta_schedule.schedules import LLVM, commit, trial_of
from tvm.meta_schedule.database import JSONDatabase, MemoryDatabase, SQLDatabase, copy_records

pytestmark = pytest.mark.pure


def test_from_files_and_back(url: str, tmp_path: Path) -> None:
    files = JSONDatabase(work_dir=str(tmp_path / "files"))
    for run_secs, inner in (([3.0], 1), ([1.0], 2), (None, 4)):
        commit(files, run_secs, inner)
    database = SQLDatabase(url)
    assert copy_records(files, database) == 3
    back = JSONDatabase(work_dir=str(tmp_path / "back"))
    assert copy_records(SQLDatabase(url), back) == 3
    for name in ("database_workload.json", "database_tuning_record.json"):
        assert _lines(tmp_path / "back" / name) == _lines(tmp_path / "files" / name)


def _lines(path: Path) -> list[object]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_between_two_in_sql(url: str, tmp_path: Path) -> None:
    source = SQLDatabase(url)
    source.commit_trial(trial_of(source, None, 4, LLVM), "why", "log")
    other = SQLDatabase(f"sqlite:///{tmp_path}/other.db")
    assert copy_records(source, other) == 1
    (before,), (after,) = source.trials(), other.trials()
    assert after[1:6] == before[1:6]


def test_the_best_move_alone(url: str) -> None:
    database, best = SQLDatabase(url), MemoryDatabase()
    commit(database, [2.0], 2)
    commit(database, [1.0], 4)
    database.dump_pruned(best)
    assert [r.run_secs for r in best.get_all_tuning_records()] == [[1.0]]
