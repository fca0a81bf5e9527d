"""Conditions that hold at a point of the program, taken apart into facts, and put back after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.op.forms import conjuncts

from .interval import NEG_INF, POS_INF, Bound, add_bounds, mul_bounds
from .linear import LinearForm, at_most_zero, difference
from .modular_set import intersect_residues, normal

if TYPE_CHECKING:
    from .analyzer import Analyzer

MAX_ATOMS: Final = 8  # longer sums are kept as they are, their atoms get no bounds from them


class Constraint:
    """What one condition changed in an analyzer."""

    __slots__ = ("_entered", "_saved", "_unequal")

    def __init__(self) -> None:
        self._saved: list[tuple[dict[Any, Any], Any, Any]] = []
        self._entered: list[Any] = []
        self._unequal: list[LinearForm] = []

    def set(self, table: dict[Any, Any], key: object, value: object) -> None:
        """Set an entry, remembering the old one."""
        self._saved.append((table, key, table.get(key)))
        table[key] = value

    def enter(self, analyzer: Analyzer, form: LinearForm) -> None:
        """Note that a sum is at most zero."""
        self._entered.append(analyzer.comparisons.enter(form))

    def differ(self, analyzer: Analyzer, form: LinearForm) -> None:
        """Note that a sum is not zero."""
        self._unequal.append(form)
        analyzer.comparisons.unequal.append(form)

    def undo(self, analyzer: Analyzer) -> None:
        """Put everything back."""
        for table, key, value in self._saved[::-1]:
            if value is None:
                del table[key]
            else:
                table[key] = value
        for entered in self._entered[::-1]:
            analyzer.comparisons.leave(entered)
        for form in self._unequal:
            analyzer.comparisons.unequal.remove(form)
        analyzer.forget_in_scope()


def enter_constraint(analyzer: Analyzer, condition: PrimExpr) -> Constraint:
    """Note a simplified condition; the result undoes it."""
    entered = Constraint()
    analyzer.forget_in_scope()
    facts = facts_in(condition)
    for fact in facts:
        _note(analyzer, entered, fact)
    if len(facts) > 1:  # once more for the bounds: a later fact may sharpen an earlier one
        for fact in facts:
            if isinstance(fact, (e.LT, e.LE)) and _is_index_comparison(fact):
                form = difference(fact.a, fact.b, analyzer)
                form.constant += isinstance(fact, e.LT)
                _narrow_atoms(analyzer, entered, form)
    analyzer.forget_in_scope()
    return entered


_MARKS: Final = ("tir.likely", "tir.ignore_loop_partition")


def facts_in(condition: PrimExpr) -> list[PrimExpr]:
    """The conditions that `condition` joins by `and`, without hints to loop partitioning."""
    return conjuncts(condition, _MARKS)


def _note(analyzer: Analyzer, entered: Constraint, fact: PrimExpr) -> None:
    if isinstance(fact, e.IntImm):
        return
    _note_literal(analyzer, entered, fact)
    if isinstance(fact, e.CmpExpr) and _is_index_comparison(fact):
        if isinstance(fact, (e.LT, e.LE)):
            for form in at_most_zero(fact.a, fact.b, isinstance(fact, e.LT), analyzer):
                _note_at_most_zero(analyzer, entered, form)
            _narrow_sum(analyzer, entered, fact)
        elif isinstance(fact, e.EQ):
            _note_equal(analyzer, entered, fact)
        elif isinstance(fact, e.NE):
            _note_differs(analyzer, entered, fact)


def _is_index_comparison(fact: e.CmpExpr) -> bool:
    dtype = fact.a.dtype
    return dtype.is_int and dtype.bits >= 32 and dtype.is_scalar


def _note_literal(analyzer: Analyzer, entered: Constraint, fact: PrimExpr) -> None:
    numbers, literals = analyzer.numbers, analyzer.literals
    if isinstance(fact, e.Not):
        entered.set(literals, numbers.number(fact.a), False)
        entered.set(literals, numbers.number(fact), True)
        return
    entered.set(literals, numbers.number(fact), True)
    entered.set(literals, numbers.number(analyzer.rewriter.make_not(fact)), False)
    if isinstance(fact, (e.EQ, e.NE)):
        same, other = (e.EQ, e.NE) if isinstance(fact, e.EQ) else (e.NE, e.EQ)
        entered.set(literals, numbers.number(same(fact.b, fact.a)), True)
        entered.set(literals, numbers.number(other(fact.b, fact.a)), False)


def _note_at_most_zero(analyzer: Analyzer, entered: Constraint, form: LinearForm) -> None:
    """Note that a sum is at most zero, and what that says of its terms."""
    if len(form.shape()) > 1:
        entered.enter(analyzer, form)
    _narrow_atoms(analyzer, entered, form)


def _narrow_atoms(analyzer: Analyzer, entered: Constraint, form: LinearForm) -> None:
    """Each atom of a sum that is at most zero, limited by the least that the others are."""
    shape = form.shape()
    if len(shape) > MAX_ATOMS:
        return
    for key, count in shape:
        others: Bound = (form.constant, form.constant)
        for other, times in shape:
            if other != key:
                of = analyzer.bounds.of(form.atoms[other])
                others = add_bounds(others, mul_bounds(of, (times, times)))
        if others[0] == NEG_INF:
            continue
        limit = -others[0]  # count * atom <= limit
        if count > 0:
            narrow(analyzer, entered, form.atoms[key], (NEG_INF, limit // count))
        else:
            narrow(analyzer, entered, form.atoms[key], (-(limit // -count), POS_INF))


def _narrow_sum(analyzer: Analyzer, entered: Constraint, fact: e.LT | e.LE) -> None:
    """A sum that a literal limits, as one expression: it may be an operand of others."""
    a, b, strict = fact.a, fact.b, isinstance(fact, e.LT)
    if isinstance(a, (e.Add, e.Sub)) and isinstance(b, e.IntImm):
        narrow(analyzer, entered, a, (NEG_INF, b.value - strict))
    elif isinstance(a, e.IntImm) and isinstance(b, (e.Add, e.Sub)):
        narrow(analyzer, entered, b, (a.value + strict, POS_INF))


def narrow(analyzer: Analyzer, entered: Constraint, expr: PrimExpr, bound: Bound) -> None:
    """Note that `expr` also lies in `bound`."""
    low, high = analyzer.bounds.of(expr)
    new = max(low, bound[0]), min(high, bound[1])
    if new == (low, high) or new[0] > new[1]:
        return
    if isinstance(expr, e.Var):
        entered.set(analyzer.bounds.variables, expr, new)
    else:
        entered.set(analyzer.bounds.facts, analyzer.numbers.number(expr), new)
        _narrow_below(analyzer, entered, expr, new)
    analyzer.bounds.forget()


def _narrow_below(analyzer: Analyzer, entered: Constraint, expr: PrimExpr, new: Bound) -> None:
    """What the bounds of a quotient or an extremum say about its operands."""
    if isinstance(expr, e.FloorDiv) and isinstance(expr.b, e.IntImm) and expr.b.value > 0:
        divisor = expr.b.value
        low = NEG_INF if new[0] == NEG_INF else new[0] * divisor
        high = POS_INF if new[1] == POS_INF else new[1] * divisor + divisor - 1
        form = difference(expr.a, e.IntImm(expr.dtype, 0), analyzer)
        if low != NEG_INF:
            below = LinearForm()
            below.add(expr.a, -1, analyzer)
            below.constant += low
            _note_at_most_zero(analyzer, entered, below)
        if high != POS_INF:
            form.constant -= high
            _note_at_most_zero(analyzer, entered, form)
    elif isinstance(expr, e.Min) and new[0] != NEG_INF:
        narrow(analyzer, entered, expr.a, (new[0], POS_INF))
        narrow(analyzer, entered, expr.b, (new[0], POS_INF))
    elif isinstance(expr, e.Max) and new[1] != POS_INF:
        narrow(analyzer, entered, expr.a, (NEG_INF, new[1]))
        narrow(analyzer, entered, expr.b, (NEG_INF, new[1]))


def _note_equal(analyzer: Analyzer, entered: Constraint, fact: e.EQ) -> None:
    a, b = fact.a, fact.b
    if isinstance(b, e.IntImm) and isinstance(a, (e.FloorMod, e.Mod)):
        divisor = a.b
        # either way the dividend is a multiple of the divisor plus the remainder
        if isinstance(divisor, e.IntImm) and divisor.value != 0:
            _note_residue(analyzer, entered, a.a, divisor.value, b.value)
    form = difference(a, b, analyzer)
    opposite = difference(b, a, analyzer)
    _note_at_most_zero(analyzer, entered, form)
    _note_at_most_zero(analyzer, entered, opposite)
    if len(form.shape()) == 1:
        key, count = form.shape()[0]
        if form.constant % count == 0:
            _note_residue(analyzer, entered, form.atoms[key], 0, -form.constant // count)
    if len(form.shape()) == 2:
        (first, m), (second, n) = form.shape()
        if abs(m) == 1:  # first = -m * (n * second + constant)
            coeff, base = analyzer.modular.of(form.atoms[second])
            residue = normal(coeff * n, -m * (base * n + form.constant))
            _note_residue(analyzer, entered, form.atoms[first], *residue)
        if abs(n) == 1:
            coeff, base = analyzer.modular.of(form.atoms[first])
            residue = normal(coeff * m, -n * (base * m + form.constant))
            _note_residue(analyzer, entered, form.atoms[second], *residue)


def _note_residue(
    analyzer: Analyzer, entered: Constraint, expr: PrimExpr, coeff: int, base: int
) -> None:
    """expr = coeff * k + base, carried inward through sums of one atom."""
    form = difference(expr, e.IntImm(expr.dtype, 0), analyzer)
    shape = form.shape()
    if len(shape) == 1 and abs(shape[0][1]) == 1:
        key, sign = shape[0]
        expr, base = form.atoms[key], sign * (base - form.constant)
    residue = intersect_residues(analyzer.modular.of(expr), normal(coeff, base))
    if isinstance(expr, e.Var):
        entered.set(analyzer.modular.variables, expr, residue)
    else:
        entered.set(analyzer.modular.facts, analyzer.numbers.number(expr), residue)
    analyzer.modular.forget()
    coeff, remainder = residue
    if coeff > 1:  # the ends of the range move to the next values that are met
        low, high = analyzer.bounds.of(expr)
        low = low + (remainder - low) % coeff if low > NEG_INF else low
        high = high - (high - remainder) % coeff if high < POS_INF else high
        narrow(analyzer, entered, expr, (low, high))


def _note_differs(analyzer: Analyzer, entered: Constraint, fact: e.NE) -> None:
    """A value at the end of its range moves the end."""
    form = difference(fact.a, fact.b, analyzer)
    entered.differ(analyzer, form)
    shape = form.shape()
    if len(shape) != 1 or form.constant % shape[0][1]:
        return
    key, count = shape[0]
    value = -form.constant // count
    low, high = analyzer.bounds.of(form.atoms[key])
    if low == value:
        narrow(analyzer, entered, form.atoms[key], (low + 1, POS_INF))
    elif high == value:
        narrow(analyzer, entered, form.atoms[key], (NEG_INF, high - 1))
