from __future__ import annotations

import pytest

import tvm
from tvm.meta_schedule.database import Database, TuningRecord
from tvm.report.tuning import curves_of
from tvm.script import tir as T

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
    (curve,) = curves_of(database)
    assert curve.task == "twice"
    assert curve.seconds == [3.0, None, 1.0]
