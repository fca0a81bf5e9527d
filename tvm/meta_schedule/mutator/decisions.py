"""Reading the decisions of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tvm.tir.schedule import Instruction, Trace
from tvm.tir.schedule.random_engine import RandomEngine


def plain(value: Any) -> Any:
    """A literal of the IR as what Python has for it."""
    if type(value) is int:  # nearly always: a search reads hundreds of thousands
        return value
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return getattr(value, "value", value)


def decided(trace: Trace, kind: str) -> Iterator[tuple[Instruction, Any]]:
    """The samples of a kind with what was decided for them."""
    for inst in trace.insts:
        if inst.kind.name == kind and inst in trace.decisions:
            yield inst, plain(trace.decisions[inst])


def annotated(trace: Trace, keys: Iterable[str]) -> Iterator[tuple[Instruction, Any]]:
    """The annotations with one of the keys, and their values."""
    wanted = set(keys)
    for inst in trace.insts:
        if inst.kind.name == "Annotate" and plain(inst.attrs[0]) in wanted:
            yield inst, inst.inputs[1]


def other_choice(inst: Instruction, decision: int, engine: RandomEngine) -> int | None:
    """Another candidate of a sample, by its probabilities; None if there is only one."""
    weights = [float(p) for p in plain(inst.attrs[1])]
    if len(weights) < 2:
        return None
    rest = [*weights[:decision], *weights[decision + 1 :]]
    drawn = engine.weighted(rest)
    return drawn + 1 if drawn >= decision else drawn
