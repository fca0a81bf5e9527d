"""Each thread of a kernel is launched once, around all of it.

    for b in T.thread_binding(8, "blockIdx.x"):          for b in T.thread_binding(8, ...):
        for i in T.thread_binding(4, "threadIdx.x"):         for t in T.thread_binding(4, ...):
            A[i] = 0                                 ->          A[t] = 0
        for j in T.thread_binding(4, "threadIdx.x"):             B[t] = 0
            B[j] = 0

The threads stand in the order in which they come up; attributes that launch become loops too. What
a loop is annotated with stays there, on a loop of one iteration. A thread whose extent is
known only within stays where it is, and so do virtual threads of one name but several extents.
Kernels that follow each other share nothing.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, uses_any
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


class ThreadExtentError(CheckError, ValueError):
    """A thread of a kernel is launched with several extents."""


@tir_pass("tir.UnifyThreadBinding")
def UnifyThreadBinding(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Each thread tag of a kernel has one variable, and one loop."""
    return func.with_body(_Unifier().visit_stmt(func.body))


class _Unifier(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._in_kernel = False
        self._threads: dict[str, e.IterVar] = {}  # of the kernel, by tag
        self._launched: list[e.IterVar] = []  # around the whole kernel, the outermost first
        self._open: list[str] = []  # launches around this statement
        self._inside: set[e.Var] = set()  # variables defined in the kernel
        self._values: dict[e.Var, PrimExpr] = {}
        self._analyzer = Analyzer()

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind != s.ForKind.THREAD_BINDING or op.thread_binding is None:
            self._inside.add(op.loop_var)
            return super().visit_for_(op)
        dom = Range.from_min_extent(self.visit_expr(op.min), self.visit_expr(op.extent))
        body = self._unified(op.thread_binding.thread_tag, op.loop_var, dom, op.body, op.span)
        return _annotated(body, op) if op.annotations else body

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        axis = op.node
        if op.attr_key not in ("thread_extent", "virtual_thread") or not isinstance(
            axis, e.IterVar
        ):
            return super().visit_attr_stmt_(op)
        dom = Range.from_min_extent(ops.const(0, axis.var.dtype), self.visit_expr(op.value))
        return self._unified(axis.thread_tag, axis.var, dom, op.body, op.span)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        self._inside.add(op.var)
        return super().visit_let_stmt_(op)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        self._inside.update([axis.var for axis in op.iter_vars])
        return super().visit_block_(op)

    def _unified(self, tag: str, var: e.Var, dom: Range, body: s.Stmt, span: Span | None) -> s.Stmt:
        """The body of a launch, under one that is around the kernel, or the launch itself."""
        outermost = not self._in_kernel
        if outermost:
            self._in_kernel, self._threads, self._launched = True, {}, []
        known = self._threads.get(tag)
        apart = known is not None and self._stays_apart(tag, known, dom)
        if known is None or apart:
            thread = e.IterVar(dom, e.Var(tag, dom.extent.dtype), e.IterVar.ThreadIndex, tag)
        else:
            thread = known
            self._check(thread, dom)
        in_place = apart or (known is None and self._is_computed(dom.extent))
        if known is None:
            self._threads[tag] = thread
            if not in_place:
                self._launched.append(thread)
        self._values[var] = ops.cast(thread.var, var.dtype)
        self._open.append(tag)
        new = self.visit_stmt(body)
        self._open.pop()
        if in_place:
            new = _launch(thread, new, span)
            if not apart:
                del self._threads[tag]  # the next has a loop of its own
        if outermost:
            for one in reversed(self._launched):
                new = _launch(one, new, span)
            self._in_kernel = False
        return new

    def _stays_apart(self, tag: str, known: e.IterVar, dom: Range) -> bool:
        """Virtual threads of one name that follow each other may differ in number."""
        return tag.startswith("vthread") and tag not in self._open and not self._same(known, dom)

    def _is_computed(self, extent: PrimExpr) -> bool:
        return uses_any(extent, self._inside)

    def _same(self, thread: e.IterVar, dom: Range) -> bool:
        assert thread.dom is not None, "threads have domains"
        return bool(self._analyzer.can_prove_equal(thread.dom.extent, dom.extent))

    def _check(self, thread: e.IterVar, dom: Range) -> None:
        if not self._same(thread, dom):
            assert thread.dom is not None, "threads have domains"
            raise ThreadExtentError(
                message(
                    f"All loops that are bound to `{thread.thread_tag}` should have the same "
                    "extent",
                    found=f"{thread.dom.extent} and {dom.extent}",
                    legal="one extent for a thread",
                )
            )


def _launch(thread: e.IterVar, body: s.Stmt, span: Span | None) -> s.Stmt:
    assert thread.dom is not None, "threads have domains"
    binding = e.IterVar(None, e.Var("", thread.var.dtype), e.IterVar.ThreadIndex, thread.thread_tag)
    low, extent = thread.dom.min, thread.dom.extent
    return s.For(thread.var, low, extent, s.ForKind.THREAD_BINDING, body, binding, None, span)


def _annotated(stmt: s.Stmt, loop: s.For) -> s.Stmt:
    """The statement with what its loop was annotated with."""
    if isinstance(stmt, s.For) and stmt.kind == s.ForKind.THREAD_BINDING:
        return s.For(stmt.loop_var, stmt.min, stmt.extent, stmt.kind, stmt.body,
                     stmt.thread_binding, {**stmt.annotations, **loop.annotations},
                     stmt.span)  # fmt: skip
    var = e.Var("var", loop.loop_var.dtype)
    zero, one = ops.const(0, var.dtype), ops.const(1, var.dtype)
    return s.For(var, zero, one, s.ForKind.SERIAL, stmt, None, loop.annotations, loop.span)
