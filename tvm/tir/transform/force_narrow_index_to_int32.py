"""All index arithmetic, and all integer buffers and parameters, are int32.

    for i in range(T.int64(n)):                 for i in range(n):
        B[i] = A[i + T.int64(1)]       ->           B[i] = A[i + 1]

Nothing is proved: whoever runs this pass says that all values fit. A buffer of another integer type
among the parameters is refused.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

INT32 = DataType("int32")


@tir_pass("tir.ForceNarrowIndexToInt32")
def ForceNarrowIndexToInt32(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """The function has no int64 afterwards."""
    for buffer in func.buffer_map.values():
        if buffer.dtype.is_int and buffer.dtype.bits > 32:
            raise CheckError(
                message(
                    "ForceNarrowIndexToInt32",
                    found=f"parameter {buffer.name} is a buffer of {buffer.dtype}",
                    legal="parameters of at most int32",
                )
            )
    for node in walk(func.body):
        for buffer in node.alloc_buffers if isinstance(node, s.Block) else ():
            if _wide(buffer.dtype):
                raise CheckError(
                    message(
                        "ForceNarrowIndexToInt32",
                        found=f"the buffer {buffer.name} allocated in the function has dtype "
                        f"{buffer.dtype}",
                        legal="buffers of at most int32",
                    )
                )
    return narrowed(func)


def narrowed(func: PrimFunc) -> PrimFunc:
    """The function with int32 instead of int64 everywhere."""
    narrower = _Narrower()
    params = tuple(narrower.visit_var_def(param) for param in func.params)
    buffer_map = {
        new: narrower.visit_buffer_def(func.buffer_map[old])
        for old, new in zip(func.params, params)
        if old in func.buffer_map
    }
    body = narrower.visit_stmt(func.body)
    return PrimFunc(params, body, func.ret_type, buffer_map, func.attrs, func.span)


def _wide(dtype: DataType) -> bool:
    return dtype.is_int and dtype.bits > 32


class _Narrower(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._values: dict[e.Var, e.Var] = {}

    def _narrow(self, dtype: DataType) -> DataType:
        return INT32.with_lanes(dtype.lanes, dtype.is_scalable)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self.visit_var_def(op) if _wide(op.dtype) else op

    def visit_var_def(self, var: e.Var) -> e.Var:
        if not _wide(var.dtype):
            return var
        new = self._values.get(var)
        if new is None:
            new = type(var)(var.name, self._narrow(var.dtype), var.span)
            self._values[var] = new
        return new

    def visit_int_imm_(self, op: e.IntImm) -> PrimExpr:
        return e.IntImm(INT32, op.value, op.span) if _wide(op.dtype) else op

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        dtype = self._narrow(op.dtype) if _wide(op.dtype) else op.dtype
        return op if value is op.value and dtype is op.dtype else ops.cast(value, dtype, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if not isinstance(call, e.Call):
            return call
        if e.is_call_of(op, "tir.clz"):
            bits, before = call.args[0].dtype.bits, op.args[0].dtype.bits
            if bits != before:  # the zeros of the half that is no longer there count too
                dtype = self._narrow(call.dtype) if _wide(call.dtype) else call.dtype
                count = e.Call(dtype, call.op, call.args, call.span)
                return ops.add(ops.subtract(count, bits), before)
        if _wide(call.dtype):
            return e.Call(self._narrow(call.dtype), call.op, call.args, call.span)
        return call

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        """Threads, with the ranges that they are launched over."""
        stmt = super().visit_attr_stmt_(op)
        if not isinstance(op.node, e.IterVar) or not isinstance(stmt, s.AttrStmt):
            return stmt
        node = self._narrow_thread(op.node)
        return s.AttrStmt(node, stmt.attr_key, stmt.value, stmt.body, stmt.span)

    def visit_for_(self, op: s.For) -> s.Stmt:
        stmt = super().visit_for_(op)
        if op.thread_binding is None or not isinstance(stmt, s.For):
            return stmt
        return with_fields(stmt, thread_binding=self._narrow_thread(op.thread_binding))

    def _narrow_thread(self, thread: e.IterVar) -> e.IterVar:
        var = self.visit_var_def(thread.var)
        dom = None if thread.dom is None else self.visit_range(thread.dom)
        if var is thread.var and dom is thread.dom:
            return thread
        return e.IterVar(dom, var, thread.iter_type, thread.thread_tag, thread.span)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer) or self.visit_buffer_def(buffer)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        new = super().visit_buffer_def(buffer)
        if _wide(new.dtype):
            new = new.with_changes(dtype=self._narrow(new.dtype))
        self.buffers[buffer] = new
        return new

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer, value = self.visit_buffer_use(op.buffer), self.visit_expr(op.value)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        indices = self.visit_exprs(op.indices)
        return s.BufferStore(buffer, value, indices, predicate, op.span)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        stmt = super().visit_allocate_(op)
        if isinstance(stmt, s.Allocate) and _wide(stmt.dtype):
            return with_fields(stmt, dtype=self._narrow(stmt.dtype))
        return stmt
