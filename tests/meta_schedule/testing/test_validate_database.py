from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.meta_schedule.database import JSONDatabase, TuningRecord, Workload
from tvm.meta_schedule.testing import validate_database as v
from tvm.meta_schedule.testing.te_workload import create_te_workload
from tvm.target import Target
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.cpu
TARGET = Target("llvm -num-cores 1")


def test_schedules_are_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = JSONDatabase(work_dir=str(tmp_path))
    mod = IRModule({"main": create_te_workload("GMM", 0)})
    workload = database.commit_workload(mod)
    for secs, inner in ((1.0, 4), (2.0, 8), (1e10, 16)):
        sch = Schedule(mod)
        sch.split(sch.get_loops(sch.get_block("Z"))[-1], [None, inner])
        database.commit_tuning_record(TuningRecord(sch.trace, workload, [secs], TARGET, None))
    assert v.main(["--work-dir", str(tmp_path), "--target", str(TARGET)]) == 0
    out = capsys.readouterr().out
    assert out.count("result: pass") == 2
    assert "2 schedules, 0 wrong" in out


def test_a_wrong_schedule_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = JSONDatabase(work_dir=str(tmp_path))
    mod = IRModule({"main": create_te_workload("SFM", 0)})
    workload = database.commit_workload(mod)
    record = TuningRecord(Schedule(mod).trace, workload, [1.0], TARGET, None)
    database.commit_tuning_record(record)
    built, calls = v.local_build_and_run, []

    def second_is_off(*args: object) -> object:
        found, secs = built(*args)  # type: ignore[arg-type]
        calls.append(1)
        return [value + (len(calls) == 2) for value in found], secs

    monkeypatch.setattr(v, "local_build_and_run", second_is_off)
    assert v.main(["--work-dir", str(tmp_path), "--target", str(TARGET)]) == 1
    assert "is off by up to 1" in capsys.readouterr().out


def test_helpers() -> None:
    mod = IRModule({"main": create_te_workload("GMM", 0)})
    inputs = v.default_input_generator(mod)
    assert [tuple(t.shape) for t in inputs] == [(1, 128, 128)] * 3
    arrays = v.to_numpy(inputs)
    np.testing.assert_array_equal(v.to_tvm_tensor(arrays)[0].numpy(), arrays[0])
    trace = Schedule(mod).trace
    assert v.is_failed_record(TuningRecord(trace, Workload(mod), [1e10]))
    assert not v.is_failed_record(TuningRecord(trace, Workload(mod), [1.0]))
    assert v.get_device_type(TARGET) == "cpu"
    assert v.check_and_run(max, 1, 2) == 2
    with pytest.raises(RuntimeError, match="llvm, cuda"):
        v.get_runtime_device(Target("opencl"))
