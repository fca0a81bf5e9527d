"""Checks of integer expressions: by proof, and by trying all values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from tvm.arith import Analyzer
from tvm.arith.int_solver import IntConstraintsTransform
from tvm.error import TVMError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.expr import Var, as_expr
from tvm.tir.functor import substitute
from tvm.tir.interp import evaluate


def assert_prim_expr_equal(lhs: PrimExpr, rhs: PrimExpr) -> None:
    """Fail unless the two expressions are proved to be equal."""
    if not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not equal")


def check_bool_expr_is_true(
    bool_expr: PrimExpr, vranges: Mapping[Var, Range], cond: PrimExpr | None = None
) -> None:
    """Fail unless the expression holds for all values in the ranges for which `cond` holds."""
    _check_all([as_expr(bool_expr)], vranges, [] if cond is None else [as_expr(cond)])


def _check_all(
    claims: Sequence[PrimExpr], vranges: Mapping[Var, Range], conditions: Sequence[PrimExpr]
) -> None:
    domains = [_values(r) for r in vranges.values()]
    for point in product(*domains):
        values: dict[Var, Any] = dict(zip(vranges, point))
        if not all([evaluate(substitute(c, values)) for c in conditions]):
            continue
        for claim in claims:
            if not evaluate(substitute(claim, values)):
                given = ", ".join([f"{var.name} = {value}" for var, value in values.items()])
                raise AssertionError(f"{claim} does not hold for {given}")


def _values(domain: Range) -> range:
    start, extent = int(evaluate(domain.min)), int(evaluate(domain.extent))
    return range(start, start + extent)


def check_int_constraints_trans_consistency(
    constraints_trans: IntConstraintsTransform, vranges: Mapping[Var, Range] | None = None
) -> None:
    """Fail unless each solution on one side of the transform stands for one on the other side.

    The variables of both sides need ranges of literals; `vranges` gives those of further ones.
    """
    given = dict(vranges or {})
    src, dst = constraints_trans.src, constraints_trans.dst
    to_dst, to_src = constraints_trans.src_to_dst, constraints_trans.dst_to_src
    for here, there, forth, back in ((src, dst, to_dst, to_src), (dst, src, to_src, to_dst)):
        ranges = {**given, **{v: here.ranges[v] for v in here.variables if v in here.ranges}}
        missing = [v.name for v in here.variables if v not in ranges]
        if missing:
            raise TVMError(
                message(
                    "check a transform of constraints",
                    found=f"no range for {', '.join(missing)}",
                    legal="ranges of literals, in the transform or in vranges",
                )
            )
        claims = [substitute(relation, dict(back)) for relation in there.relations]
        for var, dom in there.ranges.items():
            low = substitute(dom.min, dict(back))
            high = substitute(dom.min + dom.extent, dict(back))
            claims += [back[var] >= low, back[var] < high]
        claims += [substitute(forth[var], dict(back)).equal(var) for var in here.variables]
        _check_all(claims, ranges, here.relations)
