"""How the operands of products of small numbers lie: groups along the sum, side by side."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block

from .contraction import operand_of
from .weights import free_buffers, pack_before


def groups_of_rows(
    sch: Schedule, block: BlockRV, outer: int, copies: list[BlockRV]
) -> None:
    """Let the left operand lie along the sum, by a copy where it does not."""
    row, step = sch.get(block).iter_vars[outer].var, sch.get(block).iter_vars[outer + 2].var
    operand = operand_of(sch, block, row)
    if operand.innermost() is step:
        return
    made = {sch.get(copy).writes[0].buffer: copy for copy in copies}.get(operand.buffer)
    copy = sch.cache_read(block, operand.read_index, "global") if made is None else made
    axis = next(i for i, index in enumerate(operand.indices) if index is step)
    order = [i for i in range(len(operand.indices)) if i != axis] + [axis]
    sch.transform_layout(copy, ("write", 0), lambda *i: [i[d] for d in order])


def panels_of(
    sch: Schedule, block: BlockRV, outer: int, group: int, columns: int, copies: list[BlockRV]
) -> tuple[BlockRV, bool]:
    """The block that lays the right operand out in groups, and whether it does so beforehand."""
    names = [iv.var for iv in sch.get(block).iter_vars]
    operand = operand_of(sch, block, names[outer + 1])
    panel = {sch.get(copy).writes[0].buffer: copy for copy in copies}.get(operand.buffer)
    source = operand.buffer if panel is None else sch.get(panel).reads[0].buffer
    free = source in free_buffers(sch)
    if panel is None:
        panel = sch.cache_read(block, operand.read_index, "global")
    column = next(i for i, index in enumerate(operand.indices) if index is names[outer + 1])
    step = next(i for i, index in enumerate(operand.indices) if index is names[outer + 2])

    def grouped(*at: PrimExpr) -> list[PrimExpr]:
        lead = [index for i, index in enumerate(at) if i not in (column, step)]
        return [
            *lead, at[column] // columns, at[step] // group, at[column] % columns,
            at[step] % group,
        ]  # fmt: skip

    sch.transform_layout(panel, ("write", 0), grouped)
    if free:
        node: Block = sch.get(panel)
        if len(node.iter_vars) == len(node.writes[0].buffer.shape) - 2:
            sch.transform_block_layout(panel, grouped)
        pack_before(sch, panel)
    return panel, free
