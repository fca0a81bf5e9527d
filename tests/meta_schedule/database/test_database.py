"""What all databases do, those of users too."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import LLVM, commit, scheduled, tile_matmul
from tvm.meta_schedule import Database, derived_object
from tvm.meta_schedule.database import (
    JSONDatabase,
    MemoryDatabase,
    OrderedUnionDatabase,
    PyDatabase,
    ScheduleFnDatabase,
    TuningRecord,
    UnionDatabase,
    Workload,
)

pytestmark = pytest.mark.pure


@derived_object
class Lists(PyDatabase):
    """A database as users write one."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[TuningRecord] = []
        self.workloads: list[Workload] = []

    def has_workload(self, mod: Any) -> bool:
        return any(tvm.ir.structural_equal(mod, w.mod) for w in self.workloads)

    def commit_workload(self, mod: Any) -> Workload:
        for workload in self.workloads:
            if tvm.ir.structural_equal(mod, workload.mod):
                return workload
        self.workloads.append(Workload(mod))
        return self.workloads[-1]

    def commit_tuning_record(self, record: TuningRecord) -> None:
        self.records.append(record)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        return self.records

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        mine = [r for r in self.records if tvm.ir.structural_equal(r.workload.mod, workload.mod)]
        return sorted(mine, key=lambda r: sum(r.run_secs) / len(r.run_secs))[:top_k]


def make(kind: str, folder: Any) -> Database:
    if kind == "json":
        return Database.create("json", work_dir=str(folder))
    return Lists() if kind == "py" else MemoryDatabase()


@pytest.mark.parametrize("kind", ["json", "memory", "py"])
def test_queries(kind: str, tmp_path: Any) -> None:
    database = make(kind, tmp_path)
    assert database
    assert not database.has_workload(Matmul)
    assert database.query(Matmul, LLVM) is None
    commit(database, [2.0], inner=2)
    commit(database, [1.0], inner=8)
    assert len(database) == 2
    assert database.has_workload(Matmul)
    assert not database.has_workload(Add)
    assert database.query(Matmul, LLVM, kind="record").run_secs == [1.0]
    found = database.query(Matmul, LLVM, kind="ir_module")
    tvm.ir.assert_structural_equal(found, scheduled(8).mod)
    sch = database.query(Matmul, LLVM, kind="schedule")
    assert str(sch.trace) == str(scheduled(8).trace)
    assert database.query(Add, LLVM, kind="record") is None


def test_databases_of_users_need_no_name() -> None:
    database = Lists()
    commit(database, [1.0], inner=8)
    assert database.query_tuning_record(Matmul, LLVM).run_secs == [1.0]
    assert str(database.query_schedule(Matmul, LLVM).trace) == str(scheduled(8).trace)
    tvm.ir.assert_structural_equal(database.query_ir_module(Matmul, LLVM), scheduled(8).mod)


def test_a_user_may_answer_otherwise() -> None:
    @derived_object
    class SecondBest(Lists._cls):
        def query_tuning_record(self, mod: Any, target: Any, workload_name: Any = None) -> Any:
            return self.get_top_k(self.commit_workload(mod), 2)[-1]

    database = SecondBest()
    commit(database, [2.0], inner=2)
    commit(database, [1.0], inner=8)
    found = database.query(Matmul, LLVM, kind="ir_module")
    tvm.ir.assert_structural_equal(found, scheduled(2).mod)


def test_unknown_answer() -> None:
    with pytest.raises(ValueError, match=r"Unknown kind: trace\n  legal: 'schedule', 'record'"):
        MemoryDatabase().query(Matmul, LLVM, kind="trace")


def test_current() -> None:
    outer, inner = MemoryDatabase(), MemoryDatabase()
    assert Database.current() is None
    with outer:
        with inner:
            assert Database.current() is inner
        assert Database.current() is outer
    assert Database.current() is None


def test_dump_pruned() -> None:
    source, destination = MemoryDatabase(), MemoryDatabase()
    for run_secs, inner in (([2.0], 2), ([1.0], 8), ([1e10], 4), (None, 16)):
        commit(source, run_secs, inner)
    source.dump_pruned(destination)
    (record,) = destination.get_all_tuning_records()
    assert record.run_secs == [1.0]
    assert str(record.trace) == str(scheduled(8).trace)


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("memory", MemoryDatabase), ("union", UnionDatabase),
        ("ordered_union", OrderedUnionDatabase), (tile_matmul, ScheduleFnDatabase),
    ],
)  # fmt: skip
def test_create(kind: Any, made: type) -> None:
    database = Database.create(kind)
    assert isinstance(database, made)
    assert Database.create(database) is database


def test_create_with_files(tmp_path: Any) -> None:
    assert isinstance(Database.create(work_dir=str(tmp_path)), JSONDatabase)
    with pytest.raises(ValueError, match=r"Unknown Database: csv"):
        Database.create("csv")
