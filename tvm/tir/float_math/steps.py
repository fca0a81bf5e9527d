"""Building blocks for writing functions out: named steps, polynomials, bits of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir.expr import Let, Select, Shuffle, Var, make_const
from tvm.tir.op import arith, builtin
from tvm.tir.op import math as math_ops


class Format(NamedTuple):
    """The layout of a floating type (IEEE 754)."""

    element: str
    integer: str
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """Added to a number, it leaves the nearest whole one in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        """The bits of `magic`; its exponent is moved out by a shift of `mantissa` bits."""
        return (self.bias + self.mantissa) << self.mantissa | 1 << (self.mantissa - 1)

    @property
    def smallest_normal(self) -> float:
        """Numbers below have fewer digits."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign_bit(self) -> int:
        """The sign bit alone, as the integer that it is."""
        return -(1 << (self.bits - 1))

    @property
    def bits(self) -> int:
        """The width of the type."""
        return int(self.integer.removeprefix("int"))


SINGLE: Final = Format("float32", "int32", 23, 127)
DOUBLE: Final = Format("float64", "int64", 52, 1023)


class Steps:
    """Values computed one after another, each once; `result` puts the names around the last.

    `can_scale` says that the CPU multiplies by powers of two (`tir.ldexp`) in one instruction,
    `can_branch` that the backend can leave out the computation of a vector, `sums_move` that a
    compiler may take x + m - m, which rounds, for x.
    """

    def __init__(
        self, dtype: DataType, *, can_scale: bool = False, can_branch: bool = False,
        sums_move: bool = False,
    ) -> None:  # fmt: skip
        self.dtype: Final = dtype
        self.can_scale: Final = can_scale
        self.can_branch: Final = can_branch and not dtype.is_scalable
        self.sums_move: Final = sums_move
        self.form: Final = DOUBLE if dtype.bits == 64 else SINGLE
        self.wide: Final = dtype.bits == 64
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

    def whole(self, value: int) -> PrimExpr:
        """A literal of the integer type that is as wide as the type at hand."""
        return self.const(value, self.form.integer)

    def typed(self, element: str) -> DataType:
        """Another element type with as many lanes."""
        return DataType(element).with_lanes(self.dtype.lanes, self.dtype.is_scalable)

    def bits(self, value: PrimExpr) -> PrimExpr:
        """The bits of a float as an integer."""
        return builtin.reinterpret(self.typed(self.form.integer), value)

    def from_bits(self, value: PrimExpr) -> PrimExpr:
        """An integer read as a float."""
        return builtin.reinterpret(self.dtype, value)

    def polynomial(self, x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
        """c0 + c1 x + c2 x**2 + ..., by Horner's rule."""
        element = str(x.dtype.element_of())
        total = self.const(coefficients[-1], element)
        for coefficient in reversed(coefficients[:-1]):
            total = total * x + self.const(coefficient, element)
        return total

    def root(self, x: PrimExpr) -> PrimExpr:
        """The square root."""
        return math_ops.sqrt(x)

    def fma(self, a: PrimExpr, b: PrimExpr, c: PrimExpr) -> PrimExpr:
        """a * b + c with a single rounding."""
        return math_ops.fma(a, b, c)

    def absolute(self, x: PrimExpr) -> PrimExpr:
        """|x|, by clearing the sign bit."""
        return self.from_bits(self.bits(x) & self.whole(~self.form.sign_bit))

    def with_sign_of(self, x: PrimExpr, sign: PrimExpr) -> PrimExpr:
        """`x`, which is not negative, with the sign of another number."""
        mask = self.whole(self.form.sign_bit)
        return self.from_bits(self.bits(x) | (self.bits(sign) & mask))

    def select(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """One of two values in each lane."""
        return Select(condition, a, b)

    def rarely(self, lanes: PrimExpr, value: PrimExpr, otherwise: PrimExpr) -> PrimExpr:
        """`value` where `lanes` hold, computed only if one of them does."""
        chosen = self.select(lanes, value, otherwise)
        return builtin.if_then_else(_any(lanes), chosen, otherwise)

    def clamp(self, x: PrimExpr, low: float, high: float) -> PrimExpr:
        """x kept in [low, high]; NaN stays NaN."""
        return arith.max_of(arith.min_of(x, self.const(high)), self.const(low))

    def result(self, value: PrimExpr) -> PrimExpr:
        """The value under all names."""
        for var, bound in reversed(self._named):
            value = Let(var, bound, value)
        return value


def _any(mask: PrimExpr) -> PrimExpr:
    """Whether one lane of a mask holds."""
    lanes = mask.dtype.lanes
    if lanes == 1:
        return mask
    per_word = next((n for n in (8, 4, 2) if lanes % n == 0), 1)
    words = DataType(f"uint{8 * per_word}").with_lanes(lanes // per_word)
    bits = builtin.reinterpret(words, arith.cast(mask, DataType("uint8").with_lanes(lanes)))
    parts = [bits] if words.is_scalar else [
        Shuffle([bits], [i]) for i in range(words.lanes)
    ]  # fmt: skip
    total = parts[0]
    for part in parts[1:]:
        total = total | part
    return arith.not_equal(total, make_const(0, total.dtype))
