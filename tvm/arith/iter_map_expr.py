"""Iteration maps as ordinary expressions and as text, and the error of what is no map."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.support.compiled import mypyc_attr
from tvm.tir import expr as e
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .deep_equal import deep_equal
from .iter_map_nodes import IterSplitExpr, IterSumExpr


@mypyc_attr(native_class=False)
class IterMapFailure(Exception):
    """The expressions are no iteration map; the text says why."""


def normalize_iter_map_to_expr(expr: PrimExpr) -> PrimExpr:
    """An iteration map as an ordinary expression."""
    if isinstance(expr, IterSumExpr):
        return _sum_to_expr(expr)
    if isinstance(expr, IterSplitExpr):
        return _split_to_expr(expr)
    return expr


def _sum_to_expr(made: IterSumExpr) -> PrimExpr:
    total: PrimExpr | None = None
    for arg in made.args:
        part = _split_to_expr(arg)
        total = part if total is None else op.add(total, part)
    return made.base if total is None else op.add(total, made.base)


def _split_to_expr(split: IterSplitExpr) -> PrimExpr:
    """scale * ((source // lower) % extent), without the parts that do nothing."""
    value = normalize_iter_map_to_expr(split.source.source)
    full = op.multiply(split.lower_factor, split.extent)
    if not _surely_equal(full, split.source.extent):
        value = op.floormod(value, full)
    value = op.floordiv(value, split.lower_factor)
    return op.multiply(value, split.scale)


def _surely_equal(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, e.IntImm) and isinstance(b, e.IntImm):
        return a.value == b.value
    b = op.cast(b, a.dtype)
    # m * n for n * m is not told: the remainder stays, as it does in the programs of others
    return deep_equal(a, b) or Analyzer().can_prove(op.equal(a, b))


def as_text(expr: PrimExpr) -> str:
    """The expression as text for a message."""
    return str(normalize_iter_map_to_expr(expr))
