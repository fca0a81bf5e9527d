"""`stop - start` of slices, which mostly are `x : x + n` for some x."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import OPERATORS, PrimExpr
from tvm.tir import expr as e


def difference(stop: PrimExpr, start: PrimExpr) -> PrimExpr:
    """The simplest expression known for `stop - start`."""
    if isinstance(start, e.IntImm):
        if start.value == 0:
            return stop
        if isinstance(stop, e.IntImm):
            return e.IntImm(stop.dtype, stop.value - start.value)
    terms: dict[Hashable, list[Any]] = {}
    _collect(stop, 1, terms)
    _collect(start, -1, terms)
    left = [(factor, term) for factor, term in terms.values() if factor]
    if not left:
        return e.IntImm(stop.dtype, 0)
    if len(left) == 1:
        factor, term = left[0]
        if term is None:
            return e.IntImm(stop.dtype, factor)
        if factor == 1:
            return term  # type: ignore[no-any-return]
    return Analyzer().simplify(OPERATORS["tir"]["subtract"](stop, start))


def _collect(expr: PrimExpr, sign: int, terms: dict[Hashable, list[Any]]) -> None:
    """Add the summands of `expr` to the terms; the literal part has the key None."""
    stack: list[tuple[PrimExpr, int]] = [(expr, sign)]
    while stack:
        part, factor = stack.pop()
        if isinstance(part, e.Add):
            stack.extend(((part.a, factor), (part.b, factor)))
        elif isinstance(part, e.Sub):
            stack.extend(((part.a, factor), (part.b, -factor)))
        elif isinstance(part, e.IntImm):
            _count(None, None, factor * part.value, terms)
        elif isinstance(part, e.Mul) and isinstance(part.b, e.IntImm) and part.b.value:
            # the whole product counts as one term, so that `n * 4` is found again as written
            _count(_key(part), part, factor, terms)
        else:
            _count(_key(part), part, factor, terms)


def _count(key: Hashable, term: PrimExpr | None, by: int, terms: dict[Hashable, list[Any]]) -> None:
    found = terms.get(key)
    if found is None:
        terms[key] = [by, term]
    else:
        found[0] += by
        if by > 0:
            found[1] = term


def _key(expr: PrimExpr) -> Hashable:
    """Equal for expressions that are written alike over the same variables."""
    if isinstance(expr, e.IntImm):
        return (expr.value, str(expr.dtype))
    if isinstance(expr, (e.BinaryOpExpr, e.CmpExpr)):
        return (type(expr).__name__, _key(expr.a), _key(expr.b))
    if isinstance(expr, e.Cast):
        return ("Cast", str(expr.dtype), _key(expr.value))
    if isinstance(expr, e.BufferLoad):
        return ("Load", id(expr.buffer), *[_key(index) for index in expr.indices])
    if isinstance(expr, e.Call):
        return ("Call", id(expr.op), *[_key(arg) for arg in expr.args])
    return id(expr)
