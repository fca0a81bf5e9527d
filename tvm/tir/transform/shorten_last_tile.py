"""Tiles with few rows left compute few rows.

    for t in range((m + 5) // 6, annotations={"tile_rows": 6}):
        for i in T.unroll(6, annotations={"row_of_tile": 1}): acc[i] = ...
        for i in T.unroll(6, annotations={"row_of_tile": 1}):
            if t * 6 + i < m: C[t * 6 + i] = acc[i]
    ->
    for t in range((m + 5) // 6):
        if m - t * 6 > 4: ...                           # as before; of four rows or fewer, and
        # wherever that says that all rows are there, without conditions, and indices as they are
        elif m - t * 6 > 2: for i in T.unroll(4): ...
        elif m - t * 6 > 1: for i in T.unroll(2): ...
        else: for i in T.unroll(1): ...

Rows past the end are computed in vain. Where a program does not know how many there are, one is
as likely as six: that of the one input that most calls have. The condition of what is stored says
where the end is; without one all tiles are whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from tvm.arith import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, substitute, walk
from tvm.tir.op import arith as ops
from tvm.tir.op.forms import conjuncts
from tvm.tir.renew_defs import DefRenewer

from .pass_form import tir_pass

TILE_ROWS: Final = "tile_rows"  # annotation of a loop over tiles: rows of each
ROW: Final = "row_of_tile"  # annotation of a loop over the rows of one
FEW: Final = 4  # rows of tiles that are worth code of their own for where all are there


@tir_pass("tir.ShortenLastTile")
def ShortenLastTile(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No loop has the annotations; where they were, rows past the end are hardly computed."""
    return func.with_body(_Shortener().visit_stmt(func.body))


class _Shortener(StmtExprMutator):
    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        told = op.annotations.get(TILE_ROWS)
        if told is None:
            return super().visit_for_(op)
        rows = int(str(told))
        end, body = _end_of_rows(op, rows), _Rows(None).visit_stmt(op.body)
        if end is not None:
            left = end.left
            powers = [1 << power for power in range((rows - 1).bit_length())]
            tails = [DefRenewer().visit_stmt(_Rows(count).visit_stmt(op.body)) for count in powers]
            whole, says_all = _Whole(end).visit_stmt(op.body), powers[-1:] == [rows - 1]
            if not says_all and rows <= FEW:
                tails.append(DefRenewer().visit_stmt(body))
                powers, body = [*powers, rows - 1], whole
            elif says_all:
                body = whole
            short = tails[0]
            for fewer, larger in zip(powers, [*tails[1:], body]):
                short = s.IfThenElse(ops.less(ops.const(fewer, left.dtype), left), larger, short)
            body = short
        notes = {key: value for key, value in op.annotations.items() if key != TILE_ROWS}
        return s.For(op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding, notes,
                     op.span)  # fmt: skip


class _Rows(StmtExprMutator):
    """Lets the loops over rows of a tile have so many rows; all, for None."""

    def __init__(self, count: int | None) -> None:
        super().__init__()
        self._count = count

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        if ROW not in op.annotations:
            return super().visit_for_(op)
        notes = {key: value for key, value in op.annotations.items() if key != ROW}
        extent = op.extent
        if self._count is not None:
            extent = ops.const(self._count, op.loop_var.dtype)
        return s.For(op.loop_var, op.min, extent, op.kind, self.visit_stmt(op.body),
                     op.thread_binding, notes, op.span)  # fmt: skip


@dataclass(frozen=True)
class _End:
    """tile * rows + row < limit, as the condition of what is stored says."""

    term: e.LT
    row: e.Var
    left: PrimExpr  # rows from the first of a tile on


class _Whole(StmtExprMutator):
    """A tile all of whose rows are there: its conditions hold, and no row is read again."""

    def __init__(self, end: _End) -> None:
        super().__init__()
        self._end, self._row = end, end.row

    def visit_for_(self, op: s.For) -> s.Stmt:
        if ROW not in op.annotations:
            return super().visit_for_(op)
        outer, self._row = self._row, op.loop_var
        body = self.visit_stmt(op.body)
        self._row = outer
        notes = {key: value for key, value in op.annotations.items() if key != ROW}
        return s.For(op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding, notes,
                     op.span)  # fmt: skip

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        if op.else_case is not None:
            return super().visit_if_then_else_(op)
        terms = [term for term in conjuncts(op.condition) if not self._holds(term)]
        then = self.visit_stmt(op.then_case)
        if not terms:
            return then
        return s.IfThenElse(reduce(ops.logical_and, terms), then, None, op.span)

    def visit_min_(self, op: e.Min) -> PrimExpr:
        return op.a if self._below(op.a, op.b, 1) else super().visit_min_(op)

    def _holds(self, term: PrimExpr) -> bool:
        return isinstance(term, e.LT) and self._below(term.a, term.b, 0)

    def _below(self, a: PrimExpr, b: PrimExpr, most: int) -> bool:
        """Whether a - b is tile * rows + row - limit, or up to `most` more."""
        if self._row not in set(walk(a)):
            return False
        own = substitute(ops.subtract(a, b), {self._row: self._end.row})
        known = ops.subtract(self._end.term.a, self._end.term.b)
        more = Analyzer().simplify(ops.subtract(own, known))
        return isinstance(more, e.IntImm) and more.value <= most


def _end_of_rows(tiles: s.For, rows: int) -> _End | None:
    """Where the rows end, as a condition of a store tells."""
    for loop in statements(tiles.body, s.For):
        if ROW not in loop.annotations:
            continue
        for node in statements(loop.body, s.IfThenElse):
            for term in conjuncts(node.condition) if node.else_case is None else ():
                left = _limit(term, tiles.loop_var, loop.loop_var, rows)
                if left is not None and isinstance(term, e.LT):
                    return _End(term, loop.loop_var, left)
    return None


def _limit(term: PrimExpr, tile: e.Var, row: e.Var, rows: int) -> PrimExpr | None:
    """limit - tile * rows, if the term is tile * rows + row < limit."""
    if not isinstance(term, e.LT) or not {tile, row} <= set(walk(term)):
        return None
    found = linear_equation(ops.subtract(term.a, term.b), [tile, row])
    if not found or not all(isinstance(scale, e.IntImm) for scale in found[:-1]):
        return None
    scales = [scale.value for scale in found[:-1] if isinstance(scale, e.IntImm)]
    if scales != [rows, 1] or any(isinstance(node, e.BufferLoad) for node in walk(found[-1])):
        return None
    done = ops.add(ops.multiply(tile, ops.const(rows, tile.dtype)), found[-1])
    return Analyzer().simplify(ops.subtract(ops.const(0, done.dtype), done))
