"""Host code asks once for a context that belongs to its thread.

    f(tvm_thread_context(make()), 1)         ctx = make()
    f(tvm_thread_context(make()), 2)   ->    f(ctx, 1)
                                             f(ctx, 2)

What a parallel loop asks for is bound in front of it; the code of a device and that in the scope of
a coprocessor ask for their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator

from .pass_form import tir_pass

StmtT = TypeVar("StmtT", bound=s.Stmt)


@tir_pass("tir.CombineContextCall")
def CombineContextCall(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No call of tvm_thread_context is left."""
    return func.with_body(_Combiner().region(func.body))


class _Combiner(StmtExprMutator):
    """`_known` has the contexts of this region of code, and their variables."""

    def __init__(self) -> None:
        super().__init__()
        self._known: list[tuple[PrimExpr, e.Var]] = []

    def region(self, body: s.Stmt) -> s.Stmt:
        """Code that one thread runs, with its contexts bound before it."""
        return self._bound(body, self.visit_stmt)

    def _bound(self, part: StmtT, visit: Callable[[StmtT], s.Stmt]) -> s.Stmt:
        """The part after `visit`, with the contexts that it asks for bound before it."""
        outer, self._known = self._known, []
        new = visit(part)
        for value, var in reversed(self._known):
            new = s.LetStmt(var, value, new, part.span)
        self._known = outer
        return new

    def visit_call_(self, op: e.Call) -> PrimExpr:
        if not e.is_call_of(op, "tir.tvm_thread_context"):
            return super().visit_call_(op)
        wanted = op.args[0]
        for value, var in self._known:
            if expr_deep_equal(value, wanted):
                return var
        var = e.Var("ctx_cache_", wanted.dtype)
        self._known.append((wanted, var))
        return var

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind != s.ForKind.PARALLEL:
            return super().visit_for_(op)
        return self._bound(op, super().visit_for_)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key not in ("thread_extent", "coproc_uop_scope"):
            return super().visit_attr_stmt_(op)
        value, body = self.visit_expr(op.value), self.region(op.body)
        if value is op.value and body is op.body:
            return op
        return s.AttrStmt(op.node, op.attr_key, value, body, op.span)
