"""The loops of a block in tiles of the size that a tensor intrinsic computes."""

from __future__ import annotations

from tvm.meta_schedule.structure import TENSORIZE
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis import get_auto_tensorize_mapping_info, get_tensorize_loop_mapping
from tvm.tir.schedule.analysis.query import loop_of
from tvm.tir.stmt import For


def description(intrin_name: str) -> PrimFunc:
    """What the intrinsic computes, in plain loops; refused for a name that is not registered."""
    found = TensorIntrin.get(intrin_name)
    assert found is not None, "get refuses unknown names"
    return found.desc


def computes(sch: Schedule, block: BlockRV, intrin_name: str) -> bool:
    """True if the block computes what the intrinsic does."""
    desc = description(intrin_name)
    return get_auto_tensorize_mapping_info(sch, block, desc) is not None


def tile_for_intrin(sch: Schedule, block: BlockRV, intrin_name: str) -> BlockRV | None:
    """A block around the tile, marked for the intrinsic; None if the loops do not fit."""
    loop = tile_with_tensor_intrin(sch, block, intrin_name)
    if loop is None:
        return None
    outer = sch.blockize(loop)
    sch.annotate(outer, TENSORIZE, intrin_name)
    return outer


def tile_with_tensor_intrin(sch: Schedule, block: BlockRV, intrin_name: str) -> LoopRV | None:
    """Split the loops by those of the intrinsic, and nest the inner parts in its order.

    Returns the outermost loop of the tile; None, and nothing changes, if the loops do not fit.
    """
    info = get_tensorize_loop_mapping(sch, block, description(intrin_name))
    if info is None or not info.loop_map:
        return None
    by_sref = {sch.get_sref(loop): loop for loop in sch.get_loops(block)}
    inner: dict[int, LoopRV] = {}
    for sref, loop in by_sref.items():
        wanted: For | None = info.loop_map.get(sref)
        if wanted is not None:
            number = info.desc_loop_indexer[wanted]
            _, inner[number] = sch.split(loop, [None, int(wanted.extent)])  # type: ignore[call-overload]
    suffix = [inner[number] for number in sorted(inner)]
    tiled = {sch.get_sref(loop) for loop in suffix}
    rest: list[LoopRV] = []
    met = False
    for loop in sch.get_loops(block):
        if sch.get_sref(loop) in tiled:
            met = True
        elif met:
            rest.append(loop)
    sch.reorder(*rest, *suffix)
    assert loop_of(sch.get_sref(suffix[0])) is not None, "a loop of the tile"
    return suffix[0]
