"""A buffer marked as rolling keeps one window, and what it holds already is not stored again.

    for i in range(2):                               with T.realize(B[0:6]):
        with T.realize(B[i * 4 : i * 4 + 6]):            for i in range(2):
            T.attr(B, "rolling_buffer_scope", True)          for j in range(6):
            for j in range(6):                  ->               if T.likely(i < 1 or j >= 2):
                B[i * 4 + j] = f(i * 4 + j)                          B[(i * 4 + j) % 6] = f(...)
            for k in range(4):                               for k in range(4):
                C[...] = B[i * 4 + k] + ...                      C[...] = B[(i * 4 + k) % 6] + ...

The window rolls along the outermost loop of which two iterations share a part of it; where there is
none, the buffer stays as it is. The marks are gone afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, substitute
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

from .pass_form import tir_pass
from .rolling_window import moving_window

MARK = "rolling_buffer_scope"


@tir_pass("tir.InjectRollingBuffer")
def InjectRollingBuffer(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No buffer is marked as rolling afterwards."""
    marked = {
        node.node
        for node in statements(func.body, s.AttrStmt)
        if node.attr_key == MARK and _holds(node.value)
    }
    return func.with_body(_Roller(marked).visit_stmt(func.body))


def _holds(value: object) -> bool:
    return not (isinstance(value, e.IntImm) and value.value == 0)


@dataclass
class _Rolling:
    """The dimension that rolls; for each dimension the loop that moves it, and the overlap."""

    axis: int
    extent: PrimExpr
    moves: list[tuple[e.Var | None, int]]


class _Roller(StmtExprMutator):
    def __init__(self, marked: set[object]) -> None:
        super().__init__()
        self._marked = marked
        self._loops: list[s.For] = []
        self._rolling: dict[Buffer, _Rolling] = {}
        self._around: dict[e.Var, list[s.BufferRealize]] = {}  # realized around that loop

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        return self.visit_stmt(op.body) if op.attr_key == MARK else super().visit_attr_stmt_(op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        self._loops.append(op)
        new = super().visit_for_(op)
        self._loops.pop()
        for realize in self._around.pop(op.loop_var, []):
            new = s.BufferRealize(
                realize.buffer, realize.bounds, realize.condition, new, realize.span
            )
        return new

    def visit_buffer_realize_(self, op: s.BufferRealize) -> s.Stmt:
        found = self._window(op) if op.buffer in self._marked else None
        if found is None:
            return super().visit_buffer_realize_(op)
        loop, rolling = found
        self._rolling[op.buffer] = rolling
        whole = [Range.from_min_extent(0, extent) for extent in op.buffer.shape]
        whole[rolling.axis] = Range.from_min_extent(0, rolling.extent)
        outer = s.BufferRealize(op.buffer, whole, op.condition, op.body, op.span)
        self._around.setdefault(loop.loop_var, []).append(outer)
        body = self.visit_stmt(op.body)
        del self._rolling[op.buffer]
        return body

    def _window(self, op: s.BufferRealize) -> tuple[s.For, _Rolling] | None:
        moves = [moving_window(part.min, part.extent) for part in op.bounds]
        for number, loop in enumerate(self._loops):
            for axis, (var, overlap) in enumerate(moves):
                if var is loop.loop_var and overlap > 0:
                    inner = self._loops[number:]
                    if any(one.kind not in (s.ForKind.SERIAL, s.ForKind.UNROLLED) for one in inner):
                        return None  # iterations at the same time cannot use what one left
                    return loop, _Rolling(axis, op.bounds[axis].extent, moves)
        return None

    def _folded(self, rolling: _Rolling, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        axis = rolling.axis
        slot = ops.floormod(indices[axis], rolling.extent)
        return [*indices[:axis], slot, *indices[axis + 1 :]]

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        rolling = self._rolling.get(op.buffer)
        if rolling is None:
            return super().visit_buffer_load_(op)
        indices = self._folded(rolling, self.visit_exprs(op.indices))
        return e.BufferLoad(op.buffer, indices, op.predicate, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        rolling = self._rolling.get(op.buffer)
        if rolling is None:
            return super().visit_buffer_store_(op)
        indices = self.visit_exprs(op.indices)
        stmt: s.Stmt = s.BufferStore(
            op.buffer, self.visit_expr(op.value), self._folded(rolling, indices), op.predicate,
            op.span,
        )  # fmt: skip
        analyzer = Analyzer()
        for index, (var, overlap) in reversed(list(zip(indices, rolling.moves))):
            if var is None or overlap <= 0:
                continue
            zero = ops.const(0, var.dtype)
            first = analyzer.simplify(substitute(index, {var: zero}))
            unseen = ops.greater_equal(first, ops.const(overlap, first.dtype))
            fresh = ops.logical_or(ops.less(var, ops.const(1, var.dtype)), unseen)
            stmt = s.IfThenElse(builtin.likely(fresh), stmt, None, op.span)
        return stmt
