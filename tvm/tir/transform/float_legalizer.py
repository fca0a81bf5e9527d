"""Computing with narrow floats in a wider type, and keeping them as integers of their size."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import PrimExpr
from tvm.ir.node import with_fields
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, rewrite
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

Matches = Callable[[DataType], bool]


def compute_in(func: PrimFunc, narrow: Matches, wide: str) -> PrimFunc:
    """The function with arithmetic on narrow types done in the wide one; memory stays as it is."""
    return func.with_body(_Promoter(narrow, DataType(wide)).visit_stmt(func.body))


def store_as_integers(func: PrimFunc, narrow: Matches) -> PrimFunc:
    """The function with buffers of narrow types as buffers of unsigned integers."""
    return StorageChanger(narrow).function(func)


class _Promoter(StmtExprMutator):
    """Every expression of a narrow type comes back as one of the wide type."""

    def __init__(self, narrow: Matches, wide: DataType) -> None:
        super().__init__()
        self._narrow = narrow
        self._wide = wide
        self._vars: dict[e.Var, e.Var] = {}

    def _is_narrow(self, dtype: DataType) -> bool:
        return self._narrow(dtype.element_of())

    def _up(self, dtype: DataType) -> DataType:
        return self._wide.with_lanes(dtype.lanes, dtype.is_scalable)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        known = self._vars.get(op)
        if known is not None:
            return known
        return ops.cast(op, self._up(op.dtype)) if self._is_narrow(op.dtype) else op

    def visit_var_def(self, var: e.Var) -> e.Var:
        if not self._is_narrow(var.dtype):
            return var
        new = e.Var(var.name, self._up(var.dtype), var.span)
        self._vars[var] = new
        return new

    def visit_float_imm_(self, op: e.FloatImm) -> PrimExpr:
        if not self._is_narrow(op.dtype):
            return op
        return e.FloatImm(self._wide, op.value, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        target = self._up(op.dtype) if self._is_narrow(op.dtype) else op.dtype
        if value is op.value and target is op.dtype:
            return op
        return ops.cast(value, target, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        if not self._is_narrow(op.dtype):
            return load
        return ops.cast(load, self._up(op.dtype), op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        value = ops.cast(self.visit_expr(op.value), op.value.dtype)
        indices = self.visit_exprs(op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        same = value is op.value and indices is op.indices and predicate is op.predicate
        return op if same else s.BufferStore(op.buffer, value, indices, predicate, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        name = getattr(op.op, "name", "")
        if name in ("tir.reinterpret", "tir.address_of", "tir.call_extern", "tir.call_pure_extern"):
            return self._call_on_bits(op)
        call = super().visit_call_(op)
        if isinstance(call, e.Call) and self._is_narrow(call.dtype):
            return e.Call(self._up(call.dtype), call.op, call.args, call.span)
        return call

    def _call_on_bits(self, op: e.Call) -> PrimExpr:
        """What looks at the bits gets the narrow value itself."""
        args = [
            self.visit_expr(a)
            if not isinstance(a, PrimExpr) or not self._is_narrow(a.dtype)
            else (a if isinstance(a, e.BufferLoad) else ops.cast(self.visit_expr(a), a.dtype))
            for a in op.args
        ]
        call = e.Call(op.dtype, op.op, args, op.span)
        return ops.cast(call, self._up(op.dtype)) if self._is_narrow(op.dtype) else call

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        return e.Let(self.visit_var_def(op.var), value, self.visit_expr(op.body), op.span)


class StorageChanger(StmtExprMutator):
    """Buffers of some types become buffers of unsigned integers; values stay what they are."""

    def __init__(self, narrow: Matches) -> None:
        super().__init__()
        self._narrow = narrow
        self._vars: dict[e.Var, e.Var] = {}

    def function(self, func: PrimFunc) -> PrimFunc:
        """The function with other buffers, or pointers, in place of those of its parameters."""
        new = rewrite(self, func)
        params = tuple(p if p in new.buffer_map else self._pointer(p) for p in new.params)
        same = all(a is b for a, b in zip(params, new.params))
        return new if same else with_fields(new, params=params)

    def _stored(self, dtype: DataType) -> DataType:
        if not self._narrow(dtype.element_of()):
            return dtype
        return DataType(f"uint{dtype.bits}").with_lanes(dtype.lanes, dtype.is_scalable)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._pointer(op)

    def visit_var_def(self, var: e.Var) -> e.Var:
        return self._pointer(var)

    def _pointer(self, var: e.Var) -> e.Var:
        """A pointer to narrow floats points to integers."""
        known = self._vars.get(var)
        if known is not None:
            return known
        kind = var.type_annotation
        if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
            stored = self._stored(kind.element_type.dtype)
            if stored is not kind.element_type.dtype:
                pointer = PointerType(PrimType(stored), kind.storage_scope)
                self._vars[var] = e.Var(var.name, pointer, var.span)
                return self._vars[var]
        return var

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        new = super().visit_buffer_def(buffer)
        stored = self._stored(new.dtype)
        if stored is not new.dtype:
            new = new.with_changes(dtype=stored)
        self.buffers[buffer] = new
        return new

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        return self.visit_buffer_def(buffer) if known is None else known

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        stmt = super().visit_allocate_(op)
        stored = self._stored(op.dtype)
        if stored is op.dtype or not isinstance(stmt, s.Allocate):
            return stmt
        return s.Allocate(stmt.buffer_var, stored, stmt.extents, stmt.condition, stmt.body,
                          stmt.annotations, stmt.span)  # fmt: skip

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        return builtin.reinterpret(op.dtype, load) if load.dtype is not op.dtype else load

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer, value = self.visit_buffer_use(op.buffer), self.visit_expr(op.value)
        indices = self.visit_exprs(op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        if buffer.dtype is not op.buffer.dtype:
            value = builtin.reinterpret(self._stored(value.dtype), value)
        same = buffer is op.buffer and value is op.value and indices is op.indices
        if same and predicate is op.predicate:
            return op
        return s.BufferStore(buffer, value, indices, predicate, op.span)
