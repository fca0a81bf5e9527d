"""Whether two expressions are written alike."""

from __future__ import annotations

from typing import Any

from tvm.arith.deep_equal import ExprNumbers, deep_equal
from tvm.tir.expr import as_expr


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """True when both are the same tree over the same variables.

    Unlike structural equality, variables are never renamed: x + 1 differs from y + 1 even where
    neither variable is defined.
    """
    return deep_equal(as_expr(lhs), as_expr(rhs))


__all__ = ["ExprNumbers", "expr_deep_equal"]
