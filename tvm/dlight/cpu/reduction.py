"""Sums, maxima and the like: vector accumulators."""

from __future__ import annotations

from tvm.target.cpu_model import CpuModel
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block

from .base import Decompositions


def schedule_reduction(sch: Schedule, block: BlockRV, cpu: CpuModel, later: Decompositions) -> str:
    """Left as it is for now."""
    node: Block = sch.get(block)
    return f"{node.name_hint}: serial reduction"
