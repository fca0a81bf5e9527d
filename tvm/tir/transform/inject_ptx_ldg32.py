"""Loads of 32 bits under a condition become `ld.global` of PTX with a predicate.

    B[i] = T.if_then_else(p, A[j], T.float32(0))
    ->
    addr[0] = j
    addr[1] = i
    predicate[0] = p
    B[addr[1]] = T.float32(0)
    T.ptx_ldg32("float32", B.data, predicate[0], A[addr[0]], addr[1])

A load that does not run costs no branch then. `B` is memory of the thread; `addr` and `predicate`
are allocated around the outermost allocation that holds such a load, or around the load itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.InjectPTXLDG32")
def InjectPTXLDG32(
    func: PrimFunc, mod: IRModule, ctx: PassContext, enable_inject_ptx_intrin: bool = True
) -> PrimFunc:
    """No load of 32 bits from global memory stands under a condition."""
    return func.with_body(_Injector().visit_stmt(func.body)) if enable_inject_ptx_intrin else func


@dataclass
class _Scratch:
    """Where a load gets its addresses and its condition from."""

    addr: Buffer
    predicate: Buffer
    used: bool = False

    def around(self, stmt: s.Stmt) -> s.Stmt:
        """The statement with this memory, if it uses it."""
        if not self.used:
            return stmt
        always = ops.const(True, "bool")
        for buffer in (self.predicate, self.addr):
            declared = s.DeclBuffer(buffer, stmt, stmt.span)
            stmt = s.Allocate(
                buffer.data, buffer.dtype, buffer.shape, always, declared, None, stmt.span
            )
        return stmt


def _scratch() -> _Scratch:
    return _Scratch(
        decl_buffer((2,), "int32", "addr", scope="local"),
        decl_buffer((1,), "bool", "predicate", scope="local"),
    )


class _Injector(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._scratch: _Scratch | None = None

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        if self._scratch is not None:
            return super().visit_allocate_(op)
        scratch = self._scratch = _scratch()
        stmt = super().visit_allocate_(op)
        self._scratch = None
        return scratch.around(stmt)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        value = op.value
        if not e.is_call_of(value, "tir.if_then_else"):
            return op
        guard, load, other = value.args
        if not isinstance(load, e.BufferLoad) or not _fits(op, load, guard, other):
            return op
        scratch = self._scratch or _scratch()
        scratch.used = True
        made = _loaded(op, load, guard, other, scratch)
        return made if self._scratch is not None else scratch.around(made)


def _fits(op: s.BufferStore, load: e.BufferLoad, guard: PrimExpr, other: PrimExpr) -> bool:
    flat = len(op.indices) == 1 and len(load.indices) == 1
    return (
        flat
        and op.buffer.dtype.bits * op.buffer.dtype.lanes == 32
        and op.buffer.dtype is load.buffer.dtype
        and op.buffer.scope() == "local"
        and load.buffer.scope() == "global"
        and all(index.dtype is ops.const(0).dtype for index in (*op.indices, *load.indices))
        and guard.dtype.is_scalar
        and isinstance(other, (e.IntImm, e.FloatImm))
        and op.predicate is None
    )


def _loaded(
    op: s.BufferStore, load: e.BufferLoad, guard: PrimExpr, other: PrimExpr, scratch: _Scratch
) -> s.Stmt:
    zero, one = ops.const(0), ops.const(1)
    addr, predicate = scratch.addr, scratch.predicate
    into = e.BufferLoad(addr, [one])
    out_of = e.BufferLoad(load.buffer, [e.BufferLoad(addr, [zero])], None, load.span)
    args = [op.buffer.data, e.BufferLoad(predicate, [zero]), out_of, into]
    call = e.Call(op.buffer.dtype, "tir.ptx_ldg32", args, op.span)
    return s.SeqStmt([
        s.BufferStore(addr, load.indices[0], [zero], None, op.span),
        s.BufferStore(addr, op.indices[0], [one], None, op.span),
        s.BufferStore(predicate, guard, [zero], None, op.span),
        s.BufferStore(op.buffer, other, [into], None, op.span),
        s.Evaluate(call, op.span),
    ])  # fmt: skip
