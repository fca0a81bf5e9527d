"""Rows past the end of an operand: the last row is read again, instead of padding a copy.

    A_pad[i, k] = T.if_then_else(i < n, A[i, k], 0)
    C_pad[i, j] += A_pad[i, k] * B[k, j]                ->  C_pad[i, j] += A[min(i, n - 1), k] * ...
    C[i, j] = C_pad[i, j]                                   C[i, j] = C_pad[i, j]

What comes out in rows past the end is not stored, so any row will do there, and the address of
each row is computed once a tile. Holds for rows only: what is summed over must be zero outside.
"""

from __future__ import annotations

from tvm.tir.buffer import Buffer
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.stmt import Block


def read_last_row_again(sch: Schedule, copies: list[BlockRV], operand: Buffer) -> list[BlockRV]:
    """Do without the padded copy of an operand; returns the copies that are left."""
    for copy in copies:
        node: Block = sch.get(copy)
        if node.writes[0].buffer is operand:
            try:
                sch.unsafe_repeat_edge(copy)
            except ScheduleError:
                break
            sch.compute_inline(copy)
            return [other for other in copies if other is not copy]
    return copies
