"""Bounds of p * x + q * y + r * x * y, sharper than those of its terms one by one.

The value is linear in x for each y, and the other way round, so it is extreme at a corner of the
box that the bounds of x and y are. Where the box is open, the slopes say which end counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.tir import expr as e

from .const_int_bound import NEG_INF, POS_INF, Bound, add_bounds, mul_bounds
from .linear import LinearForm

if TYPE_CHECKING:
    from .analyzer import Analyzer


def bilinear_bound(form: LinearForm, analyzer: Analyzer) -> Bound:
    """The bounds of a sum with a product of two of its terms; no bounds where there is none."""
    for key, count in form.counts.items():
        atom = form.atoms[key]
        if not count or type(atom) is not e.Mul or type(atom.b) is e.IntImm:
            continue
        numbers = (analyzer.numbers.number(atom.a), analyzer.numbers.number(atom.b))
        p, q = (form.counts.get(number, 0) for number in numbers)
        if numbers[0] == numbers[1] or not (p or q):
            continue
        x, y = analyzer.bounds.of(atom.a), analyzer.bounds.of(atom.b)
        bottom, top = _highest(-p, -q, -count, x, y), _highest(p, q, count, x, y)
        low = NEG_INF if bottom == POS_INF else form.constant - bottom
        high = POS_INF if top == POS_INF else form.constant + top
        return add_bounds((low, high), _others(form, analyzer, (key, *numbers)))
    return NEG_INF, POS_INF


def _others(form: LinearForm, analyzer: Analyzer, without: tuple[int, ...]) -> Bound:
    total: Bound = (0, 0)
    for key, count in form.counts.items():
        if count and key not in without:
            total = add_bounds(total, mul_bounds(analyzer.bounds.of(form.atoms[key]),
                                                 (count, count)))  # fmt: skip
    return total


def _highest(p: int, q: int, r: int, x: Bound, y: Bound) -> int:
    """The most that p * x + q * y + r * x * y can be."""
    best = NEG_INF
    for end in _ends(p, r, x, y):
        for other in _ends(q, r, y, x):
            if end is None or other is None:
                return POS_INF
            best = max(best, p * end + q * other + r * end * other)
    return best


def _ends(p: int, r: int, x: Bound, y: Bound) -> list[int | None]:
    """The ends of x that may count; None for one that is not bounded.

    The slope in x is p + r * y: where it has one sign for all y, one end of x is enough.
    """
    slope = add_bounds((p, p), mul_bounds(y, (r, r)))
    low = None if x[0] == NEG_INF else x[0]
    high = None if x[1] == POS_INF else x[1]
    if slope[1] <= 0:
        return [low]
    return [high] if slope[0] >= 0 else [low, high]
