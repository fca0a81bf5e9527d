"""Steps that many rules begin with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tvm.dlight.analysis.common_analysis import BlockInfo, normalize_prim_func
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError


def try_inline(sch: Schedule, blocks: list[BlockInfo]) -> list[BlockInfo]:
    """Inline as many blocks as possible, into consumers or else producers; returns those left.

    After each success everything is tried again from the front: it may have freed another block.
    """
    remaining = list(blocks)
    while True:
        done = _first_inlined(sch.compute_inline, remaining)
        if done is None:
            done = _first_inlined(sch.reverse_compute_inline, remaining)
        if done is None:
            return remaining
        remaining.remove(done)


def _first_inlined(
    inline: Callable[[BlockRV], None], blocks: list[BlockInfo]
) -> BlockInfo | None:
    for block in blocks:
        try:
            inline(block.block_rv)
        except ScheduleError:
            continue
        return block
    return None


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


def main_and_epilogue(sch: Schedule) -> tuple[BlockInfo, BlockInfo | None] | None:
    """The first block and an injective one after it, once spatial blocks are inlined."""
    infos = normalize_prim_func(sch)
    infos = None if infos is None else try_inline_contiguous_spatial(sch, infos)
    if not infos or len(infos) > 2:
        return None
    epilogue = infos[1] if len(infos) == 2 else None
    if epilogue is not None and not epilogue.is_injective():
        return None
    return infos[0], epilogue


def pad_operands(sch: Schedule, block: BlockRV, padding: Sequence[int]) -> list[BlockRV]:
    """Round the extents of a contraction up; returns the blocks that copy operands for that."""
    before = {sch.get_sref(producer) for producer in sch.get_producers(block)}
    sch.pad_einsum(block, list(padding))
    return [copy for copy in sch.get_producers(block) if sch.get_sref(copy) not in before]
