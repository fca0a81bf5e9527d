"""Whether two expressions are written alike."""

from __future__ import annotations

from typing import Any

from tvm.arith.deep_equal import ExprNumbers, deep_equal
from tvm.tir.expr import as_expr
from tvm.tir.stmt import BufferRegion


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """True when both are the same tree over the same variables.

    Unlike structural equality, variables are never renamed: x + 1 differs from y + 1 even where
    neither variable is defined.
    """
    return deep_equal(as_expr(lhs), as_expr(rhs))


def region_deep_equal(lhs: BufferRegion, rhs: BufferRegion) -> bool:
    """True when both are the same box of the very same buffer.

    Structural equality lets one free buffer stand for another of its shape and type.
    """
    return lhs.buffer is rhs.buffer and all(
        deep_equal(a.min, b.min) and deep_equal(a.extent, b.extent)
        for a, b in zip(lhs.region, rhs.region)
    )


__all__ = ["ExprNumbers", "expr_deep_equal", "region_deep_equal"]
