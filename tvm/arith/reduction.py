"""Reductions simplified: the source where the axes run, the combiner, and only the parts in use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir.functor import substitute, walk

if TYPE_CHECKING:
    from .analyzer import Analyzer

Visit = Callable[[PrimExpr], PrimExpr]


def reduced(analyzer: Analyzer, expr: e.Reduce, visit: Visit) -> PrimExpr:
    """The reduction with its parts simplified by `visit`; over no axis, its one value."""
    for axis in expr.axis:
        if isinstance(axis.dom, Range):
            analyzer.bind(axis.var, axis.dom, allow_override=True)
    if not expr.axis:
        return visit(_single_value(expr))
    condition = visit(expr.condition)
    used = _parts_used(expr.combiner, expr.value_index)
    combiner = _combiner(expr.combiner, used, visit)
    if isinstance(condition, e.IntImm):
        source = _visited([expr.source[i] for i in used], visit)
    else:
        with analyzer.constraint_scope(condition):
            source = _visited([expr.source[i] for i in used], visit)
    init = _visited([expr.init[i] for i in used], visit) if expr.init else ()
    which = used.index(expr.value_index)
    same = (
        combiner is expr.combiner
        and condition is expr.condition
        and _alike(source, expr.source)
        and _alike(init, expr.init)
    )
    if same:
        return expr
    return e.Reduce(combiner, source, expr.axis, condition, which, init, expr.span)


def _visited(exprs: Sequence[PrimExpr], visit: Visit) -> tuple[PrimExpr, ...]:
    return tuple([visit(one) for one in exprs])


def _alike(new: Sequence[object], old: Sequence[object]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old))


def _parts_used(combiner: e.CommReducer, which: int) -> list[int]:
    """The parts of a tuple that one of them is made of, by way of the others."""
    owners = {var: i for side in (combiner.lhs, combiner.rhs) for i, var in enumerate(side)}
    used = {which}
    open_parts = [which]
    while open_parts:
        for node in walk(combiner.result[open_parts.pop()]):
            part = owners.get(node) if isinstance(node, e.Var) else None
            if part is not None and part not in used:
                used.add(part)
                open_parts.append(part)
    return sorted(used)


def _combiner(combiner: e.CommReducer, used: list[int], visit: Visit) -> e.CommReducer:
    """The parts in use of a combiner, simplified."""
    result = _visited([combiner.result[i] for i in used], visit)
    identity = _visited([combiner.identity_element[i] for i in used], visit)
    if _alike(result, combiner.result) and _alike(identity, combiner.identity_element):
        return combiner
    lhs, rhs = [combiner.lhs[i] for i in used], [combiner.rhs[i] for i in used]
    return e.CommReducer(lhs, rhs, result, identity, combiner.span)


def _single_value(expr: e.Reduce) -> PrimExpr:
    """A reduction over nothing: its one source, or what is there before."""
    combiner, which = expr.combiner, expr.value_index
    before = expr.init or combiner.identity_element
    value = expr.source[which]
    if expr.init:
        names = {**dict(zip(combiner.lhs, expr.init)), **dict(zip(combiner.rhs, expr.source))}
        value = substitute(combiner.result[which], names)
    if isinstance(expr.condition, e.IntImm):
        return value if expr.condition.value else before[which]
    return e.Select(expr.condition, value, before[which], expr.span)
