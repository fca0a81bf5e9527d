"""Symbolic extents: are two the same, and how are they written plainly.

Extents are mostly polynomials over shape variables (`n * 4 + 2`, `n * m`), and comparing these
needs no analyzer: both are brought to a sum of monomials. Only what that leaves open goes to
`tvm.arith`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.expr import INT64, IntImm
from tvm.tir.functor import expr_children
from tvm.tir.op.arith import add, multiply

# A monomial is a sorted tuple of atoms; a polynomial maps monomials to coefficients.
Atom = tuple[Any, ...]
Monomial = tuple[Atom, ...]
Polynomial = dict[Monomial, int]
MAX_TERMS: Final = 256  # beyond this, multiplying out costs more than asking the analyzer


def same_extent(a: PrimExpr, b: PrimExpr, analyzer: Analyzer | None = None) -> bool | None:
    """True when a == b always, False when a - b is another constant, None when not known."""
    if a is b:
        return True
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        return a.value == b.value
    try:
        difference = _subtract(_polynomial(a), _polynomial(b))
    except _TooLargeError:
        difference = {(): 1, (("?",),): 1}
    if not difference:
        return True
    if len(difference) == 1 and () in difference:
        return False
    if all(_is_plain(monomial) for monomial in difference):
        return None  # a polynomial over variables: the analyzer knows no more
    ask = Analyzer() if analyzer is None else analyzer
    return True if ask.can_prove_equal(a, b) else None


def same_shape(
    a: Sequence[PrimExpr], b: Sequence[PrimExpr], analyzer: Analyzer | None = None
) -> bool | None:
    """The same question for shapes: False as soon as one extent differs for sure."""
    if len(a) != len(b):
        return False
    result: bool | None = True
    for x, y in zip(a, b):
        found = same_extent(x, y, analyzer)
        if found is False:
            return False
        if found is None:
            result = None
    return result


def product(values: Sequence[PrimExpr]) -> PrimExpr:
    """The product of all extents; 1 for none."""
    number = 1  # literals are multiplied as plain numbers: folding each costs ten times more
    result: PrimExpr | None = None
    for value in values:
        if isinstance(value, IntImm):
            number *= value.value
        else:
            result = value if result is None else multiply(result, value)
    if result is None or number == 0:
        return IntImm(INT64, number)
    return result if number == 1 else multiply(result, IntImm(INT64, number))


def product_in_order(values: Sequence[PrimExpr]) -> PrimExpr:
    """As `product`, written as extents stand: (n, 2, m) gives n * 2 * m."""
    return reduce(multiply, values) if values else IntImm(INT64, 1)


def total_in_order(values: Sequence[PrimExpr]) -> PrimExpr:
    """The sum as extents stand; that of n equal ones is n of them."""
    first, *rest = values
    if rest and all(structural_equal(first, value) for value in rest):
        return multiply(first, IntImm(INT64, len(values)))
    return reduce(add, values)


def simplify(expr: PrimExpr, analyzer: Analyzer | None = None) -> PrimExpr:
    """The extent in its plainest form."""
    if isinstance(expr, (IntImm, e.Var)):
        return expr
    return (Analyzer() if analyzer is None else analyzer).simplify(expr)


class _TooLargeError(Exception):
    """A polynomial grew beyond MAX_TERMS."""


def _is_plain(monomial: Monomial) -> bool:
    return all(atom[0] == "var" for atom in monomial)


def _subtract(a: Polynomial, b: Polynomial) -> Polynomial:
    result = dict(a)
    for monomial, factor in b.items():
        left = result.get(monomial, 0) - factor
        if left:
            result[monomial] = left
        else:
            result.pop(monomial, None)
    return result


def _multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > MAX_TERMS:
        raise _TooLargeError
    result: Polynomial = {}
    for m, x in a.items():
        for n, y in b.items():
            key = tuple(sorted(m + n, key=_atom_order))
            total = result.get(key, 0) + x * y
            if total:
                result[key] = total
            else:
                result.pop(key, None)
    return result


def _atom_order(atom: Atom) -> str:
    return repr(atom)


def _polynomial(expr: PrimExpr) -> Polynomial:
    """The expression multiplied out; sums are walked with a stack, so long ones are fine."""
    result: Polynomial = {}
    stack: list[tuple[PrimExpr, int]] = [(expr, 1)]
    while stack:
        node, sign = stack.pop()
        if isinstance(node, e.Add):
            stack.extend([(node.a, sign), (node.b, sign)])
            continue
        if isinstance(node, e.Sub):
            stack.extend([(node.a, sign), (node.b, -sign)])
            continue
        term = _term(node)
        result = _subtract(result, {m: -sign * factor for m, factor in term.items()})
        if len(result) > MAX_TERMS:
            raise _TooLargeError
    return result


def _term(node: PrimExpr) -> Polynomial:
    if isinstance(node, IntImm):
        return {(): node.value} if node.value else {}
    if isinstance(node, e.Var):
        return {(_variable(node),): 1}
    if isinstance(node, e.Mul):
        return _multiply(_polynomial(node.a), _polynomial(node.b))
    if isinstance(node, e.Cast) and _widens(node.value.dtype, node.dtype):
        return _polynomial(node.value)
    return {(_atom(node),): 1}


def _widens(source: DataType, target: DataType) -> bool:
    return source.is_int and target.is_int and source.bits <= target.bits


def _variable(var: e.Var) -> Atom:
    # the identity is only compared within one question, while both sides are alive
    return ("var", id(var))


def _atom(node: PrimExpr) -> Atom:
    """A key that equal non-polynomial expressions share."""
    if isinstance(node, e.Call):
        name = getattr(node.op, "name", None) or getattr(node.op, "name_hint", "")
        head: Atom = ("call", str(name))
    else:
        head = (type(node).__name__, str(node.dtype))
    parts = []
    for child in expr_children(node):
        poly = _polynomial(child)
        parts.append(tuple(sorted(poly.items(), key=repr)))
    extra = (node.value,) if isinstance(node, (e.FloatImm, e.StringImm)) else ()
    return (*head, *parts, *extra)
