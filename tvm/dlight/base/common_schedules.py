"""Steps that many rules begin with."""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import BlockInfo
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError


def try_inline(sch: Schedule, blocks: list[BlockInfo]) -> list[BlockInfo]:
    """Inline as many blocks as possible, into consumers or producers; returns those that stay."""

    def attempt(rv: BlockRV) -> bool:
        for inline in (sch.compute_inline, sch.reverse_compute_inline):
            try:
                inline(rv)
            except ScheduleError:
                continue
            return True
        return False

    rest = list(blocks)
    while True:
        kept = [block for block in rest if not attempt(block.block_rv)]
        if len(kept) == len(rest):
            return kept
        rest = kept


def try_inline_contiguous_spatial(
    sch: Schedule, block_infos: list[BlockInfo]
) -> list[BlockInfo] | None:
    """Inline spatial blocks that stand next to each other; None if nothing was given."""
    if not block_infos:
        return None
    result: list[BlockInfo] = []
    spatial: list[BlockInfo] = []
    for block in block_infos:
        if block.is_injective():
            spatial.append(block)
            continue
        result.extend(try_inline(sch, spatial))
        result.append(block)
        spatial = []
    result.extend(try_inline(sch, spatial))
    return result
