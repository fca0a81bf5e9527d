"""Parallel loops of a function for a GPU run on its threads.

    for i in T.parallel(n):        for b in T.thread_binding((n + 255) // 256, "blockIdx.x"):
        A[i] = ...             ->      for t in T.thread_binding(256, "threadIdx.x"):
                                           if b * 256 + t < n:
                                               i = b * 256 + t
                                               A[i] = ...

So kernels written for cores run on a GPU too. A function that counts as scheduled, and has neither
threads nor such loops, is the work of one thread. Functions that launch threads are left alone.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.transform import PassContext
from tvm.target.target import Target
from tvm.tir import stmt as s
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

PER_BLOCK = 256  # threads


@tir_pass("tir.BindParallelLoops")
def BindParallelLoops(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Give the function threads."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or target.host is None or "gpu" not in target.keys:
        return func
    if func.attrs.get("tir.is_host_func"):
        return func
    parallel = False
    for node in walk(func.body):
        if isinstance(node, s.For):
            if node.thread_binding is not None:
                return func
            parallel = parallel or node.kind == s.ForKind.PARALLEL
        elif isinstance(node, s.AttrStmt) and node.attr_key == "thread_extent":
            return func
    if parallel:
        return func.with_body(_OnThreads(target).visit_stmt(func.body))
    if func.attrs.get("tir.is_scheduled") and not isinstance(func.body, s.BlockRealize):
        return func.with_body(by_one_thread(func.body))
    return func


def on_threads(loop: s.For, per_block: int = PER_BLOCK) -> s.Stmt:
    """The steps of a loop on the threads of a GPU, so many in a block."""
    extent, name, span = loop.extent, loop.loop_var.name, loop.span
    block, thread = Var(f"{name}_block", extent.dtype), Var(f"{name}_thread", extent.dtype)
    width = ops.const(per_block, extent.dtype)
    at = block * width + thread
    starts_at_zero = isinstance(loop.min, IntImm) and loop.min.value == 0
    step = s.LetStmt(loop.loop_var, at if starts_at_zero else loop.min + at, loop.body, span)
    body = s.IfThenElse(at < extent, step, None, span)
    return bound(
        "blockIdx.x", block, ops.ceildiv(extent, width),
        bound("threadIdx.x", thread, width, body, span), span,
    )  # fmt: skip


def by_one_thread(body: s.Stmt) -> s.Stmt:
    """A statement as the work of the one thread of one block."""
    one = ops.const(1, "int32")
    for tag in ("threadIdx.x", "blockIdx.x"):
        body = bound(tag, Var(tag[0] + "x", "int32"), one, body)
    return body


def bound(tag: str, var: Var, extent: PrimExpr, body: s.Stmt, span: Span | None = None) -> s.For:
    """A loop that the blocks or threads of a launch are."""
    zero = ops.const(0, extent.dtype)
    axis = IterVar(Range.from_min_extent(zero, extent), var, IterVar.ThreadIndex, tag)
    return s.For(var, zero, extent, s.ForKind.THREAD_BINDING, body, axis, span=span)


class _OnThreads(StmtExprMutator):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self._per_block = min(PER_BLOCK, int(target.max_num_threads))

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind == s.ForKind.PARALLEL:
            return on_threads(op, self._per_block)
        return super().visit_for_(op)
