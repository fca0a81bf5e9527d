"""Schedules as decisions: drawn, compared and put into numbers without replaying their traces."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2, prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tvm.meta_schedule.mutator.decisions import annotated, plain
from tvm.meta_schedule.structure import PARALLEL
from tvm.tir.schedule import Instruction, Trace
from tvm.tir.schedule.primitive.sampling import draw_tile
from tvm.tir.schedule.random_engine import RandomEngine

Key = tuple[Any, ...]
Features = npt.NDArray[np.float64]


def samples_of(trace: Trace) -> list[Instruction]:
    """The instructions of a trace that decide something, before postprocessing."""
    found: list[Instruction] = []
    for inst in trace.insts:
        if inst.kind.name == "EnterPostproc":
            break
        if inst.kind.has_decision:
            found.append(inst)
    return found


def random_trace(trace: Trace, engine: RandomEngine) -> Trace:
    """The same instructions with decisions drawn anew.

    What only a replay can draw (where a block is computed, tiles of a symbolic loop) stays open.
    """
    made = Trace(trace.insts, {})
    for inst in samples_of(trace):
        decision = _draw(inst, trace.get_decision(inst), engine)
        if decision is not None:
            made.decisions[inst] = decision
    return made


def _draw(inst: Instruction, known: Any, engine: RandomEngine) -> Any:
    if inst.kind.name == "SampleCategorical":
        return engine.weighted([float(p) for p in plain(inst.attrs[1])])
    if inst.kind.name != "SamplePerfectTile" or known is None:
        return None
    factors = [int(f) for f in plain(known)]
    extent, most = prod(factors), int(plain(inst.attrs[1]))
    return draw_tile(engine, extent, len(factors), most) if min(factors) >= 1 else None


def key_of(trace: Trace) -> Key:
    """What tells the decisions of a trace from others of the same instructions."""
    decided = [_frozen(trace.get_decision(inst)) for inst in samples_of(trace)]
    return tuple([*decided, *_limits(trace)])


def _limits(trace: Trace) -> list[int]:
    """What the annotations say that mutators change."""
    return [int(plain(value)) for _, value in annotated(trace, [PARALLEL])]


def _frozen(value: Any) -> Any:
    if type(value) is int:
        return value
    if isinstance(value, (list, tuple)):
        return tuple([_frozen(v) for v in value])
    return plain(value)


def features_of(traces: Sequence[Trace]) -> Features:
    """A row of numbers for each trace of one space: logarithms of tiles, choices, and products of
    two of them, so that what depends on two levels shows."""
    if not traces:
        return np.zeros((0, 1))
    rows = [decisions_of(t) for t in traces]
    width = max(len(row) for row in rows)
    linear = np.zeros((len(rows), width + 1))
    linear[:, 0] = 1.0
    for line, row in zip(linear, rows):
        line[1 : len(row) + 1] = row
    upper = np.triu_indices(width + 1)
    return (linear[:, :, None] * linear[:, None, :])[:, upper[0], upper[1]]


def decisions_of(trace: Trace) -> list[float]:
    """The decisions of a trace as numbers."""
    limits = [log2(1.0 + limit) for limit in _limits(trace)]
    return [*(x for inst in samples_of(trace) for x in _numbers(inst, trace)), *limits]


def _numbers(inst: Instruction, trace: Trace) -> list[float]:
    decision = plain(trace.get_decision(inst))
    if inst.kind.name == "SampleCategorical":
        candidates = [float(c) for c in plain(inst.attrs[0])]
        value = candidates[int(decision)] if decision is not None else candidates[0]
        return [log2(1.0 + max(value, 0.0))]
    if isinstance(decision, list):
        return [log2(max(1, int(d))) for d in decision]
    return [0.0 if decision is None else float(decision)]
