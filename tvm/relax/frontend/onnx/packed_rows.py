"""Rows of a table that is packed in blocks, as language models are shipped: GatherPacked.

A block holds its scales beside its numbers, in bytes; only what is looked up is unpacked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax.expr import Constant

from .agreement import exactly
from .attributes import dtype_name
from .node import Node
from .registry import Result, convert

# The 16 numbers behind four bits of formats 20 and 23, closer together around 0.
_UNEVEN = (-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113)


@dataclass(frozen=True)
class _Block:
    """The bytes of a block, as int32, and numbers made of them."""

    byte: Callable[[Any], PrimExpr]
    table: te.Tensor

    def bits(self, at: Any, first: Any, count: int) -> PrimExpr:
        """So many bits of a byte, from the lowest but `first` on."""
        moved = tir.shift_right(self.byte(at), _i32(first))
        return tir.bitwise_and(moved, _i32((1 << count) - 1))

    def signed(self, at: Any) -> PrimExpr:
        return self.byte(at).astype("int8").astype("int32")

    def whole(self, at: Any, count: int) -> PrimExpr:
        """An unsigned number of bytes, the lowest first."""
        value = self.byte(at).astype("uint32")
        for i in range(1, count):
            moved = tir.shift_left(self.byte(at + i).astype("uint32"), tir.const(8 * i, "uint32"))
            value = tir.bitwise_or(value, moved)
        return value

    def half(self, at: Any) -> PrimExpr:
        """A number of 16 bits."""
        return tir.reinterpret("float16", self.whole(at, 2).astype("uint16")).astype("float32")

    def halves(self, at: Any, place: Any) -> PrimExpr:
        """Number `place` of 32 of four bits: the lower halves of all bytes come first."""
        return self.bits(at + place % 16, place // 16 * 4, 4)


def _i32(value: Any) -> PrimExpr:
    return tir.const(value, "int32") if isinstance(value, int) else value.astype("int32")


# A number by its place in a block.
_Read: TypeAlias = "Callable[[_Block, Any], PrimExpr]"


@dataclass(frozen=True)
class _Format:
    """Numbers and bytes of a block, and how a number is read."""

    numbers: int
    size: int
    read: _Read


def _top_of_float(b: _Block, i: Any) -> PrimExpr:
    moved = tir.shift_left(b.whole(0, 2), tir.const(16, "uint32"))
    return tir.reinterpret("float32", moved)


def _five_bits(b: _Block, i: Any) -> PrimExpr:
    """The fifth bits lie apart, one a number."""
    number = b.halves(6, i) + b.bits(2 + i // 8, i % 8, 1) * 16
    return b.half(0) * _f32(number - 16)


def _five_bits_in_rows(b: _Block, i: Any) -> PrimExpr:
    """Eight rows of 32, of each a scale and a least value, of six bits.

    The first four pairs lie in bytes of their own, whose highest bits the others take as theirs.
    """
    row, place = i // 32, i % 32
    rest = row % 4
    near = row < 4
    scale = tir.Select(near, b.bits(4 + rest, 0, 6),
                       b.bits(12 + rest, 0, 4) + b.bits(4 + rest, 6, 2) * 16)  # fmt: skip
    least = tir.Select(near, b.bits(8 + rest, 0, 6),
                       b.bits(12 + rest, 4, 4) + b.bits(8 + rest, 6, 2) * 16)  # fmt: skip
    number = b.bits(48 + row // 2 * 32 + place, row % 2 * 4, 4)
    number = number + b.bits(16 + place, row, 1) * 16
    return b.half(0) * _f32(scale) * _f32(number) - b.half(2) * _f32(least)


def _six_bits(b: _Block, i: Any) -> PrimExpr:
    """Two parts of four rows of 32; each half of a row has a scale."""
    part, row, place = i // 128, i // 32 % 4, i % 32
    low = b.bits(part * 64 + row % 2 * 32 + place, row // 2 * 4, 4)
    high = b.bits(128 + part * 32 + place, row * 2, 2)
    scale = b.signed(192 + part * 8 + row * 2 + place // 16)
    return b.half(208) * _f32(scale) * _f32(low + high * 16 - 32)


def _uneven_rows(b: _Block, i: Any) -> PrimExpr:
    """Rows of 32, each with a scale of six bits, of which two lie apart."""
    row = i // 32
    scale = b.bits(4 + row // 2, row % 2 * 4, 4) + b.bits(2 + row // 4, row % 4 * 2, 2) * 16
    return b.half(0) * _f32(scale - 32) * b.table(b.halves(8 + row * 16, i % 32))


def _f32(value: PrimExpr) -> PrimExpr:
    return value.astype("float32")


_FORMATS = {
    0: _Format(1, 4, lambda b, i: tir.reinterpret("float32", b.whole(0, 4))),
    1: _Format(1, 2, lambda b, i: b.half(0)),
    2: _Format(32, 18, lambda b, i: b.half(0) * _f32(b.halves(2, i) - 8)),
    6: _Format(32, 22, _five_bits),
    8: _Format(32, 34, lambda b, i: b.half(0) * _f32(b.signed(2 + i))),
    13: _Format(256, 176, _five_bits_in_rows),
    14: _Format(256, 210, _six_bits),
    20: _Format(32, 18, lambda b, i: b.half(0) * b.table(b.halves(2, i))),
    23: _Format(256, 136, _uneven_rows),
    30: _Format(1, 2, _top_of_float),
    42: _Format(64, 18, lambda b, i: b.half(0) * _f32(b.bits(2 + i // 4, i % 4 * 2, 2) - 1)),
}


@convert("com.microsoft.GatherPacked")
def gather_packed(node: Node) -> Result:
    """(rows, bytes), indices (...) -> (..., K); an index that is none looks up row 0."""
    kind, columns = int(node.required("packed_type")), int(node.required("K"))
    found = _FORMATS.get(kind)
    if found is None:
        raise node.invalid("packed_type", kind, ", ".join(map(str, _FORMATS)))
    if columns < 1 or columns % found.numbers:
        raise node.invalid("K", columns, f"a multiple of {found.numbers} for packed_type {kind}")
    dtype = dtype_name(int(node.attr("output_dtype", 16)))
    if dtype not in ("float32", "float16", "bfloat16"):
        raise node.invalid("output_dtype", dtype, "1, 10, 16: float32, float16, bfloat16")
    rows = node.shape(0)[0]
    exactly(node, 0, [rows, columns // found.numbers * found.size])

    def compute(data: te.Tensor, indices: te.Tensor, table: te.Tensor) -> Any:
        def element(*at: Any) -> PrimExpr:
            *which, column = at
            asked = indices(*which).astype("int64")
            row = tir.Select(tir.all(asked >= 0, asked < rows), asked, tir.const(0, "int64"))
            start = tir.indexdiv(column, found.numbers) * found.size
            block = _Block(lambda i: data(row, start + i).astype("int32"), table)
            return found.read(block, tir.indexmod(column, found.numbers)).astype(dtype)

        return te.compute((*indices.shape, columns), element, name="rows")

    table = Constant(np.array(_UNEVEN, "float32"))
    return node.bb.emit_te(compute, node[0], node[1], table, primfunc_name_hint="rows")
