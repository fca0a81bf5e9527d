"""A function as a database."""

from __future__ import annotations

import pytest

import tvm
from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, scheduled, tile_matmul
from tvm.error import TVMError
from tvm.meta_schedule.database import ScheduleFnDatabase
from tvm.tir import Schedule

pytestmark = pytest.mark.pure


def test_answers() -> None:
    def schedule_fn(sch: Schedule) -> bool:
        tile_matmul(sch)
        return True

    database = ScheduleFnDatabase(schedule_fn)
    found = database.query(Matmul, LLVM, kind="ir_module")
    tvm.ir.assert_structural_equal(found, scheduled().mod.with_attr("task_name", "main"))
    assert database.query_schedule(Matmul, LLVM, "other").mod.attrs["task_name"] == "other"
    record = database.query(Matmul, LLVM, kind="record")
    assert record.run_secs is None
    assert record.workload.mod is Matmul


def test_declines() -> None:
    assert ScheduleFnDatabase(lambda sch: False).query(Matmul, LLVM) is None
    for answer in (None, "yes"):
        database = ScheduleFnDatabase(lambda sch, answer=answer: answer)  # type: ignore[misc]
        with pytest.raises(TypeError, match="legal: a bool"):
            database.query_ir_module(Matmul, LLVM, "main")


def test_nothing_to_commit() -> None:
    with pytest.raises(TVMError, match=r"ScheduleFnDatabase's CommitWorkload method"):
        ScheduleFnDatabase(lambda sch: True).commit_workload(Matmul)
