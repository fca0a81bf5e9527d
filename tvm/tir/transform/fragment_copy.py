"""Copies between memory and fragments of tensor cores, a tile of 16 x 16 at a time.

    for i, j in T.grid(128, 128):
        A_wmma[i, j] = A_shared[i, j]
    ->
    for i, j in T.grid(8, 8):
        with T.block("wmma_load"):
            src = T.match_buffer(A_shared[i * 16:i * 16 + 16, j * 16:j * 16 + 16], ...)
            tgt = T.match_buffer(A_wmma[i * 16:i * 16 + 16, j * 16:j * 16 + 16], ...)
            T.tvm_load_matrix_sync(tgt.data, 16, 16, 16, ..., src's address, "row_major")
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType, PrimType
from tvm.tir import expr as e
from tvm.tir import op
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import substitute
from tvm.tir.op import arith as ops

TILE = 16
MIN_GAP = 8  # elements between rows that keep the alignment of a row of a tile


def tiled(loops: Sequence[s.For], store: s.BufferStore, load: e.BufferLoad) -> s.Stmt | None:
    """The copy tile by tile; None if the two innermost loops do not run over whole tiles."""
    if len(loops) < 2 or not all(_is_whole(loop) for loop in loops[-2:]):
        return None
    outer = [e.Var(loop.loop_var.name, loop.loop_var.dtype) for loop in loops[-2:]]
    rows = [loop.loop_var for loop in loops[-2:]]
    starts = {row: tile * TILE for row, tile in zip(rows, outer)}
    source = _tile(load.buffer, load.indices, rows, starts)
    target = _tile(store.buffer, store.indices, rows, starts)
    if source is None or target is None:
        return None
    is_load = store.buffer.scope().startswith("wmma.")
    body: s.Stmt = _block(source, target, is_load=is_load)
    for loop, tile in reversed(list(zip(loops[-2:], outer))):
        assert isinstance(loop.extent, e.IntImm), "asked for before"
        extent = e.IntImm(str(loop.extent.dtype), loop.extent.value // TILE)
        body = s.For(tile, loop.min, extent, loop.kind, body, span=loop.span)
    for loop in reversed(loops[:-2]):
        body = s.For(loop.loop_var, loop.min, loop.extent, loop.kind, body, span=loop.span)
    return body


def _is_whole(loop: s.For) -> bool:
    extent = loop.extent
    return ops.is_zero(loop.min) and isinstance(extent, e.IntImm) and extent.value % TILE == 0


def _tile(
    buffer: Buffer, indices: Sequence[PrimExpr], rows: Sequence[e.Var],
    starts: dict[e.Var, PrimExpr],
) -> s.BufferRegion | None:  # fmt: skip
    """The tile that the copy accesses; None unless its dimensions are the buffer's last two."""
    analyzer = Analyzer()
    zeros = {row: e.IntImm(str(row.dtype), 0) for row in rows}
    ones = {row: e.IntImm(str(row.dtype), 1) for row in rows}
    ranges = []
    for dim, index in enumerate(indices):
        step = analyzer.simplify(substitute(index, ones) - substitute(index, zeros))
        extent = TILE if dim >= len(indices) - 2 else 1
        if not isinstance(step, e.IntImm) or step.value != (extent != 1):
            return None
        start = analyzer.simplify(substitute(index, starts))
        ranges.append(Range.from_min_extent(start, e.IntImm(str(start.dtype), extent)))
    return s.BufferRegion(buffer, ranges)


def _block(source: s.BufferRegion, target: s.BufferRegion, *, is_load: bool) -> s.BlockRealize:
    """One tile of a fragment loaded from memory, or stored there."""
    near, far = (target, source) if is_load else (source, target)  # fragment, memory
    names = ("tgt", "src") if is_load else ("src", "tgt")
    fragment = _view(near.buffer, names[0], ())
    rows, columns = e.Var("s1", "int32"), e.Var("s0", "int32")
    memory = _view(far.buffer, names[1], (rows, columns))
    offset = fragment.elem_offset
    size = TILE * TILE
    index = ops.floordiv(offset, size) + ops.floordiv(ops.floormod(offset, size), TILE)
    address = op.tvm_access_ptr(
        op.type_annotation(memory.dtype), memory.data, memory.elem_offset, rows * TILE,
        1 if is_load else 2,
    )  # fmt: skip
    columns_first = near.buffer.scope() == "wmma.matrix_b"
    move = op.tvm_load_matrix_sync if is_load else op.tvm_store_matrix_sync
    call = move(
        fragment.data, TILE, TILE, TILE, index, address, rows,
        "col_major" if columns_first else "row_major",
    )  # fmt: skip
    views = [s.MatchBufferRegion(memory, far), s.MatchBufferRegion(fragment, near)]
    block = s.Block(
        [], [source], [target], "wmma_load" if is_load else "wmma_store", s.Evaluate(call), None,
        [], views if is_load else views[::-1],
    )  # fmt: skip
    return s.BlockRealize([], e.IntImm("bool", 1), block)


def _view(buffer: Buffer, name: str, strides: Sequence[e.Var]) -> Buffer:
    data = e.Var(name, PointerType(PrimType(str(buffer.dtype)), buffer.scope()))
    return Buffer(
        data, str(buffer.dtype), [TILE, TILE], list(strides), e.Var(f"{name}_elem_offset", "int32"),
        name, 64, TILE,
    )  # fmt: skip
