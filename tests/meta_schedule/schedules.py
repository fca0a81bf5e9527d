"""Schedules of the small programs."""

from __future__ import annotations

from typing import Any

from tests.meta_schedule.programs import Matmul
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.database import Database, TuningRecord
from tvm.target import Target
from tvm.tir import Schedule

LLVM = Target("llvm")


def tile_matmul(sch: Schedule, inner: int = 4) -> None:
    """Split the rows; `inner` tells schedules apart."""
    i, _, _ = sch.get_loops(sch.get_block("matmul"))
    tiles = sch.sample_perfect_tile(i, 2, decision=[64 // inner, inner])
    sch.split(i, tiles)


def sampled_matmul(sch: Schedule) -> None:
    """A space of four tiles."""
    i, _, _ = sch.get_loops(sch.get_block("matmul"))
    sch.split(i, sch.sample_perfect_tile(i, 2, max_innermost_factor=8))


def scheduled(inner: int = 4) -> Schedule:
    sch = Schedule(Matmul)
    tile_matmul(sch, inner)
    return sch


def commit(database: Database, run_secs: Any, inner: int = 4) -> TuningRecord:
    """Keep a record of a schedule of the matmul."""
    record = trial_of(database, run_secs, inner, LLVM)
    database.commit_tuning_record(record)
    return record


def trial_of(database: Database, run_secs: Any, inner: int, target: Target) -> TuningRecord:
    """A record of a schedule of the matmul, which is not kept yet."""
    workload = database.commit_workload(Matmul)
    info = ArgInfo.from_prim_func(Matmul["main"])
    return TuningRecord(scheduled(inner).trace, workload, run_secs, target, info)
