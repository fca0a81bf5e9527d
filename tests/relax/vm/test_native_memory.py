"""Places of native graphs: asked for in order, planned, and asked for again."""

from __future__ import annotations

from tvm import tir
from tvm.relax.vm.native_memory import Arena, Location


def _bytes(count: int) -> tir.IntImm:
    return tir.const(count, "int64")


def test_allocations_share_memory_when_their_time_is_over() -> None:
    sketch = Arena()
    first = sketch.allocate(_bytes(100), 1)
    sketch.use(first, 2)
    second = sketch.allocate(_bytes(100), 3)
    assert not first.is_at(second)
    sketch.plan()
    again = sketch.again()
    assert [again.allocate(_bytes(100), 1).offset.value for _ in range(2)] == [0, 0]
    made = again.around(tir.Evaluate(0))
    assert isinstance(made, tir.Allocate)
    assert made.extents[0].value == 128
    assert Arena().around(made) is made


def test_memory_of_symbolic_size_is_named() -> None:
    n = tir.SizeVar("n", "int64")
    sketch = Arena()
    for nbytes in (n, n * tir.const(2, "int64")):
        sketch.allocate(nbytes, 1)
    sketch.plan()
    again = sketch.again()
    first, second = (again.allocate(nbytes, 1) for nbytes in (n, n * tir.const(2, "int64")))
    outer = again.around(tir.Evaluate(0))
    assert isinstance(outer, tir.LetStmt)
    assert first.offset.value == 0
    assert second.offset is outer.var


def test_what_a_loop_reads_is_kept_until_its_end() -> None:
    sketch = Arena()
    outer = sketch.allocate(_bytes(64), 1)
    sketch.use(outer, 3)  # within a loop of steps 2 to 9
    inner = sketch.allocate(_bytes(64), 5)
    sketch.use(inner, 6)
    sketch.keep(2, 9)
    sketch.plan()
    again = sketch.again()
    made = [again.allocate(_bytes(64), step) for step in (1, 5)]
    assert made[0].offset.value != made[1].offset.value


def test_places_outside_of_the_arena() -> None:
    base = tir.Var("data", "handle")
    here, there = Location(base, _bytes(0)), Location(base, _bytes(64))
    assert here.is_at(Location(base, _bytes(0)))
    assert not here.is_at(there)
    assert here.address() is base
    Arena().use(here, 3)  # nothing to plan
