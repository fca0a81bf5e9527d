"""Stores of a value that may be anything are gone.

    B[i] = T.undef()     ->     (nothing)

Raises TVMError where such a value is used for more than being stored or let out of a condition.
"""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk

from .pass_form import tir_pass
from .remove_no_op import RemoveNoOp


@tir_pass("tir.RemoveStoreUndefInternal")
def _RemoveStoreUndefInternal(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    return func.with_body(_UndefRemover().visit_stmt(func.body))


@tir_pass("tir.ValidateAllUndefRemoved")
def _ValidateAllUndefRemoved(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    if any(_is_undef(node) for node in walk(func.body)):
        raise CheckError(
            message(
                "RemoveStoreUndef",
                found="T.undef() as part of another expression",
                legal="a store of T.undef() alone, or a let that is stored",
            )
        )
    return func


def RemoveStoreUndef() -> Sequential:
    """No `T.undef` is left."""
    passes = [_RemoveStoreUndefInternal(), RemoveNoOp(), _ValidateAllUndefRemoved()]
    return Sequential(passes, name="tir.RemoveStoreUndef")


def _is_undef(node: object) -> bool:
    return e.is_call_of(node, "tir.undef")


class _UndefRemover(StmtExprMutator):
    """Follows lets: what is made of an undefined value is undefined too."""

    def __init__(self) -> None:
        super().__init__()
        self._undefined: set[e.Var] = set()

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def _is_undefined(self, value: PrimExpr) -> bool:
        return any(_is_undef(node) or node in self._undefined for node in walk(value))

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        if not self._is_undefined(op.value):
            return super().visit_let_stmt_(op)
        self._undefined.add(op.var)
        return self.visit_stmt(op.body)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        for index in op.indices:
            if self._is_undefined(index):
                raise CheckError(
                    message(
                        f"RemoveStoreUndef: store to {op.buffer.name}",
                        found="T.undef() in an index",
                        legal="T.undef() as the stored value only",
                    )
                )
        for node in walk(op.value):
            if isinstance(node, e.BufferLoad) and any(map(self._is_undefined, node.indices)):
                raise CheckError(
                    message(
                        f"RemoveStoreUndef: load from {node.buffer.name}",
                        found="T.undef() in an index",
                        legal="T.undef() as the stored value only",
                    )
                )
        return s.Evaluate(0, op.span) if self._is_undefined(op.value) else op
