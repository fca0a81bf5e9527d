"""The arena of `main` over time: what lies where, from which call to which, and the peak."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tvm.ir.expr import PrimExpr
from tvm.relax.vm.native import PlannedGraph
from tvm.tir.expr import IntImm

from . import words as w


def memory_of(planned: PlannedGraph) -> w.Memory | None:
    """The plan in numbers; None where sizes are open."""
    laid_out = planned.arena.laid_out()
    names = {
        block.number: var.name_hint
        for var, blocks in planned.locations.items() for block in blocks if block.number >= 0
    }  # fmt: skip
    held: list[w.Held] = []
    for number, (lifetime, offset) in enumerate(laid_out):
        nbytes, start = _number(lifetime.nbytes), _number(offset)
        if nbytes is None or start is None:
            return None
        first = bisect_left(planned.steps, lifetime.first)
        last = max(bisect_right(planned.steps, lifetime.last) - 1, first)
        name = names.get(number, f"within {_call(planned, first)}")
        held.append(w.Held(name, first, start, nbytes, first, last))
    total = _number(planned.arena.total)
    if total is None:
        return None
    peak, at = _peak(held, len(planned.calls))
    return w.Memory(total, planned.constant_bytes, peak, at, held)


def _call(planned: PlannedGraph, number: int) -> str:
    return planned.calls[number].name if number < len(planned.calls) else "the end"


def _peak(held: list[w.Held], calls: int) -> tuple[int, int]:
    change = [0] * (calls + 2)
    for value in held:
        change[min(value.first, calls)] += value.nbytes
        change[min(value.last, calls) + 1] -= value.nbytes
    most, at, now = 0, 0, 0
    for call, more in enumerate(change):
        now += more
        if now > most:
            most, at = now, call
    return most, at


def _number(expr: PrimExpr) -> int | None:
    return expr.value if isinstance(expr, IntImm) else None
