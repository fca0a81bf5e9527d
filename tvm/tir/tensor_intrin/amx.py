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
from typing import Final, NamedTuple

from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, PrimExpr, Var
from tvm.tir.function import PrimFunc
from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.op import address_of, call_llvm_intrin, const
from tvm.tir.script import language as T
from tvm.tir.stmt import Block, BlockRealize, Evaluate, SeqStmt, Stmt

COLUMNS: Final = 16  # of a register of sums
MAX_ROWS: Final = 16
MAX_SUMS: Final = 4  # registers of sums
FIRST_LEFT: Final = 4
_X86: Final = "llvm.x86."
_PRODUCTS: Final = {
    ("int8", "int8"): "tdpbssd", ("int8", "uint8"): "tdpbsud", ("uint8", "int8"): "tdpbusd",
    ("uint8", "uint8"): "tdpbuud", ("bfloat16", "bfloat16"): "tdpbf16ps",
}  # fmt: skip


class Tiles(NamedTuple):
    """What is in registers: `high` x `wide` tiles of sums, of `rows` x 16 each."""

    rows: int  # 1 to 16
    high: int
    wide: int
    groups: int  # of numbers that are multiplied together, along the sum: 1 to 16

    def words(self) -> list[int]:
        """What LDTILECFG reads, as eight words of 64 bits.

        Palette 1: bytes of a row (16 bits) from byte 16 on, rows (8 bits) from byte 48 on.
        """
        data = bytearray(64)
        data[0] = 1
        for tile in range(8):
            sums, left = tile < FIRST_LEFT, FIRST_LEFT <= tile < FIRST_LEFT + self.high
            data[16 + 2 * tile] = 4 * self.groups if left else 4 * COLUMNS
            data[48 + tile] = self.rows if sums or left else self.groups
        return [int.from_bytes(data[at : at + 8], "little") for at in range(0, 64, 8)]


def group_of(dtype: str) -> int:
    """How many numbers stand side by side, in 32 bits."""
    return 2 if dtype == "bfloat16" else 4


def register_tiles(
    one: str, many: str, tiles: Tiles, swapped: bool, index: str = "int32"
) -> tuple[str, str, str]:
    """The names of `zeros`, `products` and `results`, made when they are first asked for.

    `index` is the data type of the loops that they replace.
    """
    sums = "float32" if one == "bfloat16" else "int32"
    shape = f"{tiles.high}x{tiles.rows}_{tiles.wide}x{COLUMNS}"
    kinds = f"{tiles.groups}_{one}_{many}_{index}{'_swapped' * swapped}"
    names = (f"amx_zeros_{shape}_{sums}_{index}", f"amx_products_{shape}_{kinds}",
             f"amx_results_{shape}_{sums}_{index}")  # fmt: skip
    makers = (
        lambda: _zeros(tiles, sums, index),
        lambda: _products(one, many, sums, tiles, swapped, index),
        lambda: _results(tiles, sums, index),
    )  # fmt: skip
    for name, make in zip(names, makers):
        if TensorIntrin.get(name, allow_missing=True) is None:
            TensorIntrin.register(name, *make())
    return names


def _zeros(tiles: Tiles, sums: str, index: str) -> tuple[PrimFunc, PrimFunc]:
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


def _products(
    one: str, many: str, sums: str, tiles: Tiles, swapped: bool, index: str
) -> tuple[PrimFunc, PrimFunc]:
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


def _results(tiles: Tiles, sums: str, index: str) -> tuple[PrimFunc, PrimFunc]:
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
