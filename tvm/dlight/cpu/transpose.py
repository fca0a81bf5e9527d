"""Copies that exchange the dimension along memory: squares of vectors, transposed in registers.

    for j, i: B[j, i] = A[i, j]   ->   for ib in I / 256: for jo in J / 16: for it in 16:
                                           B[jo, ib + it] = transposed(A[ib + it, jo])    # 16 x 16

Rows of 256 are written at a time, so that whole pages of the target are in use, and each line of
the source is read once. (Measured: the order of the squares matters most, then the registers.)
"""

from __future__ import annotations

from typing import Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import BufferLoad, IntImm, Var
from tvm.tir.op.arith import floormod, is_zero
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.stmt import Block, BufferStore
from tvm.tir.tensor_intrin.transposition import transposition

from .access import extent, size_of

LARGEST: Final = 16  # rows of a square
ROWS: Final = 256  # that are written to the target one after the other
MIN_TILE: Final = 4
_BITS: Final = (8, 16, 32, 64)  # those of short elements are parts of registers


def square_of(node: Block, cpu: CpuModel) -> tuple[int, Var, Var] | None:
    """The size of the squares, the variable along the source and that along the target."""
    found = turned_by(node, cpu)
    if found is None:
        return None
    whole, across, along = found
    sizes = [size_of(iv) for iv in node.iter_vars if iv.var is across or iv.var is along]
    size = next((size for size in (whole, whole // 2) if size >= MIN_TILE and all(
        is_multiple(length, size) for length in sizes
    )), None)  # fmt: skip
    return None if size is None else (size, across, along)


def turned_by(node: Block, cpu: CpuModel) -> tuple[int, Var, Var] | None:
    """As `square_of`, for a copy whose sizes squares may not divide; the size is the largest."""
    body = node.body
    if not isinstance(body, BufferStore) or not isinstance(body.value, BufferLoad):
        return None
    load, dtype = body.value, body.value.buffer.dtype
    if dtype.bits not in _BITS or not dtype.is_scalar or load.buffer.strides or body.buffer.strides:
        return None
    if not all(isinstance(i, Var) for i in (*body.indices, *load.indices)):
        return None
    if not body.indices or set(load.indices) != set(body.indices):
        return None
    across, along = load.indices[-1], body.indices[-1]
    assert isinstance(across, Var), "looked at above"
    assert isinstance(along, Var), "looked at above"
    whole = min(LARGEST, cpu.lanes(dtype.bits))
    return (whole, across, along) if across is not along and whole >= MIN_TILE else None


def is_multiple(length: PrimExpr, size: int) -> bool:
    """Whether squares of that size divide an extent."""
    if isinstance(length, IntImm):
        return length.value % size == 0
    return is_zero(Analyzer().simplify(floormod(length, size)))


def schedule_squares(
    sch: Schedule, block: BlockRV, loops: dict[Var, LoopRV], square: tuple[int, Var, Var]
) -> list[LoopRV]:
    """Transpose squares in registers; returns the loops that may be parallel."""
    size, across, along = square
    node: Block = sch.get(block)
    store = node.body
    assert isinstance(store, BufferStore), "checked by square_of"
    assert isinstance(store.value, BufferLoad), "checked by square_of"
    gaps = [
        len(indices) - 2 - list(indices).index(other)
        for indices, other in ((store.value.indices, along), (store.indices, across))
    ]
    known = next(extent(iv) for iv in node.iter_vars if iv.var is along)
    length = size if known is None else known
    count = next(n for n in range(ROWS // size, 0, -1) if length % (n * size) == 0)
    outer = [loop for var, loop in loops.items() if var is not across and var is not along]
    columns, column = sch.split(loops[across], factors=[None, size])
    rows, row_square, row = sch.split(loops[along], factors=[None, count, size])
    sch.reorder(*outer, rows, columns, row_square, column, row)
    name = transposition(size, str(node.writes[0].buffer.dtype), *gaps)
    sch.tensorize(column, name)
    return [*outer, rows, columns]
