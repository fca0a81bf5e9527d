"""Moves made of several primitives."""

from __future__ import annotations

from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm
from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.stmt import For

from .analysis.tensorize_loops import get_tensorize_loop_mapping
from .random_variable import BlockRV, LoopRV
from .schedule import Schedule


def tile_with_tensor_intrin(
    sch: Schedule, block: BlockRV, intrin_name: str, allow_padding: bool = False
) -> LoopRV | None:
    """Tile a block for an intrinsic and return the outermost loop of a tile, or None if it cannot.

    The loops of the tile become the innermost ones, in the order of the intrinsic's description.
    Extents that do not divide are padded if that is allowed; copies that pad are inlined into
    blocks beside them, so that only inputs are copied.
    """
    intrin = TensorIntrin.get(intrin_name)
    assert intrin is not None, "missing ones raise"
    info = get_tensorize_loop_mapping(sch, block, intrin.desc, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings is not None:
        _pad(sch, block, info.block_iter_paddings)
    loops = sch.get_loops(block)
    variables = {sch.get_sref(loop): loop for loop in loops}
    inner: dict[int, LoopRV] = {}
    for loop, desc_loop in info.loop_map.items():
        # the outer extent is left open: a trace may be replayed where it is another
        _, tile = sch.split(variables[loop], factors=[None, _extent(desc_loop)])
        inner[info.desc_loop_indexer[desc_loop]] = tile
    tiles = [inner[number] for number in sorted(inner)]
    if not tiles:
        return None
    kept = _behind_the_first(sch, block, tiles)
    sch.reorder(*kept, *tiles)
    return tiles[0]


def _extent(stmt: object) -> int:
    assert isinstance(stmt, For), "loops are mapped to loops"
    assert isinstance(stmt.extent, IntImm), "the mapping asked for constants"
    return stmt.extent.value


def _behind_the_first(sch: Schedule, block: BlockRV, tiles: list[LoopRV]) -> list[LoopRV]:
    """The loops within the outermost tile loop that are no tile loops."""
    inside = {sch.get_sref(tile) for tile in tiles}
    found: list[LoopRV] = []
    met = False
    for loop in sch.get_loops(block):
        if sch.get_sref(loop) in inside:
            met = True
        elif met:
            found.append(loop)
    return found


def _pad(sch: Schedule, block: BlockRV, paddings: list[int]) -> None:
    """Pad the block; inline what stood before it into the copies, and those behind it."""
    makers, users = _srefs(sch, sch.get_producers(block)), _srefs(sch, sch.get_consumers(block))
    sch.pad_einsum(block, paddings)
    inlined: list[BlockRV] = []
    for copy in sch.get_producers(block):
        originals = sch.get_producers(copy)
        if sch.get_sref(copy) not in makers and originals:
            inlined.append(originals[0])
    for copy in sch.get_consumers(block):
        if sch.get_sref(copy) not in users and sch.get_consumers(copy):
            inlined.append(copy)
    for gone in inlined:
        sch.compute_inline(gone)


def _srefs(sch: Schedule, blocks: list[BlockRV]) -> set[StmtSRef]:
    return {sch.get_sref(block) for block in blocks}
