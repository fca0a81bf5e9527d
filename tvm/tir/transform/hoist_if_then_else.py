"""Conditions that a loop does not change are tested before the loop.

    for i in range(n):                        if m > 4:
        if m > 4:                      ->         for i in range(n):
            B[i] = A[i]                               B[i] = A[i]

A condition is hoisted out of all loops whose variables it does not use, as long as it is all that
the loops contain; one that reads memory stays. The basic variant wants the condition right in the
loop; the other one also looks through attributes, and with `support_block_scope_hoisting` hoists
out of launches of GPU threads.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import builtin

from .folding import FoldingSubstituter
from .pass_form import tir_pass
from .remove_no_op import RemoveNoOp
from .simplify import Simplify


@tir_pass("tir.InsertHoistIfThenElse")
def _Hoist(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    across_threads = bool(ctx.option("tir.HoistIfThenElse").support_block_scope_hoisting)
    return func.with_body(_Hoister(True, across_threads).visit_stmt(func.body))


@tir_pass("tir.InsertHoistIfThenElseBasic")
def _HoistBasic(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return func.with_body(_Hoister(False, False).visit_stmt(func.body))


def HoistIfThenElse(variant: str | None = None) -> Sequential:
    """Loops test no condition that is the same for all of their iterations."""
    if variant not in (None, "basic"):
        raise ValueError(f"HoistIfThenElse: variant {variant!r}; legal: None or 'basic'")
    hoist = _HoistBasic() if variant == "basic" else _Hoist()
    return Sequential([hoist, Simplify(), RemoveNoOp()], name="tir.HoistIfThenElse")


class _Hoister(StmtExprMutator):
    def __init__(self, through_scopes: bool, across_threads: bool) -> None:
        super().__init__()
        self._through_scopes = through_scopes
        self._across_threads = across_threads

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        return self._hoisted(super().visit_for_(op))

    def _hoisted(self, stmt: s.Stmt) -> s.Stmt:
        """A loop inside of the tests that are all that it contains, one in the other."""
        if not isinstance(stmt, s.For) or stmt.kind == s.ForKind.THREAD_BINDING:
            return stmt
        found = self._test_below(stmt.body)
        if found is None or not _independent(found.condition, stmt.loop_var):
            return stmt
        test = _around(stmt, found)
        then_case = self._hoisted(test.then_case)
        return s.IfThenElse(test.condition, then_case, test.else_case, test.span)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        stmt = super().visit_attr_stmt_(op)
        launches = isinstance(stmt, s.AttrStmt) and stmt.attr_key == "thread_extent"
        if self._across_threads and launches and isinstance(stmt, s.AttrStmt):
            found = self._test_below(stmt.body)
            axis = stmt.node
            if found is not None and isinstance(axis, e.IterVar) and (
                _independent(found.condition, axis.var)
            ):  # fmt: skip
                return _around(stmt, found)
        return stmt

    def _test_below(self, stmt: s.Stmt) -> s.IfThenElse | None:
        """The test that is all that `stmt` consists of."""
        while True:
            if isinstance(stmt, s.IfThenElse):
                return stmt
            inner: s.Stmt | None = None
            if self._through_scopes and isinstance(stmt, s.AttrStmt):
                inner = stmt.body if not isinstance(stmt.node, e.IterVar) else None
            if inner is None:
                return None
            stmt = inner


def _independent(condition: PrimExpr, var: e.Var) -> bool:
    for node in walk(condition):
        if node is var or isinstance(node, e.BufferLoad):
            return False
        if isinstance(node, e.Call) and builtin.effect_of(node) > e.CallEffectKind.Pure:
            return False
    return True


def _around(outer: s.For | s.AttrStmt, test: s.IfThenElse) -> s.IfThenElse:
    """The test around two versions of the statement that contained it."""
    then_case = _Replacer(test, test.then_case).visit_stmt(outer)
    else_case = test.else_case
    if else_case is not None:
        copy = _Replacer(test, else_case).visit_stmt(outer)
        else_case = FoldingSubstituter({}, rename=True).visit_stmt(copy)
    return s.IfThenElse(test.condition, then_case, else_case, test.span)


class _Replacer(StmtExprMutator):
    def __init__(self, old: s.Stmt, new: s.Stmt) -> None:
        super().__init__()
        self._old, self._new = old, new

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        return self._new if stmt is self._old else super().visit_stmt(stmt)
