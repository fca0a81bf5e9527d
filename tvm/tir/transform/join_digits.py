"""Indices that take a number apart and put it together again are that number.

    for f in range(b * n):                              for f in range(b * n):
        X[(f % (b * n) // n * n + f % n) * n]    ->         X[f * n]
        Y[f % (b * n) // n]                                 Y[f // n]

Loops that were fused leave this behind: the digits of `f` to the bases of their extents. With
numbers for extents simplifying does it; with symbols it takes to know that one product is a part of
another. A division of 64 bits takes as long as the exponentials of a vector.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.JoinDigits")
def JoinDigits(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No index of a buffer is the sum of two digits that are one digit."""
    return func.with_body(_Joiner().visit_stmt(func.body))


class _Product(NamedTuple):
    """A number, and factors that are none."""

    number: int
    factors: tuple[PrimExpr, ...] = ()

    def times(self, other: _Product) -> _Product:
        """Both together."""
        return _Product(self.number * other.number, self.factors + other.factors)

    def over(self, part: _Product) -> _Product | None:
        """What the other is multiplied by to be this one; None where that is no product."""
        if part.number == 0 or self.number % part.number:
            return None
        left = list(self.factors)
        for factor in part.factors:
            at = next((i for i, own in enumerate(left) if structural_equal(own, factor)), None)
            if at is None:
                return None
            del left[at]
        return _Product(self.number // part.number, tuple(left))

    def is_one(self) -> bool:
        """Whether nothing changes by it."""
        return self.number == 1 and not self.factors

    def scaled(self, value: PrimExpr) -> PrimExpr:
        """The value, so many times."""
        for factor in self.factors:
            value = ops.multiply(value, factor)
        return value if self.number == 1 else ops.multiply(value, self.number)


_ONE: Final = _Product(1)


class _Digit(NamedTuple):
    """`value % modulus // divisor`, or without the modulus."""

    value: PrimExpr
    modulus: _Product | None
    divisor: _Product

    def expr(self) -> PrimExpr:
        """As an expression."""
        one = e.make_const(1, self.value.dtype)
        found = self.value
        if self.modulus is not None:
            found = ops.floormod(found, self.modulus.scaled(one))
        return found if self.divisor.is_one() else ops.floordiv(found, self.divisor.scaled(one))


class _Term(NamedTuple):
    """A part of a sum: a digit, or anything else, so many times."""

    times: _Product
    what: _Digit | PrimExpr

    def expr(self) -> PrimExpr:
        """As an expression."""
        return self.times.scaled(self.what.expr() if isinstance(self.what, _Digit) else self.what)


class _Joiner(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._extents: dict[e.Var, _Product] = {}  # of the loops around, where they are symbols

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return super().visit_expr(expr) if self._extents else expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        if isinstance(op.extent, e.IntImm) or not ops.is_zero(op.min):
            return super().visit_for_(op)
        self._extents[op.loop_var] = _product(op.extent)
        new = super().visit_for_(op)
        del self._extents[op.loop_var]
        return new

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        if not self._extents or not isinstance(new, s.BufferStore):
            return new
        indices = [self._joined(index) for index in new.indices]
        if all(a is b for a, b in zip(indices, new.indices)):
            return new
        return s.BufferStore(new.buffer, new.value, indices, new.predicate, new.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        if not isinstance(new, e.BufferLoad):
            return new
        indices = [self._joined(index) for index in new.indices]
        if all(a is b for a, b in zip(indices, new.indices)):
            return new
        return e.BufferLoad(new.buffer, indices, new.predicate, new.span)

    def _joined(self, index: PrimExpr) -> PrimExpr:
        if not _has_digits(index):
            return index
        terms, changed = [], False
        for term in _terms(index, _ONE):
            whole = self._without_modulus(term)
            changed = changed or whole is not term
            terms.append(whole)
        while (pair := _neighbours(terms)) is not None:
            high, low, both = pair
            terms = [both if term is low else term for term in terms if term is not high]
            changed = True
        if not changed:
            return index
        terms = [self._without_modulus(term) for term in terms]
        result = terms[0].expr()
        for term in terms[1:]:
            result = ops.add(result, term.expr())
        return result

    def _without_modulus(self, term: _Term) -> _Term:
        """The term, with a loop's variable for its remainder by the extent."""
        digit = term.what
        if not isinstance(digit, _Digit) or not isinstance(digit.value, e.Var):
            return term
        extent = self._extents.get(digit.value)
        whole = None if extent is None or digit.modulus is None else digit.modulus.over(extent)
        if whole is None or not whole.is_one():
            return term
        return term._replace(what=digit._replace(modulus=None))


def _has_digits(expr: PrimExpr) -> bool:
    """Whether something is divided by what is no number."""
    return any(
        isinstance(node, (e.FloorDiv, e.FloorMod)) and not isinstance(node.b, e.IntImm)
        for node in walk(expr)
    )


def _product(expr: PrimExpr) -> _Product:
    if isinstance(expr, e.IntImm):
        return _Product(expr.value)
    if isinstance(expr, e.Mul):
        return _product(expr.a).times(_product(expr.b))
    return _Product(1, (expr,))


def _terms(expr: PrimExpr, times: _Product) -> list[_Term]:
    """The parts of a sum; sums that have digits are multiplied out."""
    if not isinstance(expr, (e.FloorDiv, e.FloorMod)) and not _has_digits(expr):
        return [_Term(times, expr)]
    if isinstance(expr, e.Add):
        return _terms(expr.a, times) + _terms(expr.b, times)
    if isinstance(expr, e.Sub):
        return _terms(expr.a, times) + _terms(expr.b, times.times(_Product(-1)))
    if isinstance(expr, e.Mul):
        for part, other in ((expr.a, expr.b), (expr.b, expr.a)):
            if not _has_digits(other):
                return _terms(part, times.times(_product(other)))
    return [_Term(times, _digit(expr) or expr)]


def _digit(expr: PrimExpr) -> _Digit | None:
    if isinstance(expr, e.FloorDiv):
        inner, divisor = expr.a, _product(expr.b)
        if isinstance(inner, e.FloorMod):
            return _Digit(inner.a, _product(inner.b), divisor)
        return _Digit(inner, None, divisor)
    if isinstance(expr, e.FloorMod):
        inner, modulus = expr.a, _product(expr.b)
        if isinstance(inner, e.FloorDiv):
            divisor = _product(inner.b)
            return _Digit(inner.a, modulus.times(divisor), divisor)
        return _Digit(inner, modulus, _ONE)
    return None


def _neighbours(terms: list[_Term]) -> tuple[_Term, _Term, _Term] | None:
    """Two digits of which one goes on where the other ends, and the one that they are."""
    for high in terms:
        for low in terms:
            both = None if high is low else _both(high, low)
            if both is not None:
                return high, low, both
    return None


def _both(high: _Term, low: _Term) -> _Term | None:
    """`f % a // (c * d) * d + f % (c * d) // c` is `f % a // c` if `a` is a multiple of `c * d`."""
    above, below = high.what, low.what
    if not isinstance(above, _Digit) or not isinstance(below, _Digit) or below.modulus is None:
        return None
    if above.modulus is not None and above.modulus.over(above.divisor) is None:
        return None
    ends = above.divisor.over(below.modulus)
    base = below.modulus.over(below.divisor)
    if ends is None or not ends.is_one() or base is None:
        return None
    scale = high.times.over(low.times.times(base))
    if scale is None or not scale.is_one() or not structural_equal(above.value, below.value):
        return None
    return _Term(low.times, _Digit(below.value, above.modulus, below.divisor))
