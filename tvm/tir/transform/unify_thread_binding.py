"""Launches of one kind of thread share one variable.

    for b in T.thread_binding(8, "blockIdx.x"):
        for i in T.thread_binding(4, "threadIdx.x"):       all loops and attributes bound to
            A[i] = 0                                 ->    threadIdx.x use the variable of the
        for j in T.thread_binding(4, "threadIdx.x"):       first of them; their extents have to
            B[j] = 0                                       be equal

Nested launches of the same thread become one. Kernels that follow each other share nothing.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.UnifyThreadBinding")
def UnifyThreadBinding(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Each thread tag has one variable."""
    return func.with_body(_Unifier().visit_stmt(func.body))


class _Unifier(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._threads: dict[str, e.IterVar] = {}
        self._values: dict[e.Var, PrimExpr] = {}
        self._open: list[str] = []  # the launches around this place
        self._analyzer = Analyzer()

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind != s.ForKind.THREAD_BINDING or op.thread_binding is None:
            return super().visit_for_(op)
        tag, annotations = op.thread_binding.thread_tag, op.annotations
        thread = self._thread(tag, op.loop_var, self.visit_expr(op.min), op.extent)
        body = self._launched(tag, op.body)
        if tag in self._open:  # it is launched already around this place
            return body
        assert thread.dom is not None, "threads have domains"
        return s.For(thread.var, thread.dom.min, thread.dom.extent, s.ForKind.THREAD_BINDING, body,
                     e.IterVar(None, e.Var("", thread.var.dtype), e.IterVar.ThreadIndex, tag),
                     annotations, op.span)  # fmt: skip

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        axis = op.node
        if op.attr_key not in ("thread_extent", "virtual_thread") or not isinstance(
            axis, e.IterVar
        ):
            return super().visit_attr_stmt_(op)
        zero = ops.const(0, axis.var.dtype)
        thread = self._thread(axis.thread_tag, axis.var, zero, op.value)
        body = self._launched(axis.thread_tag, op.body)
        if axis.thread_tag in self._open:
            return body
        return s.AttrStmt(thread, op.attr_key, op.value, body, op.span)

    def _launched(self, tag: str, body: s.Stmt) -> s.Stmt:
        nested = tag in self._open
        if not nested:
            self._open.append(tag)
        new = self.visit_stmt(body)
        if not nested:
            self._open.remove(tag)
        if not self._open:
            self._threads = {}  # what follows is another kernel, with extents of its own
        return new

    def _thread(self, tag: str, var: e.Var, low: PrimExpr, extent: PrimExpr) -> e.IterVar:
        """The thread that all launches under the tag share; the variable stands for it."""
        known = self._threads.get(tag)
        if known is None or (tag.startswith("vthread") and tag not in self._open):
            dom = Range.from_min_extent(low, extent)
            known = e.IterVar(dom, var, e.IterVar.ThreadIndex, tag)
            self._threads[tag] = known
            return known
        assert known.dom is not None, "threads have domains"
        if not self._analyzer.can_prove_equal(known.dom.extent, extent):
            raise CheckError(
                message(
                    f"All loops that are bound to `{tag}` should have the same extent",
                    found=f"{known.dom.extent} and {extent}",
                    legal="one extent for a thread",
                )
            )
        if var is not known.var:
            self._values[var] = ops.cast(known.var, var.dtype)
        return known
