"""A database that ends with the process."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import commit
from tvm.meta_schedule.database import MemoryDatabase, Workload

pytestmark = pytest.mark.pure


def test_order_and_validity() -> None:
    database = MemoryDatabase()
    for run_secs, inner in (([3.0], 1), ([1.0, 2.0], 2), (None, 4), ([1e10], 8), ([0.5], 16)):
        commit(database, run_secs, inner)
    workload = database.commit_workload(Matmul)
    assert [r.run_secs for r in database.get_top_k(workload, 9)] == [[0.5], [1.0, 2.0], [3.0]]
    assert [r.run_secs for r in database.get_top_k(workload, 1)] == [[0.5]]
    assert database.get_top_k(workload, 0) == []
    assert database.get_top_k(Workload(Matmul), 1)[0].run_secs == [0.5], "an equal workload"
    assert database.get_top_k(Workload(Add), 1) == []
    assert database.workloads == [workload]
    assert len(database.records) == 5
    with pytest.raises(ValueError, match=r"found: top_k=-1"):
        database.get_top_k(workload, -1)


def test_unknown_equality() -> None:
    with pytest.raises(ValueError, match=r"Unknown module equality: names"):
        MemoryDatabase(module_equality="names")
