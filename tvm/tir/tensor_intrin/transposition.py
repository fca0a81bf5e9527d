"""A square of a matrix transposed in vector registers, or the first rows of one.

    B[i, j] = A[j, i]    for i < n, j < m; m <= n

The n rows of A are loaded as vectors, and in log2(n) rounds every pair of vectors that are d apart
exchanges halves: (a0 a1 ...), (b0 b1 ...) -> (a0 b0 ...), (a1 b1 ...) for d = 1. (J. O. Eklundh, "A
Fast Computer Method for Matrix Transposing", IEEE Transactions on Computers C-21, 1972.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import PrimExpr, Range
from tvm.support.dtype import DataType
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Ramp, Shuffle, Var
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import register_own
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
)

_INT32: Final = DataType("int32")
_MADE: Final[set[str]] = set()


def transposition(
    size: int, dtype: str, source_gap: int = 0, target_gap: int = 0, rows: int | None = None
) -> str:
    """The name of the intrinsic: (rows, ...1, size) -> (size, ...1, rows) of `dtype`.

    `size` is a power of two, `rows` as many or fewer; the gaps are dimensions of one between the
    two that are exchanged.
    """
    rows = rows or size
    name = f"transpose_{rows}x{size}_{dtype}_{source_gap}_{target_gap}"
    if name not in _MADE:
        source = _buffer("A", (rows, size), dtype, source_gap)
        target = _buffer("B", (size, rows), dtype, target_gap)
        register_own(name, _functions, source, target, override=True)
        _MADE.add(name)
    return name


def _functions(source: Buffer, target: Buffer) -> tuple[PrimFunc, PrimFunc]:
    handles = {Var(name, "handle"): buffer for name, buffer in (("a", source), ("b", target))}
    regions = [
        BufferRegion(buffer, [Range(0, extent) for extent in buffer.shape])
        for buffer in (source, target)
    ]

    def function(body: Stmt) -> PrimFunc:
        root = Block([], regions[:1], regions[1:], "root", body)
        return PrimFunc(list(handles), BlockRealize([], True, root), None, handles)

    return function(_meaning(source, target)), function(_rounds(source, target))


def _buffer(name: str, sizes: tuple[int, int], dtype: str, gap: int) -> Buffer:
    strides = [Var(f"{name}_stride_{axis}", "int64") for axis in range(gap + 1)]
    shape = [IntImm("int64", extent) for extent in (sizes[0], *[1] * gap, sizes[1])]
    return decl_buffer(
        shape, dtype, name, strides=[*strides, IntImm("int64", 1)], offset_factor=1,
        elem_offset=Var(f"{name}_offset", "int64"),
    )  # fmt: skip


def _meaning(source: Buffer, target: Buffer) -> Stmt:
    loops = [Var(name, "int64") for name in "ij"]
    i, j = variables = [Var(f"v{name}", "int64") for name in "ij"]
    sizes = (target.shape[0], target.shape[-1])
    store = BufferStore(target, BufferLoad(source, _at(source, j, i)), _at(target, i, j))
    block = Block(
        [
            IterVar(Range(IntImm("int64", 0), size), v, IterVar.DataPar)
            for size, v in zip(sizes, variables)
        ],
        [BufferRegion.from_point(source, _at(source, j, i))],
        [BufferRegion.from_point(target, _at(target, i, j))],
        "transpose",
        store,
    )
    body: Stmt = BlockRealize(loops, True, block)
    for loop, size in reversed(list(zip(loops, sizes))):
        body = For(loop, IntImm("int64", 0), size, ForKind.SERIAL, body)
    return body


def _at(buffer: Buffer, row: PrimExpr, column: PrimExpr) -> list[PrimExpr]:
    return [row, *[IntImm("int64", 0)] * (len(buffer.shape) - 2), column]


def _first(count: int) -> PrimExpr:
    """The first columns as a vector of indices; of one alone its index."""
    zero = IntImm("int64", 0)
    return zero if count == 1 else Ramp(zero, IntImm("int64", 1), count)


def _rounds(source: Buffer, target: Buffer) -> Stmt:
    count, size = (int(source.shape[axis]) for axis in (0, -1))  # type: ignore[call-overload]
    lanes = _first(size)
    lets: list[tuple[Var, PrimExpr]] = []
    rows = turned(
        [BufferLoad(source, _at(source, IntImm("int64", row), lanes)) for row in range(count)], lets
    )
    if count < size:
        kept = [IntImm(_INT32, lane) for lane in range(count)]
        rows = [_named(Shuffle([row], kept), lets) for row in rows]
        lanes = _first(count)
    body: Stmt = SeqStmt(
        [
            BufferStore(target, value, _at(target, IntImm("int64", row), lanes))
            for row, value in enumerate(rows)
        ]
    )
    for var, value in reversed(lets):
        body = LetStmt(var, value, body)
    return body


def turned(rows: Sequence[PrimExpr], lets: list[tuple[Var, PrimExpr]]) -> list[Var]:
    """The columns of a square of vectors, by its rows or the first of them.

    Names that they are made of are added to `lets`.
    """
    size = rows[0].dtype.lanes
    made = [_named(row, lets) for row in rows]
    made += made[:1] * (size - len(rows))  # for rows that there are not
    apart = 1
    while apart < size:
        for row in range(size):
            if not row & apart:
                pair = [made[row], made[row + apart]]
                for number, picks in zip((row, row + apart), _halves(size, apart)):
                    lanes = [IntImm(_INT32, p) for p in picks]
                    made[number] = _named(Shuffle(pair, lanes), lets)
        apart *= 2
    return made


def _named(value: PrimExpr, lets: list[tuple[Var, PrimExpr]]) -> Var:
    lets.append((Var(f"r{len(lets)}", value.dtype), value))
    return lets[-1][0]


def _halves(size: int, apart: int) -> tuple[list[int], list[int]]:
    """Lanes of two vectors in a row: what the first and what the second keeps of both."""
    lanes = range(size)
    return (
        [lane + size - apart if lane & apart else lane for lane in lanes],
        [lane + size if lane & apart else lane + apart for lane in lanes],
    )
