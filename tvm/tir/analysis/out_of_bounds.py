"""Accesses that lie outside of their buffer, found before the program runs."""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import ScheduleError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor
from tvm.tir.op import arith as op

from .lasting_fact import lasting_fact


class OutOfBoundsError(ScheduleError, IndexError):
    """An access that is provably outside of its buffer."""


def _check_module(mod: IRModule, ctx: PassContext) -> IRModule:
    """Refuse a module with an access that is surely out of bounds; others pass unchanged."""
    faults = []
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            faults += [f"{var.name_hint}: {fault}" for fault in out_of_bounds_accesses(func)]
    if faults:
        raise OutOfBoundsError(
            message(
                "The IR has out-of-bounds accesses.",
                found="\n".join(faults),
                legal="indices in [0, extent) of their dimension",
            )
        )
    return mod


def OOBChecker() -> ModulePass:
    """A pass that raises an OutOfBoundsError for accesses that are surely out of bounds."""
    return ModulePass(_check_module, PassInfo(0, "tir.analysis.OOBChecker"))


def out_of_bounds_accesses(func: PrimFunc) -> list[str]:
    """A sentence for each access that is out of bounds for some values of the loops."""
    checker = _Checker()
    checker.visit_stmt(func.body)
    return checker.faults


class _Checker(StmtExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self._analyzer = Analyzer()

    def _check(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> None:
        for axis, (index, extent) in enumerate(zip(indices, buffer.shape)):
            low, high = self._analyzer.bounds.of(index)
            limit = self._analyzer.bounds.of(extent)[1]
            above = isinstance(extent, e.IntImm) and limit <= high < (1 << 31) - 1
            below = -(1 << 31) < low < 0
            if not above and not below and not self._surely_outside(index, extent):
                continue
            access = f"{buffer.name}[{', '.join(map(str, indices))}]"
            self.faults.append(
                f"buffer {buffer.name}, {access}: index {axis} runs over [{low}, {high}], "
                f"the extent is {extent}"
            )

    def _surely_outside(self, index: PrimExpr, extent: PrimExpr) -> bool:
        if not index.dtype.is_scalar:
            return False
        prove = self._analyzer.can_prove
        return prove(op.less(index, 0)) or prove(op.greater_equal(index, extent))

    def visit_buffer_load_(self, op: e.BufferLoad) -> None:
        self._check(op.buffer, op.indices)
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self._check(op.buffer, op.indices)
        super().visit_buffer_store_(op)

    def visit_for_(self, op: s.For) -> None:
        self._analyzer.bind(
            op.loop_var, Range.from_min_extent(op.min, op.extent), allow_override=True
        )
        super().visit_for_(op)

    def visit_block_(self, op: s.Block) -> None:
        for axis in op.iter_vars:
            if axis.dom is not None:
                self._analyzer.bind(axis.var, axis.dom, allow_override=True)
        if op.init is not None:
            self.visit_stmt(op.init)
        self.visit_stmt(op.body)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.visit_expr(op.value)
        if op.var.dtype.is_integer:
            self._analyzer.bind(op.var, op.value, allow_override=True)
        self.visit_stmt(op.body)

    def visit_if_then_else_(self, op: s.IfThenElse) -> None:
        self.visit_expr(op.condition)
        with self._analyzer.constraint_scope(lasting_fact(op.condition, op.then_case)):
            self.visit_stmt(op.then_case)
        if op.else_case is not None:
            opposite = lasting_fact(_not(op.condition), op.else_case)
            with self._analyzer.constraint_scope(opposite):
                self.visit_stmt(op.else_case)

    def visit_block_realize_(self, op: s.BlockRealize) -> None:
        self.visit_exprs(op.iter_values)
        with self._analyzer.constraint_scope(lasting_fact(op.predicate, op.block)):
            self.visit_stmt(op.block)

    def visit_call_(self, op: e.Call) -> None:
        if not e.is_call_of(op, "tir.if_then_else"):
            super().visit_call_(op)
            return
        condition = op.args[0]
        self.visit_expr(condition)
        with self._analyzer.constraint_scope(condition):
            self.visit_expr(op.args[1])
        with self._analyzer.constraint_scope(_not(condition)):
            self.visit_expr(op.args[2])


def _not(condition: PrimExpr) -> PrimExpr:
    return op.logical_not(condition)
