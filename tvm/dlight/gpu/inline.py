"""Inlining around a block whose loops are already scheduled."""

from __future__ import annotations

from collections.abc import Callable

from tvm.tir.schedule import BlockRV, Schedule, ScheduleError


def auto_inline_producers(sch: Schedule, block: BlockRV) -> None:
    """Inline what the block reads, as far back as that goes."""
    while _inlined(sch.get_producers(block), sch.compute_inline):
        pass


def auto_inline_consumers(sch: Schedule, block: BlockRV) -> None:
    """Inline what reads the block, into the consumers behind it or into the block itself."""
    while True:
        consumers = sch.get_consumers(block)
        done = _inlined(consumers, sch.compute_inline)
        done += _inlined(consumers, sch.reverse_compute_inline)
        if not done:
            return


def auto_inline_consumer_chain(sch: Schedule, block: BlockRV) -> None:
    """Inline everything behind the block into it; other inputs of it first, where they hinder.

    Raises ScheduleError if a consumer stays.
    """
    auto_inline_consumers(sch, block)
    own = sch.get_sref(block)
    for consumer in sch.get_consumers(block):
        for producer in sch.get_producers(consumer):
            if sch.get_sref(producer) is not own:
                sch.compute_inline(producer)
    auto_inline_consumers(sch, block)
    remaining = [sch.get(consumer).name_hint for consumer in sch.get_consumers(block)]
    if remaining:
        raise ScheduleError(
            f"auto_inline_consumer_chain: blocks {remaining} behind {sch.get(block).name_hint!r} "
            "cannot be inlined; legal: elementwise blocks behind it"
        )


def _inlined(blocks: list[BlockRV], inline: Callable[[BlockRV], None]) -> int:
    """How many of the blocks could be inlined."""
    count = 0
    for block in blocks:
        try:
            inline(block)
        except (ScheduleError, ValueError):
            continue  # a block that an earlier step inlined is gone
        count += 1
    return count
