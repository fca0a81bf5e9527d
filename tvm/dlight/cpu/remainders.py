"""Remainders of a place by the number of all places are the place, and are dropped.

    for v in range(b * n): x[v % (n * b) // n, v % n]   ->   x[v // n, v % n]

`transform_block_layout` leaves them where factors stand in another order, as v0.22 does; each
costs a division of 64 bits an element.
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import FloorMod, IntImm, Min, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op.arith import is_zero
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import Block, Stmt


def without_whole_remainders(sch: Schedule) -> Schedule:
    """The schedule, or one of the function without them if there are any."""
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc), "rules schedule TIR functions"
    if not any(_is_open(node) for node in walk(func.body)):
        return sch
    body = _Dropped().visit_stmt(func.body)
    return sch if body is func.body else open_schedule(func.with_body(body))


def _is_open(node: object) -> bool:
    return isinstance(node, FloorMod) and not isinstance(node.b, IntImm)


class _Dropped(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._extents: dict[Var, PrimExpr] = {}  # of variables of blocks, from 0 on
        self._analyzer = Analyzer()

    def visit_block_(self, op: Block) -> Stmt:
        for iv in op.iter_vars:
            if iv.dom is not None and is_zero(iv.dom.min):
                self._extents[iv.var] = iv.dom.extent
        return super().visit_block_(op)

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        if _is_open(op) and self._is_whole(op.a, op.b):
            return self.visit_expr(op.a)
        return super().visit_floor_mod_(op)

    def _is_whole(self, place: PrimExpr, count: PrimExpr) -> bool:
        """Whether it is a place of so many; where there are none no block runs."""
        if isinstance(place, Var):
            extent = self._extents.get(place)
            return extent is not None and self._same(extent, count)
        # past the end the last place is read again
        if isinstance(place, Min) and isinstance(place.a, Var) and place.a in self._extents:
            return self._same(place.b + 1, count)
        return False

    def _same(self, a: PrimExpr, b: PrimExpr) -> bool:
        return bool(a.dtype == b.dtype) and self._analyzer.can_prove_equal(a, b)
