"""How many arithmetic operations a program performs."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.interval import POS_INF
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import stmt_children

_COUNTED: Final = e.BinaryOpExpr  # + - * / % // and their kin, min, max
Counts = Counter[Any]  # by kinds


@explained
def estimate_tir_flops(stmt_or_mod: s.Stmt | IRModule) -> float:
    """The operations on values that a statement or all functions of a module perform.

    Indices and comparisons are free. Of two branches the dearer one counts, for each data type by
    itself; a loop counts its extent, or the largest value that a symbolic extent may have (for an
    open `int32` 2**31 - 1), or once where nothing bounds it. A function of a module may tell its
    own count in the attribute `estimated_flops`.
    """
    counter = FlopCounter()
    if isinstance(stmt_or_mod, IRModule):
        funcs = [f for f in stmt_or_mod.functions.values() if isinstance(f, PrimFunc)]
        return float(sum([counter.func(func) for func in funcs]))
    if not isinstance(stmt_or_mod, s.Stmt):
        raise TypeError(
            f"estimate_tir_flops: found a {type(stmt_or_mod).__name__}; legal: Stmt, IRModule"
        )
    return float(counter.stmt(stmt_or_mod).total())


class FlopCounter:
    """Counts operations by kinds, which are data types unless a subclass has others."""

    def __init__(self) -> None:
        self._analyzer: Final = Analyzer()

    def kind_of(self, op: e.BinaryOpExpr) -> object:
        """The kind of an operation."""
        return op.dtype

    def func(self, func: PrimFunc) -> int:
        """The operations of a function, as it tells them or as its body has them."""
        told = func.attrs.get("estimated_flops")
        if isinstance(told, e.IntImm):
            return told.value
        return told if isinstance(told, int) else self.stmt(func.body).total()

    def stmt(self, stmt: s.Stmt) -> Counts:
        """The operations of a statement, by their kinds."""
        if isinstance(stmt, s.BufferStore):
            return self.expr(stmt.value)
        if isinstance(stmt, s.For):
            trips = self._trips(stmt)
            self._analyzer.bind(
                stmt.loop_var, Range.from_min_extent(stmt.min, stmt.extent), allow_override=True
            )
            return Counter({kind: trips * n for kind, n in self.stmt(stmt.body).items()})
        if isinstance(stmt, s.IfThenElse):
            other = Counter() if stmt.else_case is None else self.stmt(stmt.else_case)
            return self.expr(stmt.condition) + (self.stmt(stmt.then_case) | other)
        if isinstance(stmt, s.BlockRealize):
            return self._block(stmt.block)
        if isinstance(stmt, s.Block):
            return self._block(stmt)
        if isinstance(stmt, s.LetStmt):
            return self.expr(stmt.value) + self.stmt(stmt.body)
        return _sum([self.stmt(c) for c in stmt_children(stmt) if isinstance(c, s.Stmt)])

    def _block(self, block: s.Block) -> Counts:
        for axis in block.iter_vars:
            if isinstance(axis.dom, Range):
                self._analyzer.bind(axis.var, axis.dom, allow_override=True)
        init = Counter() if block.init is None else self.stmt(block.init)
        return init + self.stmt(block.body)

    def _trips(self, loop: s.For) -> int:
        high = self._analyzer.bounds.of(loop.extent)[1]
        return 1 if high == POS_INF else max(high, 0)

    def expr(self, expr: PrimExpr) -> Counts:
        """The operations of an expression; its own loads are free."""
        total: Counts = Counter()
        stack = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, _COUNTED):
                total[self.kind_of(node)] += 1
                stack.extend((node.a, node.b))
            elif isinstance(node, (e.And, e.Or)):
                stack.extend((node.a, node.b))
            elif isinstance(node, e.Not):
                stack.append(node.a)
            elif isinstance(node, e.Select):
                total += self.expr(node.true_value) | self.expr(node.false_value)
                stack.append(node.condition)
            elif isinstance(node, e.Cast):
                stack.append(node.value)
            elif isinstance(node, e.Call):
                stack.extend([arg for arg in node.args if isinstance(arg, PrimExpr)])
            elif isinstance(node, e.Let):
                stack.extend((node.value, node.body))
        return total


def _sum(counts: list[Counts]) -> Counts:
    total: Counts = Counter()
    for one in counts:
        total.update(one)
    return total
