"""Bounds of p * x + q * y + r * x * y, sharper than those of its terms one by one."""

from __future__ import annotations

from tvm.tir import expr as e

from .interval import NEG_INF, POS_INF, Bound, add_bounds, highest_at_corners, mul_bounds
from .knowledge import Knowledge
from .linear import LinearForm


def bilinear_bound(form: LinearForm, analyzer: Knowledge) -> Bound:
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
        bottom = highest_at_corners(-p, -q, -count, x, y)
        top = highest_at_corners(p, q, count, x, y)
        low = NEG_INF if bottom == POS_INF else form.constant - bottom
        high = POS_INF if top == POS_INF else form.constant + top
        return add_bounds((low, high), _others(form, analyzer, (key, *numbers)))
    return NEG_INF, POS_INF


def _others(form: LinearForm, analyzer: Knowledge, without: tuple[int, ...]) -> Bound:
    total: Bound = (0, 0)
    for key, count in form.counts.items():
        if count and key not in without:
            total = add_bounds(total, mul_bounds(analyzer.bounds.of(form.atoms[key]),
                                                 (count, count)))  # fmt: skip
    return total
