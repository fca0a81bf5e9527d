"""What a schedule hands out: names for blocks, loops and integers that may change under them."""

from __future__ import annotations

from tvm.ffi.object import Object
from tvm.ir.expr import PrimExpr


class BlockRV(Object):
    """Stands for a block of the program being scheduled."""

    __slots__ = ()


class LoopRV(Object):
    """Stands for a loop of the program being scheduled."""

    __slots__ = ()


# Stands for an integer that a sampling primitive chose, or an expression over such.
ExprRV = PrimExpr
RandVar = BlockRV | LoopRV | PrimExpr
