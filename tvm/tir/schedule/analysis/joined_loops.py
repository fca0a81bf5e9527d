"""Loops that were made of one loop are that loop again, whatever its pieces are.

    (io * 256 + ii) // 40, (io * 256 + ii) % 40      ->      f // 40, f % 40

An affine map of `io` and `ii` it is not, as 40 and 256 have no common digits; of `f` it is. A
remainder may have lost what it does not see: (io * 16 + ii) % 40 is f % 40 as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.expr import Add, FloorMod, IntImm, Var
from tvm.tir.functor import StmtExprMutator, vars_in, walk
from tvm.tir.op.arith import floormod, subtract
from tvm.tir.op.forms import terms_of

from .interval import linear_terms

Ranges = Mapping[Var, Range]


def joined(
    exprs: Sequence[PrimExpr], ranges: Ranges, analyzer: Analyzer
) -> tuple[list[PrimExpr], dict[Var, Range]] | None:
    """The expressions over the loop that some of theirs are pieces of; None if there is none."""
    for one in exprs:
        for node in walk(one):
            if not isinstance(node, Add):
                continue
            found = _whole(node, ranges)
            if found is None:
                continue
            pieces, extent = found
            whole = Var("fused", node.dtype)
            replacer = _Replacer(node, whole, analyzer)
            new = [replacer.visit_expr(expr) for expr in exprs]
            if not any(isinstance(n, Var) and n in pieces for expr in new for n in walk(expr)):
                begin = IntImm(node.dtype, 0)
                others = {var: rng for var, rng in ranges.items() if var not in pieces}
                one_loop = Range.from_min_extent(begin, IntImm(node.dtype, extent))
                return new, {**others, whole: one_loop}
    return None


def _whole(node: Add, ranges: Ranges) -> tuple[set[Var], int] | None:
    """The loops of a sum and the number of values that it takes, each once, from 0 on."""
    terms = linear_terms(node, ranges)
    if terms is None or len(terms) < 2:
        return None
    if any(isinstance(n, IntImm) and n.value < 0 for n in walk(node)):
        return None
    reach = 1
    for var, scale in sorted(terms.items(), key=lambda item: item[1]):
        rng = ranges[var]
        if scale != reach or not isinstance(rng.extent, IntImm) or not (
            isinstance(rng.min, IntImm) and rng.min.value == 0
        ):  # fmt: skip
            return None
        reach *= rng.extent.value
    others = [n for n in vars_in(node) if n not in ranges]
    return None if others or _offset(node) else (set(terms), reach)


def _offset(node: PrimExpr) -> bool:
    """A constant term."""
    return any(isinstance(one, IntImm) for one in terms_of(node, Add))


class _Replacer(StmtExprMutator):
    """Replaces a sum by a variable."""

    def __init__(self, old: PrimExpr, new: Var, analyzer: Analyzer) -> None:
        super().__init__()
        self._old, self._new, self._analyzer = old, new, analyzer

    def visit_add_(self, op: Add) -> PrimExpr:
        if op is self._old or self._analyzer.can_prove_equal(op, self._old):
            return self._new
        return super().visit_add_(op)

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        if op.a is not self._old and isinstance(op.a, (Add, Var)) and isinstance(op.b, IntImm):
            apart = floormod(subtract(op.a, self._old), op.b)
            if self._analyzer.can_prove_equal(apart, IntImm(op.dtype, 0)):
                return FloorMod(self._new, op.b)
        return super().visit_floor_mod_(op)
