"""Convolutions in groups of channels: the group and the filter within it become two variables.

    C[f, y, x] += W[f, c, ry, rx] * X[f // F * G + c, y + ry, x + rx]
    ->
    C[g, f, y, x] += W[g * F + f, c, ry, rx] * X[g * G + c, y + ry, x + rx]

Each group is then a convolution of its own, with the group as an outer loop.
"""

from __future__ import annotations

from tvm.dlight.analysis.contraction import find_contraction
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import FloorDiv, IntImm, IterVar, Var
from tvm.tir.functor import vars_in, walk
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferStore

from .access import extent, params_of


def split_groups(sch: Schedule, block: BlockRV) -> None:
    """Split the filters of a convolution by their groups; others stay.

    So do planes of known size whose groups have one channel: windows read those along vectors.
    """
    node: Block = sch.get(block)
    found = _filters(node)
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    if found is None or not all(isinstance(value, Var) for value in values):
        return
    filters, each = found
    store = node.body
    assert isinstance(store, BufferStore), "a contraction is one store"
    axis = next(dim for dim, index in enumerate(store.indices) if index is filters.var)
    position = [iv.var for iv in node.iter_vars].index(filters.var)

    def split(at: int, *indices: PrimExpr) -> list[PrimExpr]:
        index = indices[at]
        return [*indices[:at], index // each, index % each, *indices[at + 1 :]]

    if not sch.get_consumers(block) or store.buffer in params_of(sch):
        try:
            sch.cache_write(block, 0, "global")
        except ScheduleError:
            return
    sch.transform_block_layout(block, lambda *indices: split(position, *indices))
    sch.transform_layout(block, ("write", 0), lambda *indices: split(axis, *indices))


def _filters(node: Block) -> tuple[IterVar, int] | None:
    """The variable of the filters, and how many of them each group has; None without groups."""
    found = find_contraction(node)
    if found is None or not all(isinstance(index, Var) for index in found.store):
        return None
    known = all(extent(iv) is not None for iv in node.iter_vars)
    summed = {iv.var for iv in found.k if extent(iv) != 1}
    for iv in found.batch:
        size = extent(iv)
        parts = [
            (index, part)
            for index in (*found.lhs.indices, *found.rhs.indices)
            for part in walk(index)
            if isinstance(part, FloorDiv) and part.a is iv.var
        ]
        if known and not any(summed & set(vars_in(index)) for index, _ in parts):
            continue
        divisors = {part.b.value if isinstance(part.b, IntImm) else 0 for _, part in parts}
        if size is not None and len(divisors) == 1:
            (each,) = divisors
            if each > 1 and size % each == 0 and size > each:
                return iv, each
    return None
