"""Constant bounds of integer expressions.

int32 and int64 are the index types: their arithmetic is taken not to overflow, as everywhere in
TIR. All other integer types wrap, so a result that might leave the type's range may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from operator import floordiv
from typing import ClassVar, Final, final

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Field, Node, fields, number, register_nodes
from tvm.ir.op import Op
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.scalar import trunc_div

from .interval import (
    BOOLEAN,
    EVERYTHING,
    NEG_INF,
    POS_INF,
    Bound,
    add_bounds,
    clamp,
    div_bounds,
    floor_mod_bounds,
    highest_at_corners,
    intersect_bounds,
    mul_bounds,
    negate_bound,
    trunc_mod_bounds,
    type_bound,
    union_bounds,
)
from .knowledge import PairAnalyzer
from .scalable import vscale_values


@final
class ConstIntBound(Node):
    """All values lie in [min_value, max_value]; POS_INF and NEG_INF stand for no bound."""

    __slots__ = ("max_value", "min_value")
    TYPE_KEY = "arith.ConstIntBound"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("min_value", "max_value")
    POS_INF: ClassVar[int] = POS_INF
    NEG_INF: ClassVar[int] = NEG_INF

    def __init__(self, min_value: int, max_value: int) -> None:
        self.min_value: Final = number(int, min_value, "ConstIntBound: min_value")
        self.max_value: Final = number(int, max_value, "ConstIntBound: max_value")

    def __repr__(self) -> str:
        low = "neg_inf" if self.min_value == NEG_INF else str(self.min_value)
        high = "pos_inf" if self.max_value == POS_INF else str(self.max_value)
        return f"ConstIntBound[{low},{high}]"

    def __str__(self) -> str:
        return self.__repr__()


register_nodes(ConstIntBound)


class BoundAnalyzer(PairAnalyzer):
    """Bounds of expressions under what the analyzer knows of variables."""

    __slots__ = ()

    def of(self, expr: PrimExpr) -> Bound:
        """The bounds of `expr`."""
        kind = type(expr)
        if kind is e.IntImm:
            value: int = expr.value  # type: ignore[attr-defined]
            return (value, value) if NEG_INF < value < POS_INF else _reached((value, value))
        if kind is e.Var:
            known = self.variables.get(expr)
            return type_bound(expr.dtype) if known is None else known
        found = self._known.get(id(expr))
        if found is not None:
            return found[1]
        return self._find(expr, kind)

    def _compute(self, expr: PrimExpr, kind: type) -> Bound:
        rule = _RULES.get(kind)
        bound = type_bound(expr.dtype) if rule is None else rule(self, expr)
        dtype = expr.dtype
        if (dtype.bits < 32 or not dtype.is_int) and kind in _ARITHMETIC:
            bound = _wrapped(bound, dtype)
        if bound[0] == POS_INF or bound[1] == NEG_INF:
            bound = _reached(bound)
        if self.facts:
            fact = self.facts.get(self._analyzer.numbers.number(expr))
            if fact is not None:
                bound = intersect_bounds(bound, fact)
        return bound


def range_bound(bounds: PairAnalyzer, dom: Range) -> Bound:
    """The bounds of a variable that runs over `dom`."""
    low, extent = bounds.of(dom.min), bounds.of(dom.extent)
    return low[0], add_bounds(low, add_bounds(extent, (-1, -1)))[1]


def _reached(bound: Bound) -> Bound:
    """Ends beyond the infinities: a value may be larger than all that bounds tell apart.

    No bound is then known on that side, and the largest number that is one on the other.
    """
    low, high = clamp(bound[0]), clamp(bound[1])
    return min(low, POS_INF - 1), max(high, NEG_INF + 1)


def _wrapped(bound: Bound, dtype: DataType) -> Bound:
    low, high = type_bound(dtype)
    return bound if low <= bound[0] and bound[1] <= high else (low, high)


Rule = Callable[[BoundAnalyzer, PrimExpr], Bound]
_ARITHMETIC: Final[frozenset[type]] = frozenset((e.Add, e.Sub, e.Mul, e.Div, e.FloorDiv))


def _var(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    known = self.variables.get(x)
    return type_bound(x.dtype) if known is None else known


def _size_var(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    known = self.variables.get(x)
    return (0, POS_INF) if known is None else intersect_bounds(known, (0, POS_INF))


def _add(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Add)
    bound = add_bounds(self.of(x.a), self.of(x.b))
    return _beside_product(self, x.a, x.b, 1, bound)


def _sub(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Sub)
    bound = add_bounds(self.of(x.a), negate_bound(self.of(x.b)))
    return _beside_product(self, x.a, x.b, -1, bound)


def _beside_product(
    self: BoundAnalyzer, a: PrimExpr, b: PrimExpr, sign: int, bound: Bound
) -> Bound:
    """The bounds of a + sign * b, sharper for (x + y) * c beside x * y * d.

    The two grow together: which order of two matrix products is cheaper is such a difference.
    """
    if type(a) is not e.Mul or type(b) is not e.Mul:
        return bound
    for sums, others, s1, s2 in ((a, b, 1, sign), (b, a, sign, 1)):
        for total, factor in ((sums.a, sums.b), (sums.b, sums.a)):
            if type(total) is not e.Add:
                continue
            count = _without(self, others, total)
            if count is not None:
                x, y = self.of(total.a), self.of(total.b)
                at = _at_corners(x, y, mul_bounds(self.of(factor), (s1, s1)),
                                 mul_bounds(count, (s2, s2)))  # fmt: skip
                return intersect_bounds(at, bound)
    return bound


def _without(self: BoundAnalyzer, of: e.Mul, total: e.Add) -> Bound | None:
    """The bounds of what a product has beside both terms of a sum; None where one is missing."""
    numbers = self._analyzer.numbers
    wanted = [numbers.number(total.a), numbers.number(total.b)]
    count, stack = (1, 1), [of.b, of.a]
    while stack:
        part = stack.pop()
        if type(part) is e.Mul:
            stack += (part.b, part.a)
        elif (number := numbers.number(part)) in wanted:
            wanted.remove(number)
        else:
            count = mul_bounds(count, self.of(part))
    return None if wanted else count


def _at_corners(x: Bound, y: Bound, c: Bound, d: Bound) -> Bound:
    """The bounds of (x + y) * c + x * y * d."""
    scales = c + d
    if NEG_INF in scales or POS_INF in scales:
        return EVERYTHING
    ends = list(product(set(c), set(d)))
    low = max(highest_at_corners(-p, -p, -r, x, y) for p, r in ends)
    high = max(highest_at_corners(p, p, r, x, y) for p, r in ends)
    return clamp(-low), clamp(high)


def _mul_rule(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Mul)
    return mul_bounds(self.of(x.a), self.of(x.b))


def _trunc_div(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Div)
    if x.dtype.is_floating:
        return EVERYTHING
    return div_bounds(self.of(x.a), self.of(x.b), trunc_div)


def _floor_div(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.FloorDiv)
    return div_bounds(self.of(x.a), self.of(x.b), floordiv)


def _trunc_mod(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Mod)
    return trunc_mod_bounds(self.of(x.a), self.of(x.b))


def _floor_mod(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.FloorMod)
    low, high = floor_mod_bounds(self.of(x.a), self.of(x.b))
    divisor = x.b
    if type(divisor) is e.IntImm and divisor.value > 0 and high == divisor.value - 1:
        # of 4 * x modulo 10 only the even numbers are met
        coeff, base = self._analyzer.modular.of(x.a)
        step = _gcd(coeff, divisor.value)
        if step > 1:
            low = max(low, base % step)
            high = min(high, divisor.value - step + base % step)
    return low, high


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def _min(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Min)
    a, b = self.of(x.a), self.of(x.b)
    return min(a[0], b[0]), min(a[1], b[1])


def _max(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Max)
    a, b = self.of(x.a), self.of(x.b)
    return max(a[0], b[0]), max(a[1], b[1])


def _select(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Select)
    return union_bounds(self.of(x.true_value), self.of(x.false_value))


def _cast(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Cast)
    source, target = x.value.dtype, x.dtype
    everything = type_bound(target)
    if target.is_floating and (source.is_integer or source.is_bool):
        low, high = self.of(x.value)
        exact = _WHOLE.get(target.element_of(), 0)
        return (low, high) if -exact <= low and high <= exact else everything
    if source.is_floating:  # whole numbers come back as they were
        low, high = self.of(x.value)
        exact = _WHOLE.get(source.element_of(), 0)
        fits = everything[0] <= low and high <= everything[1]
        return (low, high) if fits and -exact <= low and high <= exact else everything
    if not (source.is_integer or source.is_bool):
        return everything
    if target.is_bool:
        low, high = self.of(x.value)
        return (1, 1) if low > 0 or high < 0 else (0, 0) if low == high == 0 else BOOLEAN
    bound = self.of(x.value)
    if target.is_int and source.is_uint and source.bits == 64 and bound[1] == POS_INF:
        return everything  # the upper half of them becomes negative
    return bound if everything[0] <= bound[0] and bound[1] <= everything[1] else everything


# Up to here each whole number is a value of the type (IEEE 754 significands).
_WHOLE: Final[dict[str, int]] = {"float16": 1 << 11, "float32": 1 << 24, "float64": 1 << 53}


def _ramp(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Ramp)
    lanes = self.of(x.lanes)[1]
    last = mul_bounds(self.of(x.stride), (0, max(lanes - 1, 0) if lanes < POS_INF else POS_INF))
    return add_bounds(self.of(x.base), last)


def _broadcast(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Broadcast)
    return self.of(x.value)


def _let(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Let)
    if x.var in self.variables:
        return self.of(x.body)
    self.variables[x.var] = self.of(x.value)
    bound = self.of(x.body)
    del self.variables[x.var]
    self.forget()
    return bound


def _call(self: BoundAnalyzer, x: PrimExpr) -> Bound:
    assert isinstance(x, e.Call)
    rule = _CALLS.get(x.op.name) if isinstance(x.op, Op) else None
    return type_bound(x.dtype) if rule is None else rule(self, x)


def _first(self: BoundAnalyzer, x: e.Call) -> Bound:
    return self.of(x.args[0])


def _choice(self: BoundAnalyzer, x: e.Call) -> Bound:
    return union_bounds(self.of(x.args[1]), self.of(x.args[2]))


def _shift_right(self: BoundAnalyzer, x: e.Call) -> Bound:
    a, b = self.of(x.args[0]), self.of(x.args[1])
    if b[0] < 0 or b[1] > 63:
        b = (0, 63)  # other amounts have no meaning
    return div_bounds(a, (1 << b[0], 1 << min(b[1], 62)), floordiv)


def _shift_left(self: BoundAnalyzer, x: e.Call) -> Bound:
    a, b = self.of(x.args[0]), self.of(x.args[1])
    if b[0] < 0 or b[1] > 62:
        return type_bound(x.dtype)
    return _wrapped(mul_bounds(a, (1 << b[0], 1 << b[1])), x.dtype)


def _bitwise_and(self: BoundAnalyzer, x: e.Call) -> Bound:
    a, b = self.of(x.args[0]), self.of(x.args[1])
    tops = [side[1] for side in (a, b) if side[0] >= 0]
    return (0, min(tops)) if tops else type_bound(x.dtype)


def _clz(self: BoundAnalyzer, x: e.Call) -> Bound:
    """Leading zeros shrink as the value grows."""
    value, bits = self.of(x.args[0]), x.args[0].dtype.bits
    if value[0] < 0:
        return 0, bits
    low = 0 if value[1] == POS_INF else bits - value[1].bit_length()
    return low, bits - value[0].bit_length()


def _ceil(self: BoundAnalyzer, x: e.Call) -> Bound:
    """The rounded up logarithm of a whole number: the bits that count up to it."""
    inner = x.args[0]
    if e.is_call_of(inner, "tir.log2"):
        low, high = _whole_bounds(self, inner.args[0])
        if low > 0 and high != POS_INF:
            return (low - 1).bit_length(), (high - 1).bit_length()
    return type_bound(x.dtype)


def _whole_bounds(self: BoundAnalyzer, expr: PrimExpr) -> Bound:
    if isinstance(expr, e.FloatImm) and expr.value.is_integer():
        return int(expr.value), int(expr.value)
    return self.of(expr) if isinstance(expr, e.Cast) else (NEG_INF, POS_INF)


def _vscale(self: BoundAnalyzer, x: e.Call) -> Bound:
    values = vscale_values()
    return type_bound(x.dtype) if values is None else (values[0], values[-1])


_CALLS: Final[dict[str, Callable[[BoundAnalyzer, e.Call], Bound]]] = {
    "tir.likely": _first,
    "tir.if_then_else": _choice,
    "tir.shift_right": _shift_right,
    "tir.shift_left": _shift_left,
    "tir.bitwise_and": _bitwise_and,
    "tir.clz": _clz,
    "tir.ceil": _ceil,
    "tir.vscale": _vscale,
}
_RULES: Final[dict[type, Rule]] = {
    e.Var: _var,
    e.SizeVar: _size_var,
    e.Add: _add,
    e.Sub: _sub,
    e.Mul: _mul_rule,
    e.Div: _trunc_div,
    e.Mod: _trunc_mod,
    e.FloorDiv: _floor_div,
    e.FloorMod: _floor_mod,
    e.Min: _min,
    e.Max: _max,
    e.Select: _select,
    e.Cast: _cast,
    e.Ramp: _ramp,
    e.Broadcast: _broadcast,
    e.Let: _let,
    e.Call: _call,
}
