"""Blocks that are neither inlined nor tiled are computed at some loop of their consumers."""

from __future__ import annotations

from tvm.meta_schedule.structure import RANDOM_PRODUCER, is_root, is_tiled
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.query import block_of, consumers_of, loops_above, scope_of

from .schedule_rule import ScheduleRule

MAX_DRAWS = 8  # of a location, until one is found that is legal


class RandomComputeLocation(ScheduleRule):
    """Draws where a block is computed, and where its producer is, if rfactor made it."""

    def __init__(self) -> None:
        pass

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule, with the block moved if it may be."""
        if not _movable(sch, block):
            return [sch]
        for attempt in range(MAX_DRAWS):
            made = sch.copy() if attempt else sch.twin()
            try:
                _move(made, block)
            except ScheduleError:
                continue  # at other locations what the consumer reads may be provably whole
            return [made]
        return [sch]


def _move(sch: Schedule, block: BlockRV) -> None:
    producers: list[BlockRV] = []
    if RANDOM_PRODUCER in block_of(sch.get_sref(block)).annotations:
        producers = sch.get_producers(block)  # asked now: the block may be gone afterwards
        sch.unannotate(block, RANDOM_PRODUCER)
    for moved in [block, *producers]:
        sch.compute_at(moved, sch.sample_compute_location(moved), preserve_unit_loops=True)


def _movable(sch: Schedule, block: BlockRV) -> bool:
    sref = sch.get_sref(block)
    if is_root(sref) or is_tiled(sref):
        return False
    scope = scope_of(sref)
    loops = loops_above(sref)
    if not is_root(scope) or not loops or len(sch.state.child_blocks(loops[0])) > 1:
        return False
    return bool(consumers_of(sref, sch.state.get_block_scope(scope)))
