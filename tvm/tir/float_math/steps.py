"""Building blocks for writing functions out: named steps, polynomials, bits of floats."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir.expr import Let, Select, Var, make_const
from tvm.tir.op import arith, builtin


class Steps:
    """Values computed one after another, each once; `result` puts the names around the last."""

    def __init__(self, like: PrimExpr) -> None:
        self.dtype = like.dtype
        self._named: list[tuple[Var, PrimExpr]] = []

    def let(self, name: str, value: PrimExpr) -> Var:
        """A name for a value that is used more than once."""
        var = Var(name, value.dtype)
        self._named.append((var, value))
        return var

    def const(self, value: float, element: str | None = None) -> PrimExpr:
        """A literal in all lanes, of the type at hand or of another element type."""
        dtype = self.dtype if element is None else self.typed(element)
        return make_const(value, dtype)

    def typed(self, element: str) -> DataType:
        """Another element type with as many lanes."""
        return DataType(element).with_lanes(self.dtype.lanes, self.dtype.is_scalable)

    def bits(self, value: PrimExpr) -> PrimExpr:
        """The bits of a float32 as int32."""
        return builtin.reinterpret(self.typed("int32"), value)

    def from_bits(self, value: PrimExpr) -> PrimExpr:
        """An int32 read as float32."""
        return builtin.reinterpret(self.typed("float32"), value)

    def polynomial(self, x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
        """c0 + c1 x + c2 x**2 + ..., by Horner's rule."""
        element = str(x.dtype.element_of())
        total = self.const(coefficients[-1], element)
        for coefficient in reversed(coefficients[:-1]):
            total = total * x + self.const(coefficient, element)
        return total

    def absolute(self, x: PrimExpr) -> PrimExpr:
        """|x| of a float32, by clearing the sign bit."""
        return self.from_bits(self.bits(x) & self.const(0x7FFFFFFF, "int32"))

    def with_sign_of(self, x: PrimExpr, sign: PrimExpr) -> PrimExpr:
        """`x`, which is not negative, with the sign of another float32."""
        mask = self.const(-0x80000000, "int32")
        return self.from_bits(self.bits(x) | (self.bits(sign) & mask))

    def select(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """One of two values in each lane."""
        return Select(condition, a, b)

    def clamp(self, x: PrimExpr, low: float, high: float) -> PrimExpr:
        """x kept in [low, high]; NaN stays NaN."""
        return arith.max_of(arith.min_of(x, self.const(high)), self.const(low))

    def result(self, value: PrimExpr) -> PrimExpr:
        """The value under all names."""
        for var, bound in reversed(self._named):
            value = Let(var, bound, value)
        return value
