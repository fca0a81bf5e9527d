"""Refining the best schedules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, commit
from tvm.meta_schedule.database import JSONDatabase, MemoryDatabase
from tvm.meta_schedule.post_optimization import PostOpt
from tvm.meta_schedule.post_optimization.post_opt import neighbours, refine
from tvm.runtime import empty, tensor
from tvm.tir import Schedule

pytestmark = pytest.mark.cpu


def inner_of(sch: Schedule) -> int:
    (factors,) = [d for i, d in sch.trace.decisions.items() if i.kind.name == "SamplePerfectTile"]
    return int(factors[1])


def test_neighbours() -> None:
    trace = commit(MemoryDatabase(), [1.0], inner=4).trace
    found = [[int(f) for d in t.decisions.values() for f in d] for t in neighbours(trace)]
    assert sorted(found) == [[8, 8], [32, 2]]


def test_it_goes_down_to_the_best() -> None:
    measured: list[int] = []

    def measure(schedules: Sequence[Schedule]) -> list[Any]:
        """Tiles of eight are the fastest; those of sixteen cannot be measured."""
        measured.extend(inner_of(sch) for sch in schedules)
        return [None if inner_of(s) == 16 else [abs(np.log2(inner_of(s)) - 3) + 1]
                for s in schedules]  # fmt: skip

    database = MemoryDatabase()
    record = commit(database, [9.0], inner=1)
    refine(database, record, LLVM, measure, trials=100)
    assert measured == [2, 4, 1, 8, 16], "no neighbour twice"


def test_trials_are_a_limit() -> None:
    database = MemoryDatabase()
    record = commit(database, [1.0], inner=4)
    refine(database, record, LLVM, lambda schedules: [[9.0]] * len(schedules), trials=1)
    assert len(database) == 2


@pytest.mark.slow
def test_records_of_a_search(tmp_path: Path) -> None:
    commit(JSONDatabase(work_dir=str(tmp_path)), [1.0], inner=4)
    PostOpt(str(tmp_path), LLVM, trials=2).run()
    database = JSONDatabase(work_dir=str(tmp_path))
    assert len(database) == 3
    best = database.query(Matmul, LLVM, kind="ir_module")
    a, b = np.random.default_rng(0).random((2, 64, 64), "float32")
    out = empty((64, 64), "float32")
    tvm.tir.build(best, "llvm")["main"](tensor(a), tensor(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4)
