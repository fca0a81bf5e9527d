from __future__ import annotations

from pathlib import Path

import pytest

from tvm.ir.module import IRModule
from tvm.meta_schedule.builder import LocalBuilder
from tvm.meta_schedule.database import JSONDatabase, MemoryDatabase, TuningRecord
from tvm.meta_schedule.testing import distributed_measure_candidates as again
from tvm.meta_schedule.testing.dummy_object import DummyRunner
from tvm.meta_schedule.testing.te_workload import create_te_workload
from tvm.target import Target
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.cpu
TARGET = Target("llvm -num-cores 1")


def filled(database: MemoryDatabase | JSONDatabase) -> None:
    """Two schedules that run, and between them one that names no target."""
    mod = IRModule({"main": create_te_workload("GMM", 0)})
    workload = database.commit_workload(mod)
    for inner, target in ((4, TARGET), (8, None), (16, TARGET)):
        sch = Schedule(mod)
        loops = sch.get_loops(sch.get_block("Z"))
        sch.split(loops[-1], [None, inner])
        database.commit_tuning_record(TuningRecord(sch.trace, workload, [1.0], target, None))


def test_records_keep_their_traces() -> None:
    before = MemoryDatabase()
    filled(before)
    after, failed = again.measure_candidates(before, LocalBuilder(), DummyRunner())
    assert failed == [1]
    old, new = before.get_all_tuning_records(), after.get_all_tuning_records()
    assert [str(r.trace) for r in new] == [str(old[0].trace), str(old[2].trace)]
    assert all(r.mean_secs >= 5 for r in new)


def test_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, results = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    filled(JSONDatabase(str(source / "a_workload.json"), str(source / "a_candidates.json")))
    command = ["--candidate-cache-dir", str(source), "--result-cache-dir", str(results)]
    command += ["--target", str(TARGET), "--number", "1", "--min-repeat-ms", "0"]
    again.main(command)
    assert "a: 3 measured, 0 failed" in capsys.readouterr().out
    found = JSONDatabase(str(results / "a_workload.json"), str(results / "a_candidates.json"))
    assert len(found.get_all_tuning_records()) == 3
    assert all(0 < record.mean_secs < 1 for record in found.get_all_tuning_records())
    assert (results / "a_failed_indices.txt").read_text(encoding="utf-8") == ""
    again.main(command)
    assert capsys.readouterr().out == ""
