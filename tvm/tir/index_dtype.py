"""A function whose indices have one integer type.

    for i in range(16):                     for i in range(T.int64(16)):
        B[i] = A[i + 1] * T.int32(2)   ->       B[i] = A[i + T.int64(1)] * T.int32(2)

Shapes, strides, offsets, extents, domains of blocks and indices change, and the variables that
occur there; what is computed keeps its type, and operands of two types get the wider one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.ir.expr import PrimExpr, Range
from tvm.support.dtype import DataType

from . import expr as e
from . import stmt as s
from .buffer import Buffer
from .function import PrimFunc
from .functor import StmtExprMutator
from .op import arith as ops

_MAKERS: Final[dict[type[PrimExpr], Callable[..., PrimExpr]]] = {
    e.Add: ops.add, e.Sub: ops.subtract, e.Mul: ops.multiply,
    e.Div: ops.truncdiv, e.Mod: ops.truncmod, e.FloorDiv: ops.floordiv, e.FloorMod: ops.floormod,
    e.Min: e.Min, e.Max: e.Max,
}  # fmt: skip


def with_index_dtype(func: PrimFunc, bits: int) -> PrimFunc:
    """`func` with indices of `bits` bits."""
    rule = _IndexDtype(DataType(f"int{bits}"))
    buffer_map = {param: rule.visit_buffer_def(b) for param, b in func.buffer_map.items()}
    params = tuple(rule.visit_var_def(param) for param in func.params)
    body = rule.visit_stmt(func.body)
    return PrimFunc(params, body, func.ret_type, buffer_map, func.attrs, func.span)


class _IndexDtype(StmtExprMutator):
    def __init__(self, dtype: DataType) -> None:
        super().__init__()
        self._dtype = dtype
        self._is_index = False
        self._vars: dict[e.Var, e.Var] = {}

    # --- where indices stand ---

    def _index(self, expr: PrimExpr) -> PrimExpr:
        outer, self._is_index = self._is_index, True
        new = self.visit_expr(expr)
        self._is_index = outer
        return new

    def _value(self, expr: PrimExpr) -> PrimExpr:
        outer, self._is_index = self._is_index, False
        new = self.visit_expr(expr)
        self._is_index = outer
        return new

    def _indices(self, exprs: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        outer, self._is_index = self._is_index, True
        new = self.visit_exprs(exprs)
        self._is_index = outer
        return new

    def _index_var(self, var: e.Var) -> e.Var:
        """The variable of an index, everywhere."""
        if not _is_integer(var.dtype) or var.dtype is self._dtype:
            return var
        if var not in self._vars:
            self._vars[var] = type(var)(var.name, self._dtype, var.span)
        return self._vars[var]

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._index_var(op) if self._is_index else self._vars.get(op, op)

    def visit_var_def(self, var: e.Var) -> e.Var:
        return self._vars.get(var, var)

    def visit_int_imm_(self, op: e.IntImm) -> PrimExpr:
        if self._is_index and _is_integer(op.dtype) and op.dtype is not self._dtype:
            return e.IntImm(self._dtype, op.value, op.span)
        return op

    def visit_range(self, rng: Range) -> Range:
        low, extent = self._index(rng.min), self._index(rng.extent)
        if low is rng.min and extent is rng.extent:
            return rng
        return Range.from_min_extent(low, extent, rng.span)

    def visit_iter_vars(self, iter_vars: tuple[e.IterVar, ...]) -> tuple[e.IterVar, ...]:
        for iter_var in iter_vars:
            self._index_var(iter_var.var)
        return super().visit_iter_vars(iter_vars)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        shape, strides = self._indices(buffer.shape), self._indices(buffer.strides)
        offset, data = self._index(buffer.elem_offset), self.visit_expr(buffer.data)
        new = buffer
        if not (
            shape is buffer.shape and strides is buffer.strides and offset is buffer.elem_offset
        ):
            new = buffer.with_changes(shape=shape, strides=strides, elem_offset=offset, data=data)
        self.buffers[buffer] = new
        return new

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer) or self.visit_buffer_def(buffer)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        buffer, indices = self.visit_buffer_use(op.buffer), self._indices(op.indices)
        predicate = None if op.predicate is None else self._value(op.predicate)
        if buffer is op.buffer and indices is op.indices and predicate is op.predicate:
            return op
        return e.BufferLoad(buffer, indices, predicate, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer, indices = self.visit_buffer_use(op.buffer), self._indices(op.indices)
        value = self._value(op.value)
        if value.dtype is not op.value.dtype and not value.dtype.is_vector:
            value = ops.cast(value, op.value.dtype)
        predicate = None if op.predicate is None else self._value(op.predicate)
        same = buffer is op.buffer and indices is op.indices and value is op.value
        if same and predicate is op.predicate:
            return op
        return s.BufferStore(buffer, value, indices, predicate, op.span)

    def visit_for_(self, op: s.For) -> s.Stmt:
        self._index_var(op.loop_var)
        outer, self._is_index = self._is_index, True
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        self._is_index = outer
        binding = None if op.thread_binding is None else self.visit_iter_vars((op.thread_binding,))
        body = self.visit_stmt(op.body)
        return s.For(
            self.visit_var_def(op.loop_var), low, extent, op.kind, body,
            binding[0] if binding else None, op.annotations, op.span,
        )  # fmt: skip

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        values, predicate = self._indices(op.iter_values), self.visit_expr(op.predicate)
        block = self.visit_stmt(op.block)
        assert isinstance(block, s.Block), "blocks stay blocks here"
        return s.BlockRealize(values, predicate, block, op.span)

    # --- what is computed with them ---

    def visit_binary_(self, op: e.BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        return _MAKERS[type(op)](*ops.match_types(a, b), op.span)

    def visit_cmp_(self, op: e.CmpExpr) -> PrimExpr:
        a, b = self._value(op.a), self._value(op.b)
        return op if a is op.a and b is op.b else type(op)(*ops.match_types(a, b), op.span)

    def visit_select_(self, op: e.Select) -> PrimExpr:
        condition = self._value(op.condition)
        true, false = self.visit_expr(op.true_value), self.visit_expr(op.false_value)
        return e.Select(condition, *ops.match_types(true, false), op.span)

    def visit_ramp_(self, op: e.Ramp) -> PrimExpr:
        base, stride = self.visit_expr(op.base), self.visit_expr(op.stride)
        if base is op.base and stride is op.stride:
            return op
        return e.Ramp(*ops.match_types(base, stride), op.lanes, op.span)

    def visit_broadcast_(self, op: e.Broadcast) -> PrimExpr:
        value = self.visit_expr(op.value)
        return op if value is op.value else e.Broadcast(value, op.lanes, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self._value(op.value)
        dtype = self._dtype if self._is_index and _is_integer(op.dtype) else op.dtype
        return op if value is op.value and dtype is op.dtype else ops.cast(value, dtype, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        """Arguments are values; both branches of a choice have one type."""
        outer, self._is_index = self._is_index, False
        if not e.is_call_of(op, "tir.if_then_else"):
            new = super().visit_call_(op)
            self._is_index = outer
            return new
        condition = self.visit_expr(op.args[0])
        self._is_index = outer
        branches = ops.match_types(self.visit_expr(op.args[1]), self.visit_expr(op.args[2]))
        return e.Call(branches[0].dtype, op.op, (condition, *branches), op.span)


def _is_integer(dtype: DataType) -> bool:
    return dtype.is_int and not dtype.is_vector


__all__ = ["with_index_dtype"]
