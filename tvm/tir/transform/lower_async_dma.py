"""Copies in the background become transfers of a DMA engine, and waits for them its own.

    with T.attr(0, "async_commit_queue_scope", 0):
        with T.attr(0, "async_scope", 1):
            for i in range(128): B[i] = A[i]
    with T.attr(0, "async_wait_queue_scope", 0):
        with T.attr(0, "async_wait_inflight_count", 2): use(B)
    ->
    T.dma_start_group(0)
    with T.attr(0, "async_commit_queue_scope", 0):
        with T.attr(0, "async_scope", 1):
            T.dma_copy(0, T.address_of(B[0]), T.address_of(A[0]), 512, 0)
    T.dma_end_group(0)
    T.dma_wait(0, 2)
    use(B)

Loops that copy one contiguous piece between flat buffers are meant. Queues without any stay.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.identify_memcpy import identify_memcpy
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import address_of
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

COMMIT, WAIT = "async_commit_queue_scope", "async_wait_queue_scope"


@tir_pass("tir.LowerAsyncDMA")
def LowerAsyncDMA(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No contiguous copy waits in a queue."""
    return func.with_body(_Lowerer().visit_stmt(func.body))


class _Lowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._queue: PrimExpr | None = None  # that what is here is committed to
        self._count = 0  # transfers in this group
        self._used: set[int] = set()  # queues that have transfers

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == COMMIT and isinstance(op.value, e.IntImm):
            return self._committed(op)
        if op.attr_key == WAIT and isinstance(op.value, e.IntImm) and op.value.value in self._used:
            inner = op.body
            if isinstance(inner, s.AttrStmt) and inner.attr_key == "async_wait_inflight_count":
                wait = _call("dma_wait", op, op.value, inner.value)
                return s.SeqStmt.flatten([wait, self.visit_stmt(inner.body)])
        return super().visit_attr_stmt_(op)

    def _committed(self, op: s.AttrStmt) -> s.Stmt:
        assert isinstance(op.value, e.IntImm), "a queue has a number"
        self._queue, self._count = op.value, 0
        stmt = super().visit_attr_stmt_(op)
        count, self._queue = self._count, None
        if count == 0:
            return op
        self._used.add(op.value.value)
        start = _call("dma_start_group", op, op.value)
        return s.SeqStmt.flatten([start, stmt, _call("dma_end_group", op, op.value)])

    def visit_for_(self, op: s.For) -> s.Stmt:
        found = identify_memcpy(op) if self._queue is not None else []
        copy = found[0] if len(found) == 1 else ""
        if self._queue is None or isinstance(copy, str):
            return super().visit_for_(op)
        source, target = copy
        if len(source.region) != 1 or len(target.region) != 1:
            return super().visit_for_(op)
        self._count += 1
        size = ops.multiply(target.region[0].extent, source.buffer.dtype.bits // 8)
        return _call(
            "dma_copy", op, self._queue,
            address_of(e.BufferLoad(target.buffer, [target.region[0].min])),
            address_of(e.BufferLoad(source.buffer, [source.region[0].min])),
            size, ops.const(0),
        )  # fmt: skip


def _call(name: str, near: s.Stmt, *args: PrimExpr) -> s.Stmt:
    return s.Evaluate(e.Call("int32", f"tir.{name}", args), near.span)
