"""Products of matrices of small numbers in the tile registers of x86 processors (AMX).

    zeros:     C[i, j] = 0                                   for i in range(high * rows)
    products:  C[i, j] += sum(A[i, k] * B[k // g, j, k % g] for k in range(groups * g))
    results:   S[i, j] = C[i, j]                             for j in range(wide * 16)

Eight registers hold up to 16 rows of 64 bytes each: four of them sums of 32 bits, the others pieces
of A and B. `C` exists in registers only: its memory is never touched, so `zeros`, any number of
`products` and `results` follow each other without other tiles in between. Bytes of either sign are
multiplied exactly; of bfloat16 the even and the odd products are added to sums in float32, and
numbers below 2**-126 count as zeros (Intel 64 and IA-32 Architectures Software Developer's Manual,
volume 1, chapter 18, and TDPBF16PS). `tir.transform.configure_tiles` sets the registers' shapes.
"""

# What is below is TVMScript: its annotations are calls, its names are buffers.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, PrimExpr, Var
from tvm.tir.function import PrimFunc
from tvm.tir.op import address_of, call_llvm_intrin, const
from tvm.tir.script import language as T
from tvm.tir.stmt import Block, BlockRealize, Evaluate, SeqStmt, Stmt

from .amx_tiles import COLUMNS, FIRST_LEFT, Tiles, group_of

_X86: Final = "llvm.x86."
_PRODUCTS: Final = {
    ("int8", "int8"): "tdpbssd", ("int8", "uint8"): "tdpbsud", ("uint8", "int8"): "tdpbusd",
    ("uint8", "uint8"): "tdpbuud", ("bfloat16", "bfloat16"): "tdpbf16ps",
}  # fmt: skip


def zeros(tiles: Tiles, sums: str, index: str) -> tuple[PrimFunc, PrimFunc]:
    """Registers of sums become zero."""
    rows, columns = _numbers(index, tiles.high * tiles.rows, tiles.wide * COLUMNS)
    nothing = const(0, sums)

    @T.prim_func(private=True)
    def desc(C: T.Buffer((rows, columns), sums, offset_factor=1, scope="local")) -> None:
        with T.block("root"):
            T.reads()
            T.writes(C[0:rows, 0:columns])
            for i, j in T.grid(rows, columns):
                with T.block("zero"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = nothing

    clear = [_tile("tilezero", IntImm("int8", at)) for _, _, at in _sums(tiles)]
    return desc, _code(desc, clear)


def products(
    one: str, many: str, sums: str, tiles: Tiles, swapped: bool, index: str
) -> tuple[PrimFunc, PrimFunc]:
    """Products of one step are added to registers of sums."""
    together, wide = group_of(one), 4 * tiles.wide * COLUMNS
    high = tiles.high * tiles.rows
    rows, columns, depth, groups, group = _numbers(
        index, high, tiles.wide * COLUMNS, tiles.groups * together, tiles.groups, together
    )
    stride = Var("stride", index)

    def multiplied(a, b):
        left, right = (b, a) if swapped else (a, b)
        return T.cast(left, sums) * T.cast(right, sums)

    @T.prim_func(private=True)
    def desc(
        A: T.Buffer((rows, depth), one, strides=[stride, 1], offset_factor=1),
        B: T.Buffer((groups, columns, group), many, offset_factor=1),
        C: T.Buffer((rows, columns), sums, offset_factor=1, scope="local"),
    ) -> None:
        with T.block("root"):
            T.reads(
                C[0:rows, 0:columns], A[0:rows, 0:depth], B[0:groups, 0:columns, 0:group]
            )
            T.writes(C[0:rows, 0:columns])
            for ko, i, j, ki in T.grid(groups, rows, columns, group):
                with T.block("update"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    vk = T.axis.reduce(depth, ko * group + ki)
                    C[vi, vj] = C[vi, vj] + multiplied(
                        A[vi, vk], B[vk // group, vj, vk % group]
                    )

    a, b, _ = (desc.buffer_map[param] for param in desc.params)
    left = FIRST_LEFT + tiles.high
    steps = [
        _load(FIRST_LEFT + i, a, [i * tiles.rows, 0], _bytes(a.strides[0], 4 // together))
        for i in range(tiles.high)
    ]
    name = _PRODUCTS[one, many]
    for j in range(tiles.wide):
        right = left + j % (8 - left)
        steps.append(_load(right, b, [0, j * COLUMNS, 0], IntImm("int64", wide)))
        for i in range(tiles.high):
            numbers = (i * tiles.wide + j, FIRST_LEFT + i, right)
            steps.append(_tile(name, *(IntImm("int8", number) for number in numbers)))
    return desc, _code(desc, steps)


def results(tiles: Tiles, sums: str, index: str) -> tuple[PrimFunc, PrimFunc]:
    """Registers of sums are stored."""
    rows, columns = _numbers(index, tiles.high * tiles.rows, tiles.wide * COLUMNS)
    stride = Var("stride", index)

    @T.prim_func(private=True)
    def desc(
        C: T.Buffer((rows, columns), sums, offset_factor=1, scope="local"),
        S: T.Buffer((rows, columns), sums, strides=[stride, 1], offset_factor=1),
    ) -> None:
        with T.block("root"):
            T.reads(C[0:rows, 0:columns])
            T.writes(S[0:rows, 0:columns])
            for i, j in T.grid(rows, columns):
                with T.block("copy"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = C[vi, vj]

    s = desc.buffer_map[desc.params[1]]
    steps = [
        _tile("tilestored64", IntImm("int8", at), _at(s, [i * tiles.rows, j * COLUMNS]),
              _bytes(s.strides[0], 4))
        for i, j, at in _sums(tiles)
    ]  # fmt: skip
    return desc, _code(desc, steps)


def _numbers(index: str, *values: int) -> list[IntImm]:
    return [IntImm(index, value) for value in values]


def _sums(tiles: Tiles) -> Iterator[tuple[int, int, int]]:
    for i in range(tiles.high):
        for j in range(tiles.wide):
            yield i, j, i * tiles.wide + j


def _load(tile: int, buffer: Buffer, indices: list[PrimExpr | int], stride: PrimExpr) -> Stmt:
    return _tile("tileloadd64", IntImm("int8", tile), _at(buffer, indices), stride)


def _at(buffer: Buffer, indices: list[PrimExpr | int]) -> PrimExpr:
    return address_of(buffer[tuple(indices)])


def _bytes(stride: PrimExpr, size: int) -> PrimExpr:
    # a stride has the type of the program's indices, whatever that is
    return T.cast(stride, "int64") * size


def _tile(name: str, *args: PrimExpr) -> Stmt:
    return Evaluate(call_llvm_intrin("void", _X86 + name, *args))


def _code(desc: PrimFunc, steps: list[Stmt]) -> PrimFunc:
    """The program of these steps, over the buffers of `desc`."""
    root = desc.body.block
    body = SeqStmt.flatten(*steps)
    block = Block([], root.reads, root.writes, "root", body)
    return PrimFunc(desc.params, BlockRealize([], T.bool(True), block), None, desc.buffer_map)
