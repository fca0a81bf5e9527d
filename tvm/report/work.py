"""What a kernel computes, by the arithmetic that a processor has for it.

    C[i, j] = C[i, j] + Cast("int32", A[i, k]) * Cast("int32", B[k, j])       2 operations of int8

Products of 8-bit and 16-bit integers and of bfloat16 that are summed in 32 bits are their own kind:
processors have instructions that take the narrow numbers (`tvm.tir.tensor_intrin.dot_kinds`).
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.analysis.flops import FlopCounter, estimate_tir_flops
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc

KINDS: Final = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
)  # fmt: skip
_SUMMED: Final = {"int8": "int32", "int16": "int32", "bfloat16": "float32"}


def work_of(func: PrimFunc) -> dict[str, float] | None:
    """Operations by kind, of a kernel that has no schedule yet; None where its sizes are open."""
    if any(not _is_fixed(buffer) for buffer in func.buffer_map.values()):
        return None
    told = estimate_tir_flops(IRModule.from_expr(func))
    counted = _ByKind().stmt(func.body)
    total = counted.total()
    if not total:
        return {"float32": told} if told else {}
    # a function may tell its own count, say of a convolution in fewer products
    return {str(kind): count * told / total for kind, count in counted.most_common()}


def _is_fixed(buffer: Buffer) -> bool:
    return all(isinstance(extent, e.IntImm) for extent in buffer.shape)


class _ByKind(FlopCounter):
    """Products of narrow numbers count by what is multiplied."""

    def kind_of(self, op: e.BinaryOpExpr) -> str:
        """The kind of an operation; adding up products is of the kind of the products."""
        if isinstance(op, e.Mul):
            return _product_kind(op)
        if isinstance(op, e.Add):
            products = [side for side in (op.a, op.b) if isinstance(side, e.Mul)]
            if products:
                return _product_kind(products[0])
        return kind_of_dtype(op.dtype)


def _product_kind(op: e.Mul) -> str:
    kinds = {_widened(side) for side in (op.a, op.b)}
    kind = "int16" if kinds == {"int8", "int16"} else next(iter(kinds))
    alike = len(kinds) == 1 or kind == "int16"
    if kind is not None and alike and _SUMMED.get(kind) == str(op.dtype):
        return kind
    return kind_of_dtype(op.dtype)


def _widened(expr: PrimExpr) -> str | None:
    """The narrow kind of a factor, also of one whose zero point is taken away."""
    while isinstance(expr, (e.Sub, e.Add)):
        expr = expr.a
    return kind_of_dtype(expr.value.dtype) if isinstance(expr, e.Cast) else None


def kind_of_dtype(dtype: DataType) -> str:
    """The kind of arithmetic for numbers of a type: there is one for integers of a width."""
    if dtype.is_bfloat16:
        return "bfloat16"
    if dtype.is_floating:
        return f"float{max(dtype.bits, 16)}"
    return f"int{next((bits for bits in (8, 16, 32) if dtype.bits <= bits), 64)}"
