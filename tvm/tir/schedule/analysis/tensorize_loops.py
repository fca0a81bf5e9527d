"""Which loops of a block are those of a tensor intrinsic's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tvm.arith import Analyzer
from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import uses_any
from tvm.tir.schedule.error import ScheduleError
from tvm.tir.schedule.random_variable import BlockRV
from tvm.tir.schedule.schedule import Schedule
from tvm.tir.stmt import BlockRealize, For, SeqStmt, Stmt

from .query import loop_of, loops_above, realize_of


class TensorizeInfo(Object):
    """How a block is tiled for an intrinsic.

    `loop_map` gives for a loop of the block that of the description which it is tiled by,
    `desc_loop_indexer` the number of each of those, from the outside; `block_iter_paddings` has a
    multiple for each variable of the block, or is None if no extent needs padding.
    """

    __slots__ = ("block_iter_paddings", "desc_loop_indexer", "loop_map")

    def __init__(
        self,
        loop_map: Mapping[StmtSRef, For],
        desc_loop_indexer: Mapping[For, int],
        block_iter_paddings: Sequence[int] | None,
    ) -> None:
        self.loop_map: Final = dict(loop_map)
        self.desc_loop_indexer: Final = dict(desc_loop_indexer)
        self.block_iter_paddings: Final = (
            None if block_iter_paddings is None else list(block_iter_paddings)
        )


def desc_parts(desc_func: PrimFunc) -> tuple[list[For], BlockRealize]:
    """The loops of a description and the one block within; refused for any other form."""
    stmt: Stmt = desc_func.body
    if isinstance(stmt, BlockRealize):
        stmt = stmt.block.body
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize):
        raise ScheduleError(
            "tensorize: the description of the intrinsic is no nest of loops around one block; "
            f"found a {type(stmt).__name__} in its loops; legal: loops with one block within"
        )
    return loops, stmt


def get_tensorize_loop_mapping(
    sch: Schedule, block: BlockRV, desc_func: PrimFunc, allow_padding: bool = False
) -> TensorizeInfo | None:
    """The loops of a block that an intrinsic's loops tile; None if they do not fit.

    Variables are compared from the last to the first, by kind. Extents have to be multiples of
    those of the description, unless padding is allowed.
    """
    block_sref = sch.get_sref(block)
    realize = realize_of(sch.state, block_sref)
    loops = _own_loops(block_sref)
    desc_loops, desc = desc_parts(desc_func)
    analyzer = Analyzer()
    for loop in [*map(loop_of, loops), *desc_loops]:
        analyzer.bind(loop.loop_var, Range.from_min_extent(loop.min, loop.extent))
    kinds = [iv.iter_type for iv in realize.block.iter_vars]
    found: dict[StmtSRef, For] = {}
    paddings: dict[int, int] = {}
    position = len(kinds)
    for iv, value in reversed(list(zip(desc.block.iter_vars, desc.iter_values))):
        wanted = _plain_loop(value, desc_loops, analyzer)
        while position > 0 and kinds[position - 1] != iv.iter_type:
            position -= 1
        if wanted is None or position == 0 or not isinstance(wanted.extent, IntImm):
            return None
        position -= 1
        free = [s for s in loops if s not in found]
        own = _plain_loop(realize.iter_values[position], [loop_of(s) for s in loops], analyzer)
        sref = next((s for s in free if s.stmt is own), None)
        if sref is None:
            continue
        extent = loop_of(sref).extent
        if not isinstance(extent, IntImm):
            return None
        if extent.value % wanted.extent.value:
            if not allow_padding:
                return None
            paddings[position] = wanted.extent.value
        found[sref] = wanted
    if paddings and not all(isinstance(value, Var) for value in realize.iter_values):
        return None
    numbers = {loop: i for i, loop in enumerate(desc_loops)}
    padded = [paddings.get(i, 1) for i in range(len(kinds))] if paddings else None
    return TensorizeInfo(found, numbers, padded)


def _own_loops(block: StmtSRef) -> list[StmtSRef]:
    """The loops around a block that run nothing besides it."""
    found: list[StmtSRef] = []
    for sref in reversed(loops_above(block)):
        if isinstance(loop_of(sref).body, SeqStmt):
            break
        found.insert(0, sref)
    return found


def _plain_loop(value: PrimExpr, loops: Sequence[For], analyzer: Analyzer) -> For | None:
    """The loop that a value is, up to an offset that moves with none of the loops."""
    names = {loop.loop_var for loop in loops}
    for loop in loops:
        offset = analyzer.simplify(value - loop.loop_var)
        if not uses_any(offset, names):
            return loop
    return None
