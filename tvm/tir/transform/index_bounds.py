"""The smallest and the largest value of an index while some variables run over their ranges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir.functor import uses_any, walk
from tvm.tir.op import arith as ops

Bounds = tuple[PrimExpr, PrimExpr]


class IndexBounds:
    """Bounds as expressions in the variables that do not run; a range of None is not known.

    Of memory in `constant` one element is one value.
    """

    def __init__(
        self,
        running: Mapping[e.Var, Range | None],
        analyzer: Analyzer,
        constant: Collection[e.Var] = (),
    ) -> None:
        self._analyzer = analyzer
        self._running = running
        self._constant = constant

    def of(self, index: PrimExpr, facts: Sequence[PrimExpr] = ()) -> Bounds | None:
        """(smallest, largest), or None where they cannot be told.

        `facts` are comparisons that hold where the index is used.
        """
        index = self._analyzer.simplify(index)
        found = self._of(index)
        if found is None:
            return None
        low, high = found
        # of an index that stays, a fact could only tell that its access is never reached; and what
        # moves the index has to be in both sides to cancel
        moving = {node for node in walk(index) if self._moves(node)}
        loads = any(isinstance(node, e.BufferLoad) for node in moving)
        for fact in facts if moving else ():
            if loads or uses_any(fact, moving):
                low, high = self._narrowed(index, fact, low, high)
        return self._analyzer.simplify(low), self._analyzer.simplify(high)

    def _narrowed(self, index: PrimExpr, fact: PrimExpr, low: PrimExpr, high: PrimExpr) -> Bounds:
        """The bounds under a <= b, where one side is the index moved by something fixed."""
        ordered = _as_less_equal(fact)
        if ordered is None or ordered[0].dtype is not index.dtype:
            return low, high
        a, b = ordered
        above = self._moved(index, a, b)
        limit = None if above is None else self._of(above)
        if limit is not None and self._analyzer.can_prove(ops.less_equal(limit[1], high)):
            high = limit[1]
        below = self._moved(index, b, a)
        limit = None if below is None else self._of(below)
        if limit is not None and self._analyzer.can_prove(ops.less_equal(low, limit[0])):
            low = limit[0]
        return low, high

    def _moved(self, index: PrimExpr, side: PrimExpr, other: PrimExpr) -> PrimExpr | None:
        """What `index` is compared with, if `side` is the index plus something that stays."""
        gap = self._analyzer.simplify(ops.subtract(side, index))
        if any(self._moves(node) for node in walk(gap)):
            return None
        return self._analyzer.simplify(ops.subtract(other, gap))

    def _of(self, x: PrimExpr) -> Bounds | None:
        if isinstance(x, e.IntImm):
            return x, x
        if isinstance(x, e.Var):
            return self._of_var(x)
        if isinstance(x, e.Cast) and x.dtype.is_int and x.value.dtype.is_integer:
            inner = self._of(x.value)
            return inner and (ops.cast(inner[0], x.dtype), ops.cast(inner[1], x.dtype))
        if isinstance(x, e.Ramp) and isinstance(x.lanes, e.IntImm):
            last = ops.add(x.base, ops.multiply(x.stride, x.lanes.value - 1))
            ends = self._of(x.base), self._of(last)
            return self._hull(ends[0], ends[1])
        if isinstance(x, e.Broadcast):
            return self._of(x.value)
        if isinstance(x, e.Select):
            return self._hull(self._of(x.true_value), self._of(x.false_value))
        found = self._of_binary(x) if isinstance(x, e.BinaryOpExpr) else None
        if found is not None:
            return found
        # f // n is an index like any other as long as f and n stay
        return None if any(self._moves(node) for node in walk(x)) else (x, x)

    def _moves(self, node: object) -> bool:
        if isinstance(node, e.BufferLoad):
            return node.buffer.data not in self._constant
        return isinstance(node, e.Var) and node in self._running

    def _of_var(self, var: e.Var) -> Bounds | None:
        if var not in self._running:
            return var, var
        dom = self._running[var]
        if dom is None:
            return None
        low = self._of(dom.min)
        high = self._of(ops.subtract(ops.add(dom.min, dom.extent), 1))
        return None if low is None or high is None else (low[0], high[1])

    def _of_binary(self, x: e.BinaryOpExpr) -> Bounds | None:
        a, b = self._of(x.a), self._of(x.b)
        if a is None or b is None:
            return self._of_modulo(x, b)
        if isinstance(x, e.Add):
            return ops.add(a[0], b[0]), ops.add(a[1], b[1])
        if isinstance(x, e.Sub):
            return ops.subtract(a[0], b[1]), ops.subtract(a[1], b[0])
        if isinstance(x, e.Min):
            return ops.min_of(a[0], b[0]), ops.min_of(a[1], b[1])
        if isinstance(x, e.Max):
            return ops.max_of(a[0], b[0]), ops.max_of(a[1], b[1])
        if isinstance(x, e.Mul):
            return self._of_product(a, b)
        if isinstance(x, e.FloorDiv):
            return self._of_quotient(a, b)
        return self._of_modulo(x, b, a)

    def _of_product(self, a: Bounds, b: Bounds) -> Bounds | None:
        for one, other in ((a, b), (b, a)):
            factor = other[0]
            if factor is not other[1]:
                continue
            if self._analyzer.can_prove(ops.greater_equal(factor, 0)):
                return ops.multiply(one[0], factor), ops.multiply(one[1], factor)
            if self._analyzer.can_prove(ops.less_equal(factor, 0)):
                return ops.multiply(one[1], factor), ops.multiply(one[0], factor)
        return None

    def _of_quotient(self, a: Bounds, b: Bounds) -> Bounds | None:
        divisor = b[0]
        if divisor is not b[1] or not self._analyzer.can_prove(ops.greater(divisor, 0)):
            return None
        return ops.floordiv(a[0], divisor), ops.floordiv(a[1], divisor)

    def _of_modulo(
        self, x: e.BinaryOpExpr, b: Bounds | None, a: Bounds | None = None
    ) -> Bounds | None:
        """Rests lie below the divisor; within one multiple of it they follow the dividend."""
        if not isinstance(x, e.FloorMod) or b is None or b[0] is not b[1]:
            return None
        divisor = b[0]
        if not self._analyzer.can_prove(ops.greater(divisor, 0)):
            return None
        if a is not None:
            low, high = ops.floordiv(a[0], divisor), ops.floordiv(a[1], divisor)
            if self._analyzer.can_prove_equal(low, high):
                return ops.floormod(a[0], divisor), ops.floormod(a[1], divisor)
        return ops.const(0, x.dtype), ops.subtract(divisor, 1)

    def _hull(self, a: Bounds | None, b: Bounds | None) -> Bounds | None:
        if a is None or b is None:
            return None
        return ops.min_of(a[0], b[0]), ops.max_of(a[1], b[1])


def _as_less_equal(fact: PrimExpr) -> Bounds | None:
    """The sides of a <= b for a comparison of integers."""
    if not isinstance(fact, e.CmpExpr) or not fact.a.dtype.is_int or not fact.dtype.is_scalar:
        return None
    if isinstance(fact, e.LT):
        return fact.a, ops.subtract(fact.b, 1)
    if isinstance(fact, e.LE):
        return fact.a, fact.b
    if isinstance(fact, e.GT):
        return ops.add(fact.b, 1), fact.a
    return (fact.b, fact.a) if isinstance(fact, e.GE) else None
