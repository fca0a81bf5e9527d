from __future__ import annotations

import pytest

import tvm
from tvm.meta_schedule.database import Database, TuningRecord
from tvm.report.tuning import curves_of
from tvm.report.words import LineTable, Report
from tvm.script import tir as T
from tvm.target import Target

pytestmark = pytest.mark.pure


@T.prim_func
def twice(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("y"):
            v = T.axis.spatial(8, i)
            y[v] = x[v] * T.float32(2)


def test_a_curve_has_the_trials_in_order() -> None:
    database = Database.create("memory")
    workload = database.commit_workload(tvm.IRModule({"main": twice}))
    trace = tvm.tir.Schedule(twice).trace
    for seconds in ([2.0, 4.0], [1e10], [1.0]):
        database.commit_tuning_record(TuningRecord(trace, workload, seconds))
    (curve,) = curves_of(database, LineTable())
    assert curve.task == "twice"
    assert curve.seconds == [3.0, None, 1.0]


def test_the_fastest_program_stands_beside_that_of_the_rule() -> None:
    database = Database.create("memory")
    workload = database.commit_workload(tvm.IRModule({"main": twice}))
    target = Target("llvm -mcpu=haswell")
    plain, split = tvm.tir.Schedule(twice), tvm.tir.Schedule(twice)
    split.vectorize(split.split(split.get_loops("y")[0], [None, 2])[1])
    for sch, seconds in ((plain, 3.0), (split, 1.0)):
        database.commit_tuning_record(TuningRecord(sch.trace, workload, [seconds], target))
    report = Report("records", "llvm", {}, lines=["a line that there is"])
    (curve,) = curves_of(database, LineTable(report.lines))
    assert [stage.name for stage in curve.stages] == ["as it came", "by rule", "fastest"]
    came, by_rule, fastest = (report.text(stage.text) for stage in curve.stages)
    assert "T.vectorized(2)" in fastest
    assert "T.vectorized(8)" in by_rule
    assert "T.vectorized" not in came
    assert Report.from_json(report.to_json()).lines == report.lines


def test_no_program_where_no_trial_was_measured() -> None:
    database = Database.create("memory")
    workload = database.commit_workload(tvm.IRModule({"main": twice}))
    database.commit_tuning_record(TuningRecord(tvm.tir.Schedule(twice).trace, workload, [1e10]))
    (curve,) = curves_of(database, LineTable())
    assert [stage.name for stage in curve.stages] == ["as it came"]
