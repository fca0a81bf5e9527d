"""Knobs of a record, and the records at their positions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.meta_schedule.schedules import LLVM, commit
from tvm.meta_schedule.database import MemoryDatabase, TuningRecord
from tvm.meta_schedule.post_optimization import Space
from tvm.target import Target
from tvm.tir import Schedule

pytestmark = pytest.mark.pure


def record_of(inner: int = 4) -> TuningRecord:
    return commit(MemoryDatabase(), [1.0], inner=inner)


def space_of(inner: int = 4) -> Space:
    record = record_of(inner)
    return Space([3, record.as_json()], record.workload, LLVM)


def test_a_knob_for_each_inner_factor() -> None:
    space = space_of()
    assert list(space.config_space.values()) == [[1, 2, 4, 8, 16]], "64 is too large for it"
    assert (space.dims, space.total_dims, space.start) == ([5], 5, [2])
    assert "size=5" in repr(space)


def test_records_at_positions() -> None:
    space = space_of()
    number, config = space.template([3], create=False)
    assert number == 3
    sch = TuningRecord.from_json(config, space.workload).schedule()
    assert [int(sch.get(x).extent) for x in sch.get_loops("matmul")] == [8, 8, 64, 64]
    assert [d for _, d in config[0][1]] == [[8, 8]]
    assert space.cfg[1][0][1][0][1] == [16, 4], "the space's own record stays"


def choose(sch: Schedule) -> None:
    i, _, _ = sch.get_loops(sch.get_block("matmul"))
    sch.split(i, sch.sample_perfect_tile(i, 3, decision=[4, 4, 4]))
    chosen = sch.sample_categorical([0, 16, 64], [0.4, 0.3, 0.3], decision=1)
    sch.annotate(sch.get_block("matmul"), "unroll", chosen)


def chosen_space() -> Space:
    record = record_of()
    sch = Schedule(record.workload.mod)
    choose(sch)
    made: Any = TuningRecord(sch.trace, record.workload, [1.0], LLVM, record.args_info).as_json()
    return Space([0, made], record.workload, LLVM)


def test_several_knobs() -> None:
    space = chosen_space()
    assert list(space.config_space.values()) == [
        [1, 2, 4, 8, 16, 32, 64], [1, 2, 4, 8, 16], [0, 1, 2]]  # fmt: skip
    assert space.start == [2, 2, 1]
    _, config = space.template([0, 4, 2], create=False)
    assert [decision for _, decision in config[0][1]] == [[4, 1, 16], 2]
    assert space.template([6, 4, 0], create=False) is None, "64 * 16 does not divide 64"
    points = [space.point2knob(n) for n in range(space.total_dims)]
    assert [space.knob2point(p) for p in points] == list(range(105))
    assert len({tuple(p) for p in points}) == 105


def test_small_helpers() -> None:
    space = space_of()
    assert space.power_of_two(5, 8) == [32, 64, 128, 256]
    assert (space.get_index([4, 8], 8), space.get_index([4, 8], 9)) == (1, -1)
    assert space.add_space([1, 2, 3, 2, 99], [3], limit=50) == [3, 1, 2]
    assert space.get_device_type(Target("cuda")) == "cuda"
    with pytest.raises(RuntimeError, match="found: target opencl"):
        space.get_device_type(Target("opencl"))
