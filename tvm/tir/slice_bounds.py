"""Where a slice with symbolic bounds begins, and how many elements it has.

    begin:end:stride of extent   ->   first = canonical(begin), ceil((last - first) / stride)
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.op.builtin import if_then_else

LARGEST: Final = 0x7FFFFFFFFFFFFFFF  # what importers write for "up to the end"


def canonical_bound(bound: PrimExpr, extent: PrimExpr, stride: PrimExpr) -> PrimExpr:
    """A bound counted from the front and moved into the range that a slice may name."""
    if isinstance(bound, e.Var) and bound is extent:
        return bound
    zero = ops.const(0, extent.dtype)
    low = _by_sign(stride, ops.const(-1, extent.dtype), zero)
    high = _by_sign(stride, ops.subtract(extent, ops.const(1, extent.dtype)), extent)
    if isinstance(bound, e.IntImm):
        if bound.value < 0:
            return _least(_most(ops.add(bound, extent), low), high)
        return high if bound.value >= LARGEST else _least(bound, high)
    bound = if_then_else(bound < zero, ops.add(bound, extent), bound)
    return _least(_most(bound, low), high)


def slice_length(
    begin: PrimExpr, end: PrimExpr, stride: PrimExpr, extent: PrimExpr, inbound: bool
) -> PrimExpr:
    """How many elements `begin:end:stride` has; `inbound` promises that both bounds are legal."""
    if inbound and not isinstance(stride, e.IntImm):
        return _ceildiv(ops.subtract(end, begin), stride)
    if not inbound:
        begin, end = (canonical_bound(bound, extent, stride) for bound in (begin, end))
    backward = _ceildiv(ops.subtract(begin, end), ops.subtract(ops.const(0, stride.dtype), stride))
    return _by_sign(stride, backward, _ceildiv(ops.subtract(end, begin), stride))


def _by_sign(stride: PrimExpr, backward: PrimExpr, forward: PrimExpr) -> PrimExpr:
    if isinstance(stride, e.IntImm):
        return backward if stride.value < 0 else forward
    return if_then_else(stride < 0, backward, forward)


def _least(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return builtin.min(a, b)  # type: ignore[no-any-return]


def _most(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return builtin.max(a, b)  # type: ignore[no-any-return]


def _ceildiv(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return ops.floordiv(ops.subtract(ops.add(a, b), ops.const(1, b.dtype)), b)
