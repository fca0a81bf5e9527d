from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.meta_schedule.database import JSONDatabase, TuningRecord, Workload
from tvm.meta_schedule.runner import EvaluatorConfig
from tvm.meta_schedule.testing import validate_database as v
from tvm.meta_schedule.testing.te_workload import create_te_workload
from tvm.target import Target
from tvm.tir.build import build
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


def test_modules_are_told_apart_by_structure() -> None:
    one, same = (IRModule({"main": create_te_workload("GMM", 0)}) for _ in range(2))
    other = IRModule({"main": create_te_workload("SFM", 0)})
    assert {v.OriginalModule(one), v.OriginalModule(same)} == {v.OriginalModule(one)}
    assert v.OriginalModule(one) != v.OriginalModule(other)
    assert v.OriginalModule(one).mod is one


def test_a_process_learns_the_functions_by_name() -> None:
    v.initializer()
    mod = IRModule({"main": create_te_workload("SFM", 0)})
    prefix = "tvm.meta_schedule.testing"
    inputs = v.check_and_run(f"{prefix}.default_input_generator", mod)
    assert len(inputs) == 2
    assert v.check_and_run(f"{prefix}.default_check_metric", inputs, inputs)
    off = [v.to_tvm_tensor([value + 1])[0] for value in v.to_numpy(inputs)]
    assert not v.check_and_run(f"{prefix}.default_check_metric", inputs, off)


def test_functions_of_a_runner_check_what_they_run() -> None:
    mod = IRModule({"main": create_te_workload("SFM", 0)})
    device = v.get_runtime_device(TARGET)
    inputs = v.to_numpy(v.default_input_generator(mod))
    expected, secs = v.local_build_and_run(mod, TARGET, device, inputs)
    said: list[str] = []
    for results in (expected, [value + 1 for value in expected]):
        alloc, check = v.make_alloc_arg_and_check(
            inputs, mod, mod, "the trace", results, secs, said.append
        )
        args = alloc(None, device, None, 2)
        assert [len(one) for one in args] == [2, 2]
        taken = check(None, build(mod, target=TARGET), device, EvaluatorConfig(), args)
        assert len(taken) == 2
        assert min(taken) > 0
    assert [text.split(",")[0] for text in said] == ["pass", "pass", "wrong", "wrong"]
    assert "off by up to 1" in said[2]
    assert said[2].endswith("the trace")
