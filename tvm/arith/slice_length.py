"""How many elements a slice has, simplified, on symbols too.

    first=0, last=10, stride q   ->   (q + 9) // q                    forward
    first=8, last=1, stride q    ->   if_then_else(q < 0, 6 // (0 - q) + 1, (q - 8) // q)
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.expr import IntImm
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.op.builtin import if_then_else
from tvm.tir.slice_bounds import slice_length

from .analyzer import Analyzer


def literal_slice_length(
    begin: PrimExpr, end: PrimExpr, stride: PrimExpr, length: PrimExpr, analyzer: Analyzer
) -> PrimExpr:
    """`length` of a slice of an open extent, or 0 where its literal bounds cross.

    Bounds counted from the same side always cross, or never; of those counted from different
    sides, an extent may be too short for both.
    """
    if not (isinstance(begin, IntImm) and isinstance(end, IntImm) and isinstance(stride, IntImm)):
        return length
    low, high = (begin, end) if stride.value > 0 else (end, begin)
    zero = ops.const(0, length.dtype)
    if (low.value < 0) == (high.value < 0):
        return length if low.value <= high.value else zero
    if analyzer.can_prove_greater_equal(length, 0):
        return length
    return analyzer.simplify(builtin.max(length, zero))


def simple_slice_length(
    first: PrimExpr, last: PrimExpr, stride: PrimExpr, forward: bool, analyzer: Analyzer
) -> PrimExpr:
    """The length of `first:last:stride` between bounds that are counted from the front.

    Where nothing tells the sign of the stride, both directions count, unless `forward` promises
    one. The quotient stays whole then: `(q + 9) // q` is `9 // q + 1` where q is known to be
    positive.
    """
    if isinstance(stride, IntImm) or analyzer.can_prove_greater_equal(stride, 0):
        return analyzer.simplify(slice_length(first, last, stride, last, inbound=True))
    zero, one = ops.const(0, stride.dtype), ops.const(1, stride.dtype)
    with analyzer.constraint_scope(stride >= zero):
        reached = ops.subtract(ops.add(ops.subtract(last, first), stride), one)
        ahead = ops.floordiv(analyzer.simplify(reached), stride)
    if forward:
        return ahead
    with analyzer.constraint_scope(stride < zero):
        reached = analyzer.simplify(ops.subtract(ops.subtract(first, last), one))
        step = analyzer.simplify(ops.subtract(zero, stride))
        back = ops.add(ops.floordiv(reached, step), one)
    return if_then_else(stride < zero, back, ahead)
