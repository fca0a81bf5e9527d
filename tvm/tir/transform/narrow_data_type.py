"""Index arithmetic is done in fewer bits where all values fit.

    for i in range(T.int64(1024)):            for i in range(1024):
        B[i * T.int64(4)] = A[i]       ->         B[i * 4] = A[i]

Loop variables, lets and the arithmetic on them become `target_bits` wide where the constant bounds
of every value on the way fit; what comes from elsewhere (parameters, loads) is cast where it is
used.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.scalar import int_range

from .analyzed_mutator import AnalyzedMutator
from .pass_form import tir_pass

_ARITHMETIC = (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.Div, e.Mod, e.Min, e.Max)


@tir_pass("tir.NarrowDataType")
def NarrowDataType(func: PrimFunc, mod: IRModule, ctx: PassContext, target_bits: int) -> PrimFunc:
    """Every index that provably fits has at most `target_bits` bits."""
    return func.with_body(Narrower(func, DataType(f"int{target_bits}")).visit_stmt(func.body))


class Narrower(AnalyzedMutator):
    """Rewrites indices; `visit_expr` keeps the type of an expression, `narrow` may change it."""

    def __init__(self, func: PrimFunc, target: DataType) -> None:
        super().__init__(func)
        self._target = target
        self._low, self._high = int_range(target)
        self._narrow: dict[e.Var, e.Var] = {}

    def fits(self, expr: PrimExpr) -> bool:
        """All values of `expr` are values of the target type."""
        bound = self.analyzer.const_int_bound(expr)
        return self._low <= bound.min_value and bound.max_value <= self._high

    def _wide(self, dtype: DataType) -> bool:
        return dtype.is_int and dtype.is_scalar and dtype.bits > self._target.bits

    def narrow(self, expr: PrimExpr) -> PrimExpr:
        """The expression in the target type if it fits, else in its own."""
        if not self._wide(expr.dtype) or not self.fits(expr):
            return self.visit_expr(expr)
        if isinstance(expr, e.Var) and expr in self._narrow:
            return self._narrow[expr]
        if isinstance(expr, _ARITHMETIC):
            a, b = self.narrow(expr.a), self.narrow(expr.b)
            if a.dtype is self._target and b.dtype is self._target:
                return type(expr)(a, b, expr.span)
        elif isinstance(expr, e.Cast) and expr.value.dtype.is_int:
            return ops.cast(self.narrow(expr.value), self._target, expr.span)
        return ops.cast(self.visit_expr(expr), self._target, expr.span)

    # --- where indices stand ---

    def visit_for_(self, op: s.For) -> s.Stmt:
        last = ops.add(op.min, op.extent)
        if not self._wide(op.loop_var.dtype) or not self.fits(last) or not self.fits(op.min):
            return super().visit_for_(op)
        low, extent = self.narrow(op.min), self.narrow(op.extent)
        if extent.dtype is not self._target:
            extent = ops.cast(extent, self._target)
        self.bind_range(op)
        var = e.Var(op.loop_var.name, self._target, op.loop_var.span)
        self._narrow[op.loop_var] = var
        binding = op.thread_binding
        if binding is not None:
            binding = e.IterVar(None, e.Var(binding.var.name, self._target), binding.iter_type,
                                binding.thread_tag, binding.span)  # fmt: skip
        body = self.visit_stmt(op.body)
        return s.For(var, low, extent, op.kind, body, binding, op.annotations, op.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        if not self._wide(op.var.dtype) or not self.fits(op.value):
            return super().visit_let_stmt_(op)
        value = self.narrow(op.value)
        if value.dtype is not self._target:
            value = ops.cast(value, self._target)
        self.analyzer.update(op.var, self.analyzer.const_int_bound(op.value), True)
        var = e.Var(op.var.name, self._target, op.var.span)
        self._narrow[op.var] = var
        return s.LetStmt(var, value, self.visit_stmt(op.body), op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        indices = tuple([self.narrow(index) for index in op.indices])
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        same = all(a is b for a, b in zip(indices, op.indices)) and predicate is op.predicate
        return op if same else e.BufferLoad(op.buffer, indices, predicate, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        indices = tuple([self.narrow(index) for index in op.indices])
        value = self.visit_expr(op.value)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        same = all(a is b for a, b in zip(indices, op.indices)) and value is op.value
        if same and predicate is op.predicate:
            return op
        return s.BufferStore(op.buffer, value, indices, predicate, op.span)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        if not self._wide(op.a.dtype):
            return super().visit_cmp_(op)
        a, b = self.narrow(op.a), self.narrow(op.b)
        if a is op.a and b is op.b:
            return op
        if a.dtype is not b.dtype:
            a, b = ops.cast(a, op.a.dtype), ops.cast(b, op.b.dtype)
        return type(op)(a, b, op.span)

    # --- where values stand ---

    def visit_var_(self, op: e.Var) -> PrimExpr:
        narrow = self._narrow.get(op)
        return op if narrow is None else e.Cast(op.dtype, narrow, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.narrow(op.value) if self._wide(op.value.dtype) else self.visit_expr(op.value)
        return op if value is op.value else ops.cast(value, op.dtype, op.span)
