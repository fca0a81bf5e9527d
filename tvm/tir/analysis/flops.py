"""How many arithmetic operations a program performs."""

from __future__ import annotations

from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.arith.const_int_bound import POS_INF
from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import stmt_children

_COUNTED: Final = (e.BinaryOpExpr, e.CmpExpr, e.And, e.Or)


def estimate_tir_flops(stmt_or_mod: s.Stmt | IRModule) -> float:
    """The operations on values that a statement or all functions of a module perform.

    Index arithmetic is free. Of two branches the dearer one counts; a loop counts its extent, or
    the largest value that a symbolic extent may have. A function of a module may tell its own
    count in the attribute `estimated_flops`.
    """
    counter = _Counter()
    if isinstance(stmt_or_mod, IRModule):
        funcs = [f for f in stmt_or_mod.functions.values() if isinstance(f, PrimFunc)]
        return float(sum([counter.func(func) for func in funcs]))
    return float(counter.stmt(stmt_or_mod))


class _Counter:
    def __init__(self) -> None:
        self._analyzer: Final = Analyzer()

    def func(self, func: PrimFunc) -> int:
        """The operations of a function, as it tells them or as its body has them."""
        told = func.attrs.get("estimated_flops")
        if isinstance(told, e.IntImm):
            return told.value
        return told if isinstance(told, int) else self.stmt(func.body)

    def stmt(self, stmt: s.Stmt) -> int:
        """The operations of a statement."""
        if isinstance(stmt, s.BufferStore):
            return self.expr(stmt.value)
        if isinstance(stmt, s.For):
            trips = self._trips(stmt)
            self._analyzer.bind(
                stmt.loop_var, Range.from_min_extent(stmt.min, stmt.extent), allow_override=True
            )
            return trips * self.stmt(stmt.body)
        if isinstance(stmt, s.IfThenElse):
            other = 0 if stmt.else_case is None else self.stmt(stmt.else_case)
            return self.expr(stmt.condition) + max(self.stmt(stmt.then_case), other)
        if isinstance(stmt, s.BlockRealize):
            return self._block(stmt.block)
        if isinstance(stmt, s.Block):
            return self._block(stmt)
        if isinstance(stmt, s.LetStmt):
            return self.expr(stmt.value) + self.stmt(stmt.body)
        if isinstance(stmt, s.Evaluate):
            return self.expr(stmt.value)
        return sum([self.stmt(child) for child in stmt_children(stmt) if isinstance(child, s.Stmt)])

    def _block(self, block: s.Block) -> int:
        for axis in block.iter_vars:
            if isinstance(axis.dom, Range):
                self._analyzer.bind(axis.var, axis.dom, allow_override=True)
        init = 0 if block.init is None else self.stmt(block.init)
        return init + self.stmt(block.body)

    def _trips(self, loop: s.For) -> int:
        high = self._analyzer.bounds.of(loop.extent)[1]
        if high == POS_INF or (high == 0x7FFFFFFF and not isinstance(loop.extent, e.IntImm)):
            raise CheckError(
                f"estimate_tir_flops: the extent of loop {loop.loop_var.name} is {loop.extent}; "
                "legal: extents with a known upper bound"
            )
        return max(high, 0)

    def expr(self, expr: PrimExpr) -> int:
        """The operations of an expression; its own loads are free."""
        total, stack = 0, [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, _COUNTED):
                total += 1
                stack.extend((node.a, node.b))
            elif isinstance(node, e.Not):
                total += 1
                stack.append(node.a)
            elif isinstance(node, e.Select):
                dearer = max(self.expr(node.true_value), self.expr(node.false_value))
                total += 1 + dearer
                stack.append(node.condition)
            elif isinstance(node, e.Cast):
                total += 1
                stack.append(node.value)
            elif isinstance(node, e.Call):
                stack.extend([arg for arg in node.args if isinstance(arg, PrimExpr)])
            elif isinstance(node, e.Let):
                stack.extend((node.value, node.body))
        return total
