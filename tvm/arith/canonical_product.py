"""Products of symbols as factors and one literal; what both sides of a fraction share cancels.

    (x * 9 * x) % (x * n)   ->   (x * 9) % n * x          (x * 3 * y * 5) // (5 * y)   ->   x * 3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import scalar

from .deep_equal import deep_equal

Make = Callable[[type, PrimExpr, PrimExpr], PrimExpr]


class Product:
    """literal * factors[0] * factors[1] * ..., the factors in the order in which they came."""

    __slots__ = ("dtype", "factors", "literal")

    def __init__(self, dtype: DataType, factors: Sequence[PrimExpr], literal: int) -> None:
        self.dtype: Final = dtype
        self.factors: Final = list(factors)
        self.literal: Final = literal

    @classmethod
    def of(cls, expr: PrimExpr, visit: Callable[[PrimExpr], PrimExpr] | None = None) -> Product:
        """The factors of `expr`, each visited if that is asked for."""
        factors: list[PrimExpr] = []
        literal = 1
        stack = [(expr, visit is not None)]
        while stack:
            node, fresh = stack.pop()
            if isinstance(node, e.Mul) and not (fresh and _is_sum(node)):
                stack.append((node.b, fresh))
                stack.append((node.a, fresh))
            elif isinstance(node, e.IntImm):
                literal *= node.value
            elif fresh and visit is not None:
                stack.append((visit(node), False))
            else:
                factors.append(node)
        return cls(expr.dtype, factors, literal)

    def expr(self, make: Make) -> PrimExpr:
        """The product as an expression, the literal last."""
        if not self.factors or self.literal == 0:
            return e.IntImm(self.dtype, scalar.wrap(self.literal, self.dtype))
        result = self.factors[0]
        for factor in self.factors[1:]:
            result = make(e.Mul, result, factor)
        if self.literal == 1:
            return result
        return make(e.Mul, result, e.IntImm(self.dtype, scalar.wrap(self.literal, self.dtype)))

    def shared(self, other: Product) -> Product:
        """The factors that both have, and the greatest literal that divides both."""
        remaining = list(other.factors)
        common = []
        for factor in self.factors:
            at = next((i for i, one in enumerate(remaining) if deep_equal(one, factor)), None)
            if at is not None:
                common.append(remaining.pop(at))
        return Product(self.dtype, common, gcd(self.literal, other.literal))

    def without(self, part: Product) -> Product:
        """The product divided by a part of it."""
        remaining = list(part.factors)
        kept = []
        for factor in self.factors:
            at = next((i for i, one in enumerate(remaining) if deep_equal(one, factor)), None)
            if at is None:
                kept.append(factor)
            else:
                remaining.pop(at)
        return Product(self.dtype, kept, self.literal // part.literal)


def _is_sum(expr: PrimExpr) -> bool:
    """A multiple of a sum, whose terms take the literal: (x + y) * 3 is x * 3 + y * 3."""
    while isinstance(expr, e.Mul):
        if isinstance(expr.b, e.IntImm):
            expr = expr.a
        elif isinstance(expr.a, e.IntImm):
            expr = expr.b
        else:
            return False
    return isinstance(expr, (e.Add, e.Sub))


def cancelled(kind: type, a: PrimExpr, b: PrimExpr, make: Make) -> PrimExpr | None:
    """A division of products with common factors, without them; None where there are none.

    A quotient loses them, a remainder is multiplied by them. (Where a common factor is zero, the
    division has no value in the first place.)
    """
    over, under = Product.of(a), Product.of(b)
    if not under.factors or under.literal == 0:
        return None
    common = over.shared(under)
    if not common.factors and common.literal == 1:
        return None
    over, under = over.without(common), under.without(common)
    quotient = kind is e.FloorDiv or kind is e.Div
    if not under.factors and under.literal == 1:
        return over.expr(make) if quotient else e.IntImm(a.dtype, 0)
    made = make(kind, over.expr(make), under.expr(make))
    return made if quotient else make(e.Mul, made, common.expr(make))
