"""The loops of a block in tiles of the size that a tensor intrinsic computes."""

from __future__ import annotations

from tvm.meta_schedule.structure import TENSORIZE
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.auto_tensorize import stores_the_same
from tvm.tir.schedule.transform import tile_with_tensor_intrin


def description(intrin_name: str) -> PrimFunc:
    """What the intrinsic computes, in plain loops; refused for a name that is not registered."""
    found = TensorIntrin.get(intrin_name)
    assert found is not None, "get refuses unknown names"
    return found.desc


def computes(sch: Schedule, block: BlockRV, intrin_name: str) -> bool:
    """True if the block computes what the intrinsic does."""
    return stores_the_same(sch, block, description(intrin_name))


def tile_for_intrin(
    sch: Schedule, block: BlockRV, intrin_name: str, allow_padding: bool = False
) -> BlockRV | None:
    """A block around the tile, marked for the intrinsic; None if the loops do not fit."""
    loop = tile_with_tensor_intrin(sch, block, intrin_name, allow_padding)
    if loop is None:
        return None
    outer = sch.blockize(loop)
    sch.annotate(outer, TENSORIZE, intrin_name)
    return outer
