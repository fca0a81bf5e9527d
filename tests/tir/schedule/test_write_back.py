"""Copies of buffers that several blocks write, or that are read before they are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tir.schedule.cases import open_schedule, refuses
from tests.tir.schedule.hazards import (
    even,
    given,
    halves,
    overwritten,
    read_twice,
    shifted,
    swapped,
)
from tvm import tir
from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.testing import verify_trace_roundtrip


def check(sch: Schedule, func: tir.PrimFunc) -> None:
    """All parameters hold what they hold after the unscheduled function."""
    expected, found = given(func), given(func)
    run(func, *expected)
    run(sch.mod, *found)
    np.testing.assert_array_equal(found, expected)
    verify_trace_roundtrip(sch, func)


def names(func: tir.PrimFunc, *calls: tuple[Any, ...]) -> list[str]:
    sch = open_schedule(func)
    for primitive, *args in calls:
        getattr(sch, primitive)(*args)
    check(sch, func)
    return [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("cache_read", "before", 0, "local"), ["A_local", "before", "fill", "after"]),
        (("cache_read", "after", 0, "local"), ["before", "fill", "A_local", "after"]),
        (("cache_write", "fill", 0, "local"), ["before", "fill", "A_local", "after"]),
        (("cache_write", "fill", 0, "local", ["fill"]), ["before", "fill", "A_local", "after"]),
        (("cache_write", "fill", 0, "local", ["after"]), ["before", "fill", "after", "A_local"]),
        (("reindex", "fill", ("write", 0)), ["before", "fill", "A_reindex", "after"]),
        (("reindex", "after", ("read", 0)), ["before", "fill", "A_reindex_reindex", "after"]),
        (("reindex", "before", ("read", 0)), ["A_reindex_reindex", "before", "fill", "after"]),
        (
            ("reindex_cache_write", "fill", 0, "local", lambda i: (i // 4, i % 4)),
            ["before", "fill", "A_local", "after"],
        ),
        (
            ("reindex_cache_read", "before", 0, "local", lambda i: (i // 4, i % 4)),
            ["A_local", "before", "fill", "after"],
        ),
    ],
)
def test_a_reader_before_the_writer_reads_what_was_there(call: Any, expected: list[str]) -> None:
    assert names(read_twice, call) == expected


def test_a_reader_of_another_value_is_no_consumer() -> None:
    sch = open_schedule(read_twice)
    before, fill, after = map(sch.get_block, ("before", "fill", "after"))
    refuses(sch, "does not read 'A' as block", "cache_write", fill, 0, "local", [before])
    refuses(sch, "not all of the consumer", "cache_read", after, 0, "local", [before])


def test_the_last_writer_counts() -> None:
    assert names(halves, ("cache_read", "all", 0, "local")) == ["low", "high", "B_local", "all"]
    expected = ["low", "B_local", "high", "all"]
    assert names(halves, ("cache_write", "low", 0, "local")) == expected
    expected = ["low", "high", "B_local", "all"]
    assert names(halves, ("cache_write", "high", 0, "local")) == expected


def test_rounds_that_read_what_the_one_before_wrote() -> None:
    sch = open_schedule(shifted)
    refuses(sch, "which reads it there", "cache_read", sch.get_block("read"), 0, "local")
    assert names(shifted, ("cache_write", "write", 0, "local")) == ["read", "write", "A_local"]


def test_rounds_that_overwrite_what_they_read() -> None:
    assert names(overwritten, ("cache_read", "read", 0, "local")) == ["A_local", "read", "write"]
    assert names(overwritten, ("cache_write", "write", 0, "local")) == ["read", "write", "A_local"]


def test_copies_of_copies_in_place() -> None:
    @T.prim_func
    def func(A: T.Buffer((12,), "float32")):
        for i in range(1):
            with T.block("update"):
                T.reads(A[0:12])
                T.writes(A[0:12])
                for j in range(12):
                    A[j] = A[j] * 2.0

    sch = open_schedule(func)
    read, write = sch.cache_inplace("update", 0, "local")
    sch.cache_read(read, 0, "global", [read])
    sch.cache_write(write, 0, "global")
    check(sch, func)
    order = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert order == ["A_global", "A_local", "update", "A_local", "A_global"]
    (loop,) = sch.get_loops("update")
    assert len(sch.get_child_blocks(loop)) == 3  # the copies in place stand in the block's loop


def test_the_box_that_is_written_back_holds_nothing_else() -> None:
    """In rows of four the second half of B shares a row with the first."""
    sch = open_schedule(halves)
    sch.transform_layout("low", ("write", 0), lambda i: [i // 4, i % 4])
    refuses(sch, "writes only some", "cache_write", sch.get_block("high"), 0, "local")
    sch = open_schedule(halves)
    high, reader = sch.get_block("high"), sch.get_block("all")
    refuses(sch, "that the consumers read", "cache_write", high, 0, "local", [reader])


def test_elements_of_a_parameter_that_are_left_out_stay() -> None:
    sch = open_schedule(even)
    refuses(sch, "writes only some", "cache_write", sch.get_block("even"), 0, "local")


def test_blocks_around_blocks_that_leave_elements_out() -> None:
    """The block that `blockize` makes says a box; what is written is what it was before."""
    sch = open_schedule(even)
    outer = sch.blockize(sch.get_loops("even")[0])
    refuses(sch, "writes only some", "cache_write", outer, 0, "local")
    sch = open_schedule(swapped)
    sch.cache_write(sch.blockize(sch.get_loops("first")[0]), 0, "local")
    check(sch, swapped)


def test_a_copy_within_guarded_loops_is_guarded() -> None:
    sch = open_schedule(shifted)
    sch.split(sch.get_loops("write")[0], [None, 2])
    sch.cache_write("read", 0, "local")
    check(sch, shifted)
    assert sch.mod.script().count("T.where(i_0 * 2 + i_1 < 11)") == 3


def test_loops_whose_rounds_read_what_is_copied_back_whole() -> None:
    sch = open_schedule(shifted)
    block = sch.get_block("write")
    refuses(sch, "whose next round reads it", "reindex_cache_write", block, 0, "local", lambda i: i)
    reason = "takes 2 variables"
    refuses(sch, reason, "reindex_cache_write", block, 0, "local", lambda i, j: (i, j))
