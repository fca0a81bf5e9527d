"""Rows past the end of an operand: the last row is read again, instead of padding a copy.

    A_pad[i, k] = T.if_then_else(i < n, A[i, k], 0)
    C_pad[i, j] += A_pad[i, k] * B[k, j]                ->  C_pad[i, j] += A[min(i, n - 1), k] * ...
    C[i, j] = C_pad[i, j]                                   C[i, j] = C_pad[i, j]

What comes out in rows past the end is not stored, so any row will do there, and the address of
each row is computed once a tile. Holds for rows only: what is summed over must be zero outside.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Call, Min, Var
from tvm.tir.functor import substitute
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.regions import with_regions
from tvm.tir.stmt import Block, BufferStore


def read_last_row_again(sch: Schedule, copies: list[BlockRV], operand: Buffer) -> list[BlockRV]:
    """Do without the padded copy of an operand; returns the copies that are left."""
    for copy in copies:
        node: Block = sch.get(copy)
        if node.writes[0].buffer is operand:
            clamped = _clamped(node)
            if clamped is None:
                break
            sch.state.replace(sch.get_sref(copy), clamped, {node: clamped})
            sch.compute_inline(copy)
            return [other for other in copies if other is not copy]
    return copies


def _clamped(node: Block) -> Block | None:
    """The copy with places limited to those of its source."""
    store = node.body
    assert isinstance(store, BufferStore), "a copy is one store"
    choice = store.value
    load = choice.args[1] if isinstance(choice, Call) and len(choice.args) == 3 else None
    if not isinstance(load, BufferLoad):
        return None
    limits: dict[Var, PrimExpr] = {}
    for index, small, large in zip(load.indices, load.buffer.shape, store.buffer.shape):
        if small is not large and isinstance(index, Var):
            limits[index] = Min(index, small - 1)
    value = substitute(load, limits)
    return with_regions(
        change_block(node, body=BufferStore(store.buffer, value, store.indices, None, store.span))
    )
