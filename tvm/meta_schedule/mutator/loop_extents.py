"""The extents of a schedule's loops as products of what its trace decides.

    l1, l2 = sch.split(l0, [v0, 8])        l1: v0      l2: 8
    l3 = sch.fuse(l1, l2)                  l3: v0 * 8

One replay shows which loops there are; of other decisions the extents are then read off the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tvm.tir.expr import Var
from tvm.tir.schedule import LoopRV, Schedule, Trace
from tvm.tir.schedule.recorder import StaleVariableError

from .decisions import plain

TileLevel = tuple[int, int]  # a level of the tiles that a sample decides: its number, and the level
Factors = tuple["int | TileLevel", ...]


def extents_of_loops(sch: Schedule) -> dict[Var, Factors]:
    """The factors of each loop that the trace of a schedule made; of others nothing is known."""
    known: dict[Any, Factors] = {}
    for number, inst in enumerate(sch.trace.insts):
        if inst.kind.name == "SamplePerfectTile":
            known.update({out: ((number, i),) for i, out in enumerate(inst.outputs)})
        elif inst.kind.name == "Split":
            for out, factor in zip(inst.outputs, inst.inputs[1:]):
                if factor in known:
                    known[out] = known[factor]
                elif isinstance(plain(factor), int):
                    known[out] = (plain(factor),)
        elif inst.kind.name == "Fuse" and all(loop in known for loop in inst.inputs):
            known[inst.outputs[0]] = tuple([f for loop in inst.inputs for f in known[loop]])
    return {
        level_of: factors
        for rv, factors in known.items()
        if isinstance(rv, LoopRV) and (level_of := _variable(sch, rv)) is not None
    }


def _variable(sch: Schedule, loop: LoopRV) -> Var | None:
    """The variable of a loop; None for one that is no more."""
    try:
        found: Var = sch.get(loop).loop_var
    except StaleVariableError:
        return None
    return found


def extent(trace: Trace, factors: Sequence[int | TileLevel]) -> int:
    """The product of factors under the decisions of a trace with the same instructions."""
    return prod([f if isinstance(f, int) else _decided(trace, f) for f in factors])


def _decided(trace: Trace, level_of: TileLevel) -> int:
    number, level = level_of
    return int(plain(trace.get_decision(trace.insts[number]))[level])
