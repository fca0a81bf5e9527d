"""Blocks that read what a buffer holds, and blocks with a border."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import te, tir
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.analysis.inside import index_outside


def outside(sch: Schedule, name: str, *where: tir.PrimExpr) -> Any:
    block = sch.get(sch.get_block(name))
    (region,) = block.reads
    return index_outside(block, region.buffer, [r.min for r in region.region], where)


@pytest.mark.parametrize(("extent", "shift", "inside"), [(8, 0, True), (6, 2, True), (8, 1, False)])
def test_a_window(extent: int, shift: int, inside: bool) -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((extent,), lambda i: a[i + shift] * 2.0, name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    assert (outside(sch, "B") is None) is inside


def test_a_condition_may_keep_inside() -> None:
    a = te.placeholder((8,), name="A")
    b = te.compute((10,), lambda i: a[i - 1] * 2.0, name="B")
    sch = Schedule(te.create_prim_func([a, b]))
    i = sch.get(sch.get_block("B")).iter_vars[0].var
    assert str(outside(sch, "B")) == "v_i - 1"
    assert outside(sch, "B", i >= 1, i < 9) is None
    assert outside(sch, "B", i < 9) is not None


def test_sizes_that_are_rounded_up() -> None:
    n = te.var("n")
    a = te.placeholder(((n + 3) // 4 * 4,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    assert outside(Schedule(te.create_prim_func([a, b])), "B") is None


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("shift", [0, 1])
def test_rows_that_are_fused_with_a_symbol_of_them(padded: bool, shift: int) -> None:
    n = te.var("n")
    rows = (4 * n + 31) // 32 * 32 if padded else 4 * n
    a = te.placeholder((rows, 8), name="A")
    b = te.compute((4, n, 8), lambda i, j, k: a[i * n + j + shift, k] * 2.0, name="B")
    found = outside(Schedule(te.create_prim_func([a, b])), "B")
    assert (found is None) is (shift == 0)
