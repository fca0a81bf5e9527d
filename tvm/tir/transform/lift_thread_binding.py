"""Loops over the same threads become one, around all that they contain together.

    for b in blockIdx.x:                 for b in blockIdx.x:
        for i in threadIdx.x:                for t in threadIdx.x:
            S[i] = A[i]          ->              S[t] = A[t]
        for j in threadIdx.x:                    B[t] = S[t]
            B[j] = S[j]

The new loop stands right within the innermost loop that contains all of them; a thread with one
loop only keeps it. Annotations are put together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.LiftThreadBinding")
def LiftThreadBinding(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Below a loop over threads no two loops are over the same threads."""
    finder = _Finder()
    finder.visit_stmt(func.body)
    if not finder.kernels:
        return func
    return func.with_body(_Lifter(finder.kernels).visit_stmt(func.body))


@dataclass
class _Thread:
    """One tag in a kernel: its variable, the loops around all of its loops, their annotations."""

    tag: str
    var: e.Var
    dom: Range
    around: list[s.For]
    annotations: dict[str, object] = field(default_factory=dict)

    def loop(self, body: s.Stmt) -> s.For:
        """The loop over the thread."""
        binding = e.IterVar(None, e.Var("", self.var.dtype), e.IterVar.ThreadIndex, self.tag)
        return s.For(
            self.var, self.dom.min, self.dom.extent, s.ForKind.THREAD_BINDING, body, binding,
            self.annotations, body.span,
        )  # fmt: skip


def _is_thread_loop(op: s.For) -> bool:
    return op.kind == s.ForKind.THREAD_BINDING and op.thread_binding is not None


class _Finder(StmtExprVisitor):
    """The threads of each kernel, which is an outermost loop over threads."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: dict[s.For, dict[str, _Thread]] = {}
        self._kernel: dict[str, _Thread] | None = None
        self._around: list[s.For] = []

    def visit_for_(self, op: s.For) -> None:
        root = _is_thread_loop(op) and self._kernel is None
        if root:
            self._kernel = self.kernels[op] = {}
        if self._kernel is None:
            super().visit_for_(op)
            return
        self._around.append(op)
        if _is_thread_loop(op):
            self._note(op, self._kernel)
        super().visit_for_(op)
        self._around.pop()
        if root:
            self._kernel = None

    def _note(self, op: s.For, threads: dict[str, _Thread]) -> None:
        assert op.thread_binding is not None, "the caller looked"
        tag = op.thread_binding.thread_tag
        thread = threads.get(tag)
        if thread is None:
            var = op.loop_var.copy_with_name(tag.replace(".", "_"))
            dom = Range.from_min_extent(op.min, op.extent)
            thread = threads[tag] = _Thread(tag, var, dom, list(self._around))
        shared = 0
        for a, b in zip(thread.around, self._around):
            if a is not b:
                break
            shared += 1
        del thread.around[shared:]
        thread.annotations.update(op.annotations)


class _Lifter(StmtExprMutator):
    def __init__(self, kernels: dict[s.For, dict[str, _Thread]]) -> None:
        super().__init__()
        self._kernels = kernels
        self._threads: dict[str, _Thread] | None = None
        self._values: dict[e.Var, PrimExpr] = {}

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        root = op in self._kernels
        if root:
            self._threads = self._kernels[op]
        if self._threads is None:
            return super().visit_for_(op)
        here = [t for t in self._threads.values() if t.around and t.around[-1] is op]
        above = [t for t in self._threads.values() if not t.around] if root else []
        if _is_thread_loop(op):
            assert op.thread_binding is not None, "it is one"
            thread_var = self._threads[op.thread_binding.thread_tag].var
            self._values[op.loop_var] = ops.cast(thread_var, op.loop_var.dtype)
            new = self.visit_stmt(op.body)
            for thread in sorted(here, key=_order, reverse=True):
                new = thread.loop(new)
        else:
            low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
            body = self.visit_stmt(op.body)
            for thread in sorted(here, key=_order, reverse=True):
                body = thread.loop(body)
            new = s.For(op.loop_var, low, extent, op.kind, body, None, op.annotations, op.span)
        for thread in sorted(above, key=_order, reverse=True):
            new = thread.loop(new)
        if root:
            self._threads = None
        return new


def _order(thread: _Thread) -> tuple[bool, str]:
    return (not thread.tag.startswith("blockIdx"), thread.tag)
