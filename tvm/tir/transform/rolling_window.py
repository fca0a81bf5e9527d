"""How far a window moves along one dimension of a buffer with each iteration of a loop."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.tir.expr import FloorDiv, IntImm, Mul, Var


def moving_window(low: PrimExpr, extent: PrimExpr) -> tuple[Var | None, int]:
    """The loop that moves [low, low + extent), and how many elements two iterations share.

    (None, 0) unless `low` is a loop times a positive constant, perhaps divided by another, and the
    extent is constant. The overlap is not positive where the windows are apart.
    """
    divisor, start = 1, low
    if isinstance(low, FloorDiv) and isinstance(low.b, IntImm):
        divisor, start = low.b.value, low.a  # strides that are fractions, as of upsampling
    var, stride = None, 1
    if isinstance(start, Var):
        var = start
    elif isinstance(start, Mul) and isinstance(start.a, Var) and isinstance(start.b, IntImm):
        var, stride = start.a, start.b.value
    if var is None or stride <= 0 or divisor <= 0 or not isinstance(extent, IntImm):
        return None, 0
    return var, extent.value - -(-stride // divisor)
