"""What the stages of Winograd's convolution have in common on all targets."""

from __future__ import annotations

from tvm.error import TVMError, message
from tvm.meta_schedule.structure import extent_of
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import loop_of

_MAX_UNROLLED = 16  # of the loops over the points that a transform makes


def producer_without_constants(sch: Schedule, block: BlockRV) -> BlockRV:
    """The one block whose data a stage reads, once the matrices of the transforms are inlined."""
    found = []
    for producer in sch.get_producers(block):
        if sch.get(producer).reads:
            found.append(producer)
        else:
            sch.compute_inline(producer)
    if len(found) != 1:
        raise TVMError(
            message(
                f"the producers of the Winograd stage {sch.get(block).name_hint}",
                found=", ".join([sch.get(one).name_hint for one in found]) or "none with data",
                legal="one that reads data, beside constants",
            )
        )
    return found[0]


def tile_transform(
    sch: Schedule, block: BlockRV, tiled: tuple[int, int], points: tuple[int, int]
) -> list[LoopRV]:
    """Two tiled loops outside of what makes one tile, which is unrolled; the four outer loops.

    `tiled` are the loops over tiles and channels, `points` those over what a transform makes of a
    tile; the last two loops of the six are the sums.
    """
    loops = sch.get_loops(block)
    if len(loops) != 6:
        raise TVMError(
            message(
                f"the loops of the Winograd stage {sch.get(block).name_hint}",
                found=str(len(loops)),
                legal="six: tiles, channels, two of points, two of sums",
            )
        )
    splits = []
    for i in tiled:
        factors = sch.sample_perfect_tile(loops[i], n=2, max_innermost_factor=64)
        splits.append(sch.split(loops[i], list(factors)))
    for i in points:
        extent = extent_of(loop_of(sch.get_sref(loops[i])))
        if extent is not None and extent <= _MAX_UNROLLED:
            sch.unroll(loops[i])
    for i in (4, 5):
        sch.unroll(loops[i])
    outer = [splits[0][0], splits[1][0], splits[0][1], splits[1][1]]
    sch.reorder(*outer, *[loops[i] for i in points], loops[4], loops[5])
    return outer
