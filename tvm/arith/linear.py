"""Sums as maps from what is added to how often: the quick way to compare two index expressions."""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e

from .interval import Bound, add_bounds, clamp, mul_bounds
from .knowledge import Knowledge


class LinearForm:
    """constant + sum of coefficient * atom; an atom is anything but a sum or a literal multiple."""

    __slots__ = ("atoms", "constant", "counts")

    def __init__(self) -> None:
        self.constant = 0
        self.counts: Final[dict[int, int]] = {}
        self.atoms: Final[dict[int, PrimExpr]] = {}

    def add(self, expr: PrimExpr, scale: int, analyzer: Knowledge) -> None:
        """Add `scale * expr`."""
        stack: list[tuple[PrimExpr, int]] = [(expr, scale)]
        while stack:
            node, factor = stack.pop()
            kind = type(node)
            if kind is e.IntImm:
                self.constant += factor * node.value  # type: ignore[attr-defined]
            elif kind is e.Add:
                stack.append((node.a, factor))  # type: ignore[attr-defined]
                stack.append((node.b, factor))  # type: ignore[attr-defined]
            elif kind is e.Sub:
                stack.append((node.a, factor))  # type: ignore[attr-defined]
                stack.append((node.b, -factor))  # type: ignore[attr-defined]
            elif kind is e.Mul and type(node.b) is e.IntImm:  # type: ignore[attr-defined]
                stack.append((node.a, factor * node.b.value))  # type: ignore[attr-defined]
            else:
                key = analyzer.numbers.number(node)
                self.counts[key] = self.counts.get(key, 0) + factor
                self.atoms[key] = node

    def plus(self, other: LinearForm, scale: int) -> LinearForm:
        """self + scale * other, as a new sum."""
        total = LinearForm()
        total.constant = self.constant + scale * other.constant
        total.counts.update(self.counts)
        for key, count in other.counts.items():
            total.counts[key] = total.counts.get(key, 0) + scale * count
        total.atoms.update(self.atoms)
        total.atoms.update(other.atoms)
        return total

    def bound(self, analyzer: Knowledge) -> Bound:
        """The bounds of the sum."""
        total: Bound = (clamp(self.constant), clamp(self.constant))
        for key, count in self.counts.items():
            if count:
                of = analyzer.bounds.of(self.atoms[key])
                total = add_bounds(total, mul_bounds(of, (count, count)))
        return total

    def shape(self) -> tuple[tuple[int, int], ...]:
        """The atoms with their counts, in a fixed order; without the constant."""
        return tuple(sorted([(key, count) for key, count in self.counts.items() if count]))


def difference(a: PrimExpr, b: PrimExpr, analyzer: Knowledge) -> LinearForm:
    """a - b."""
    form = LinearForm()
    form.add(a, 1, analyzer)
    form.add(b, -1, analyzer)
    return form


def at_most_zero(
    a: PrimExpr, b: PrimExpr, strict: bool, analyzer: Knowledge
) -> list[LinearForm]:
    """The sums that a <= b, or a < b, says are at most zero.

    A limit by a quotient is one of the multiple too: x < y // 6 says that x * 6 + 6 <= y.
    """
    form = difference(a, b, analyzer)
    form.constant += strict
    found = [form]
    if (quotient := _literal_quotient(b)) is not None:
        y, factor = quotient
        form = difference(e.IntImm(a.dtype, 0), y, analyzer)
        form.add(a, factor, analyzer)
        form.constant += factor * strict
        found.append(form)
    if (quotient := _literal_quotient(a)) is not None:
        y, factor = quotient
        form = difference(y, e.IntImm(b.dtype, 0), analyzer)
        form.add(b, -factor, analyzer)
        form.constant += 1 if strict else 1 - factor
        found.append(form)
    return found


def _literal_quotient(expr: PrimExpr) -> tuple[PrimExpr, int] | None:
    """What is divided, and by which literal above one."""
    if isinstance(expr, e.FloorDiv) and isinstance(expr.b, e.IntImm) and expr.b.value > 1:
        return expr.a, expr.b.value
    return None


def multiple_of(a: PrimExpr, b: PrimExpr, analyzer: Knowledge) -> int | None:
    """k with a = k * b as sums, for a divisor b that is a sum; None if there is none."""
    if not isinstance(b, (e.Add, e.Sub, e.Mul)) or not isinstance(a, (e.Add, e.Sub, e.Mul)):
        return None
    whole, part = LinearForm(), LinearForm()
    whole.add(a, 1, analyzer)
    part.add(b, 1, analyzer)
    terms = part.shape()
    if not terms or len(terms) != len(whole.shape()):
        return None
    key, count = terms[0]
    total = whole.counts.get(key, 0)
    if total == 0 or total % count:  # without the term, a is no multiple of b
        return None
    times = total // count
    same = all(whole.counts.get(k, 0) == times * c for k, c in terms)
    return times if same and whole.constant == times * part.constant else None
