"""Index arithmetic is done in fewer bits where all values fit.

    for i in range(T.int64(1024)):            for i in range(1024):
        B[i * T.int64(4)] = A[i]       ->         B[i * 4] = A[i]

Variables of loops, blocks and lets and the arithmetic on them become `target_bits` wide where the
constant bounds of every value on the way fit. A variable that some expression needs in its full
width keeps it everywhere, so that no value is cast to and fro; what comes from elsewhere
(parameters, loads) is cast where it is used.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.scalar import int_range

from .analyzed_mutator import AnalyzedMutator
from .lower_thread_allreduce import ALLREDUCE, thread_args
from .pass_form import tir_pass

_ARITHMETIC = (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.Div, e.Mod, e.Min, e.Max)

_THREADS = ("thread_extent", "virtual_thread")


@tir_pass("tir.NarrowDataType")
def NarrowDataType(func: PrimFunc, mod: IRModule, ctx: PassContext, target_bits: int) -> PrimFunc:
    """Every index that provably fits has at most `target_bits` bits."""
    target = DataType(f"int{target_bits}")
    uses = _Uses(func, target)
    uses.visit_stmt(func.body)
    return func.with_body(_Narrower(func, target, uses.seen, uses.wide).visit_stmt(func.body))


class _Bounded(AnalyzedMutator):
    """Knows which values fit into the target type."""

    def __init__(self, func: PrimFunc, target: DataType) -> None:
        super().__init__(func)
        self._target = target
        self._low, self._high = int_range(target)

    def fits(self, expr: PrimExpr) -> bool:
        """All values of `expr` are values of the target type."""
        if isinstance(expr, e.IntImm):
            return self._low <= expr.value <= self._high
        low, high = self.analyzer.bound(expr)
        return self._low <= low and high <= self._high

    def _wide(self, dtype: DataType) -> bool:
        return dtype.is_int and dtype.is_scalar and dtype.bits > self._target.bits


class _Uses(_Bounded):
    """Finds the variables in expressions whose values do not fit; changes nothing."""

    def __init__(self, func: PrimFunc, target: DataType) -> None:
        super().__init__(func, target)
        self.seen: set[e.Var] = set()
        self.wide: set[e.Var] = set()
        self._inside_wide = 0

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        large = self._wide(expr.dtype) and not self.fits(expr)
        self._inside_wide += large
        super().visit_expr(expr)
        self._inside_wide -= large
        return expr

    def visit_var_(self, op: e.Var) -> PrimExpr:
        self.seen.add(op)
        if self._inside_wide:
            self.wide.add(op)
        return op

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        """How large the loaded value may be says nothing of the indices."""
        outer, self._inside_wide = self._inside_wide, 0
        super().visit_buffer_load_(op)
        self._inside_wide = outer
        return op


class _Narrower(_Bounded):
    """Rewrites indices; `visit_expr` keeps the type of an expression, `narrow` may change it."""

    def __init__(
        self, func: PrimFunc, target: DataType, seen: set[e.Var], wide: set[e.Var]
    ) -> None:
        super().__init__(func, target)
        self._wanted = seen - wide
        self._large = wide
        self._narrow: dict[e.Var, e.Var] = {}
        self._widened: dict[e.Var, e.Var] = {}

    def _declare(self, var: e.Var, low: PrimExpr, extent: PrimExpr) -> bool:
        """Whether a variable over a range becomes narrow; its new self is known from here on."""
        if var not in self._wanted or not self._wide(var.dtype):
            return False
        if not self.fits(low) or not self.fits(ops.add(low, extent)):
            return False
        self._narrow[var] = e.Var(var.name, self._target, var.span)
        return True

    def _cast(self, expr: PrimExpr) -> PrimExpr:
        """The expression in the target type."""
        return ops.cast(self.narrow(expr), self._target)

    def narrow(self, expr: PrimExpr) -> PrimExpr:
        """The expression in the target type if it fits, else in its own."""
        if not self._wide(expr.dtype) or not self.fits(expr):
            return self.visit_expr(expr)
        if isinstance(expr, e.Var):
            return self._narrow.get(expr, expr)
        if isinstance(expr, _ARITHMETIC):
            a, b = self.narrow(expr.a), self.narrow(expr.b)
            if a.dtype is self._target and b.dtype is self._target:
                return type(expr)(a, b, expr.span)
            return self.visit_expr(expr)
        if isinstance(expr, e.Cast) and expr.value.dtype.is_int:
            return ops.cast(self.narrow(expr.value), self._target, expr.span)
        return ops.cast(self.visit_expr(expr), self._target, expr.span)

    # --- where indices stand ---

    def visit_for_(self, op: s.For) -> s.Stmt:
        if not self._declare(op.loop_var, op.min, op.extent):
            return super().visit_for_(op)
        low, extent = self._cast(op.min), self._cast(op.extent)
        self.bind_range(op)
        var, binding = self._narrow[op.loop_var], op.thread_binding
        if binding is not None:
            binding = e.IterVar(None, e.Var(binding.var.name, self._target), binding.iter_type,
                                binding.thread_tag, binding.span)  # fmt: skip
        body = self.visit_stmt(op.body)
        return s.For(var, low, extent, op.kind, body, binding, op.annotations, op.span)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        """The variables of threads come from here where no loop is bound to them."""
        iv = op.node
        if op.attr_key not in _THREADS or not isinstance(iv, e.IterVar):
            return super().visit_attr_stmt_(op)
        zero = ops.const(0, op.value.dtype)
        if self._wide(op.value.dtype) and not self._wide(iv.var.dtype):
            return self._thread_of_wide_extent(op, iv)
        if not self._declare(iv.var, zero, op.value):
            return super().visit_attr_stmt_(op)
        whole = Range.from_min_extent(zero, op.value)
        self.analyzer.bind(iv.var, whole, allow_override=True)
        dom = None
        if iv.dom is not None:
            dom = Range.from_min_extent(self._cast(iv.dom.min), self._cast(iv.dom.extent))
        node = e.IterVar(dom, self._narrow[iv.var], iv.iter_type, iv.thread_tag, iv.span)
        value = self._cast(op.value)
        return s.AttrStmt(node, op.attr_key, value, self.visit_stmt(op.body), op.span)

    def _thread_of_wide_extent(self, op: s.AttrStmt, iv: e.IterVar) -> s.Stmt:
        """Variable and extent get one type: the wide one if products of the variable need it."""
        whole = Range.from_min_extent(ops.const(0, op.value.dtype), op.value)
        self.analyzer.bind(iv.var, whole, allow_override=True)
        dtype = op.value.dtype if iv.var in self._large else iv.var.dtype
        node = iv
        if dtype is not iv.var.dtype:
            var = self._widened[iv.var] = e.Var(iv.var.name, dtype, iv.var.span)
            dom = None
            if iv.dom is not None:
                dom = Range.from_min_extent(
                    ops.cast(iv.dom.min, dtype), ops.cast(iv.dom.extent, dtype)
                )
            node = e.IterVar(dom, var, iv.iter_type, iv.thread_tag, iv.span)
        value = ops.cast(self.visit_expr(op.value), dtype)
        return s.AttrStmt(node, op.attr_key, value, self.visit_stmt(op.body), op.span)

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        """The variables of a block change with what is bound to them."""
        for iv in op.block.iter_vars:
            if iv.dom is not None:
                self._declare(iv.var, iv.dom.min, iv.dom.extent)
        values = [
            self._cast(value) if iv.var in self._narrow else self.visit_expr(value)
            for iv, value in zip(op.block.iter_vars, op.iter_values)
        ]
        predicate, block = self.visit_expr(op.predicate), self.visit_stmt(op.block)
        assert isinstance(block, s.Block), "blocks stay blocks here"
        return s.BlockRealize(values, predicate, block, op.span)

    def visit_iter_vars(self, iter_vars: tuple[e.IterVar, ...]) -> tuple[e.IterVar, ...]:
        return tuple([self._narrow_iter_var(iv) for iv in iter_vars])

    def _narrow_iter_var(self, iv: e.IterVar) -> e.IterVar:
        if iv.var not in self._narrow or iv.dom is None:
            return iv
        low, extent = self._cast(iv.dom.min), self._cast(iv.dom.extent)
        return e.IterVar(Range.from_min_extent(low, extent), self._narrow[iv.var], iv.iter_type,
                         iv.thread_tag, iv.span)  # fmt: skip

    def visit_range(self, rng: Range) -> Range:
        """Of a region: both ends have one type."""
        low, extent = self.narrow(rng.min), self.narrow(rng.extent)
        if low.dtype is not extent.dtype:
            low, extent = ops.cast(low, rng.min.dtype), ops.cast(extent, rng.extent.dtype)
        if low is rng.min and extent is rng.extent:
            return rng
        return Range.from_min_extent(low, extent, rng.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        if not self._wide(op.var.dtype) or op.var not in self._wanted or not self.fits(op.value):
            return super().visit_let_stmt_(op)
        value = self._cast(op.value)
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

    def visit_call_(self, op: e.Call) -> PrimExpr:
        """The threads that reduce together are named, not computed with."""
        new = super().visit_call_(op)
        if not isinstance(new, e.Call) or not e.is_call_of(op, ALLREDUCE):
            return new
        named = thread_args(op)
        renamed = self._narrow | self._widened
        threads = [renamed.get(a, a) if isinstance(a, e.Var) else a for a in named]
        values = new.args[: len(op.args) - len(named)]
        return e.Call(new.dtype, new.op, (*values, *threads), op.span)

    # --- where values stand ---

    def visit_var_(self, op: e.Var) -> PrimExpr:
        made = self._narrow.get(op, self._widened.get(op))
        return op if made is None else e.Cast(op.dtype, made, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        widened = self._widened.get(op.value) if isinstance(op.value, e.Var) else None
        if widened is not None:
            return ops.cast(widened, op.dtype, op.span)
        value = self.narrow(op.value) if self._wide(op.value.dtype) else self.visit_expr(op.value)
        return op if value is op.value else ops.cast(value, op.dtype, op.span)
