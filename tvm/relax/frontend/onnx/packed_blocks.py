"""Products with a matrix of four bits that holds its scales between its numbers: MatMulFpQ4."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax import op

from .agreement import exactly
from .node import Node
from .registry import Result, convert

_BLOCK = 32  # numbers of a column that share a scale
_MIDDLE = 8  # the number that means 0 where none is told


@convert("com.microsoft.MatMulFpQ4")
def matmul_fp_q4(node: Node) -> Result:
    """x @ w, w (k, n): of each column blocks, of each its scale, its zero, and pairs of numbers.

    A byte holds numbers i and i + 16 of a block. Without `blk_quant_type` 0 zeros are told.
    """
    kind = int(node.attr("blk_quant_type", 1))
    if kind not in (0, 1, 2):
        raise node.invalid("blk_quant_type", kind, "0 without zeros, 1 or 2 with zeros")
    rows, columns = node.numbers(2, "B_shape", 2)
    head = 4 if kind == 0 else 5
    size = head + _BLOCK // 2
    blocks = (rows + _BLOCK - 1) // _BLOCK
    exactly(node, 1, [columns * blocks * size])

    def compute(data: te.Tensor) -> Any:
        def element(k: Any, n: Any) -> PrimExpr:
            block = (n * blocks + tir.indexdiv(k, _BLOCK)) * size

            def byte(i: Any, dtype: str) -> PrimExpr:
                return data(block + i).astype(dtype)

            scale = byte(0, "uint32")
            for i in range(1, 4):
                moved = tir.shift_left(byte(i, "uint32"), tir.const(8 * i, "uint32"))
                scale = tir.bitwise_or(scale, moved)
            place = tir.indexmod(k, _BLOCK)
            pair = byte(head + tir.indexmod(place, _BLOCK // 2), "int32")
            high = tir.indexdiv(place, _BLOCK // 2).astype("int32") * 4
            number = tir.bitwise_and(tir.shift_right(pair, high), tir.const(15, "int32"))
            zero = byte(4, "int32") if kind else tir.const(_MIDDLE, "int32")
            return (number - zero).astype("float32") * tir.reinterpret("float32", scale)

        return te.compute((rows, columns), element, name="weight")

    weight = node.bb.emit_te(compute, node[1], primfunc_name_hint="unpacked")
    return op.matmul(node[0], weight)
