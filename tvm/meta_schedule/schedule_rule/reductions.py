"""Reducing loops brought together, for the rules that run them in parallel."""

from __future__ import annotations

from tvm.error import TVMError
from tvm.tir.expr import IterVar
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import loop_kind


def fuse_reduction_loops(sch: Schedule, block: BlockRV) -> tuple[LoopRV, int]:
    """Make one innermost loop of all that reduce; returns it and how many others there are.

    for k0: for i: for k1: S   ->   for i: for k0_k1_fused: S
    """
    loops = sch.get_loops(block)
    kinds = [loop_kind(sch.get_sref(loop)) for loop in loops]
    spatial = [loop for loop, kind in zip(loops, kinds) if kind == IterVar.DataPar]
    reducing = [loop for loop, kind in zip(loops, kinds) if kind == IterVar.CommReduce]
    if not reducing:
        raise TVMError(
            f"fuse_reduction_loops: no loop around {sch.get(block).name_hint!r} reduces; "
            "legal: a reduction block"
        )
    order = [*spatial, *reducing]
    if any(a is not b for a, b in zip(order, loops)):
        sch.reorder(*order)
    fused = sch.fuse(*reducing) if len(reducing) > 1 else reducing[0]
    return fused, len(spatial)
