"""Remainders of integer expressions: every value is coeff * k + base for some integer k."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import ClassVar, Final, final

from tvm.ir.expr import PrimExpr
from tvm.ir.node import Field, Node, fields, number, register_nodes
from tvm.tir import expr as e

from .interval import type_bound
from .knowledge import PairAnalyzer

Residue = tuple[int, int]  # (coeff, base); coeff 0 means that the value is base
ANYTHING: Final[Residue] = (1, 0)


@final
class ModularSet(Node):
    """All values are coeff * k + base; a coeff of zero stands for the one value `base`."""

    __slots__ = ("base", "coeff")
    TYPE_KEY = "arith.ModularSet"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("coeff", "base")

    def __init__(self, coeff: int, base: int) -> None:
        self.coeff: Final = number(int, coeff, "ModularSet: coeff")
        self.base: Final = number(int, base, "ModularSet: base")

    def __repr__(self) -> str:
        return f"ModularSet(coeff={self.coeff}, base={self.base})"

    def __str__(self) -> str:
        return self.__repr__()


register_nodes(ModularSet)


def normal(coeff: int, base: int) -> Residue:
    """The pair with coeff at least zero and base in [0, coeff)."""
    coeff = abs(coeff)
    return (coeff, base % coeff) if coeff else (0, base)


def add_residues(a: Residue, b: Residue) -> Residue:
    """The residue of a sum."""
    return normal(gcd(a[0], b[0]), a[1] + b[1])


def mul_residues(a: Residue, b: Residue) -> Residue:
    """(p*j + q) * (r*k + s) = p*r*jk + p*s*j + q*r*k + q*s."""
    return normal(gcd(a[0] * b[0], gcd(a[0] * b[1], a[1] * b[0])), a[1] * b[1])


def union_residues(a: Residue, b: Residue) -> Residue:
    """What holds for values of either."""
    return normal(gcd(gcd(a[0], b[0]), a[1] - b[1]), a[1])


def intersect_residues(a: Residue, b: Residue) -> Residue:
    """What holds for values of both (Chinese remainders); `a` when the two exclude each other."""
    if a[0] == 0 or b[0] == 0:
        return a if a[0] == 0 else b
    common = gcd(a[0], b[0])
    gap = b[1] - a[1]
    if gap % common:
        return a
    step = b[0] // common
    count = gap // common * pow(a[0] // common, -1, step) if step > 1 else 0
    return normal(a[0] * step, a[1] + a[0] * count)


def floor_div_residue(a: Residue, divisor: int) -> Residue:
    """The residue of a floor quotient by a constant."""
    if divisor == 0:
        return ANYTHING
    if a[0] % divisor == 0:
        return normal(a[0] // divisor, a[1] // divisor)
    return ANYTHING


def floor_mod_residue(a: Residue, divisor: int) -> Residue:
    """The residue of a floor remainder by a constant."""
    if divisor == 0:
        return ANYTHING
    if a[0] == 0:
        return 0, a[1] % divisor
    return normal(gcd(a[0], divisor), a[1])


class ModularAnalyzer(PairAnalyzer):
    """Residues of expressions under what the analyzer knows of variables."""

    __slots__ = ()

    def of(self, expr: PrimExpr) -> Residue:
        """The residue of `expr`."""
        kind = type(expr)
        if kind is e.IntImm:
            return 0, expr.value  # type: ignore[attr-defined]
        found = self._known.get(id(expr))
        if found is not None:
            return found[1]
        return self._find(expr, kind)

    def _compute(self, expr: PrimExpr, kind: type) -> Residue:
        rule = _RULES.get(kind)
        residue = ANYTHING if rule is None else rule(self, expr)
        dtype = expr.dtype
        if (dtype.bits < 32 or not dtype.is_int) and residue[0] != 1 and kind in _ARITHMETIC:
            residue = self._wrapped(expr, residue)
        if self.facts:
            fact = self.facts.get(self._analyzer.numbers.number(expr))
            if fact is not None:
                residue = intersect_residues(residue, fact)
        return residue

    def _wrapped(self, expr: PrimExpr, residue: Residue) -> Residue:
        """What survives when the value is taken modulo two to the bits of its type."""
        return normal(gcd(residue[0], 1 << expr.dtype.bits), residue[1])

    def fits(self, value: PrimExpr, expr: PrimExpr) -> bool:
        """The value lies in the range of the type of `expr`."""
        low, high = self._analyzer.bounds.of(value)
        least, most = type_bound(expr.dtype)
        return least <= low and high <= most

    def non_negative(self, expr: PrimExpr) -> bool:
        """The value is never negative."""
        return self._analyzer.bounds.of(expr)[0] >= 0


_ARITHMETIC: Final[frozenset[type]] = frozenset((e.Add, e.Sub, e.Mul))


def _var(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    return self.variables.get(x, ANYTHING)


def _add(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Add)
    return add_residues(self.of(x.a), self.of(x.b))


def _sub(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Sub)
    coeff, base = self.of(x.b)
    return add_residues(self.of(x.a), (coeff, -base))


def _mul(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Mul)
    return mul_residues(self.of(x.a), self.of(x.b))


def _floor_div(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.FloorDiv)
    divisor = x.b
    return floor_div_residue(self.of(x.a), divisor.value) if type(divisor) is e.IntImm else ANYTHING


def _floor_mod(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.FloorMod)
    divisor = x.b
    return floor_mod_residue(self.of(x.a), divisor.value) if type(divisor) is e.IntImm else ANYTHING


def _trunc_div(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Div)
    divisor = x.b
    if type(divisor) is not e.IntImm or divisor.value == 0 or x.dtype.is_floating:
        return ANYTHING
    residue = self.of(x.a)
    exact = residue[0] % divisor.value == 0 and residue[1] % divisor.value == 0
    if exact or (divisor.value > 0 and self.non_negative(x.a)):
        return floor_div_residue(residue, divisor.value)
    return ANYTHING


def _trunc_mod(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Mod)
    divisor = x.b
    if type(divisor) is not e.IntImm or divisor.value == 0:
        return ANYTHING
    if divisor.value > 0 and self.non_negative(x.a):
        return floor_mod_residue(self.of(x.a), divisor.value)
    coeff, base = self.of(x.a)
    common = gcd(coeff, divisor.value)
    return (common, 0) if base % common == 0 else ANYTHING


def _either(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, (e.Min, e.Max))
    return union_residues(self.of(x.a), self.of(x.b))


def _select(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Select)
    return union_residues(self.of(x.true_value), self.of(x.false_value))


def _cast(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Cast)
    if not (x.value.dtype.is_integer and x.dtype.is_integer):
        return ANYTHING
    residue = self.of(x.value)
    return residue if self.fits(x.value, x) else self._wrapped(x, residue)


def _let(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Let)
    if x.var in self.variables:
        return self.of(x.body)
    self.variables[x.var] = self.of(x.value)
    residue = self.of(x.body)
    del self.variables[x.var]
    self.forget()
    return residue


def _call(self: ModularAnalyzer, x: PrimExpr) -> Residue:
    assert isinstance(x, e.Call)
    name = e.op_name(x)
    if name == "tir.if_then_else":
        return union_residues(self.of(x.args[1]), self.of(x.args[2]))
    if name == "tir.likely":
        return self.of(x.args[0])
    amount = x.args[1] if name in _BY_CONSTANT else None
    if not isinstance(amount, e.IntImm) or amount.value < 0:
        return ANYTHING
    if name == "tir.shift_right":
        return floor_div_residue(self.of(x.args[0]), 1 << amount.value)
    if name == "tir.shift_left":
        return self._wrapped(x, mul_residues(self.of(x.args[0]), (0, 1 << amount.value)))
    if amount.value & (amount.value + 1) == 0:  # a mask of the lowest bits
        return floor_mod_residue(self.of(x.args[0]), amount.value + 1)
    return ANYTHING


_BY_CONSTANT: Final = ("tir.shift_right", "tir.shift_left", "tir.bitwise_and")
_RULES: Final[dict[type, Callable[[ModularAnalyzer, PrimExpr], Residue]]] = {
    e.Var: _var,
    e.SizeVar: _var,
    e.Add: _add,
    e.Sub: _sub,
    e.Mul: _mul,
    e.Div: _trunc_div,
    e.Mod: _trunc_mod,
    e.FloorDiv: _floor_div,
    e.FloorMod: _floor_mod,
    e.Min: _either,
    e.Max: _either,
    e.Select: _select,
    e.Cast: _cast,
    e.Let: _let,
    e.Call: _call,
}
