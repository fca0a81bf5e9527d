"""Copies to shared memory that run in the background become `cp.async` of PTX.

    with T.attr(0, "async_scope", 1):
        S[i * 8:i * 8 + 8] = A[j * 8:j * 8 + 8]              # float16
    ->
    T.ptx_cp_async("float16", S.data, i * 8, A.data, j * 8, 16)

A copy of 4, 8 or 16 bytes at once can; `T.if_then_else(p, A[...], 0)` becomes one with the
condition as its last argument. Others stay plain stores, which are no less right.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

SIZES: Final = (4, 8, 16)  # PTX ISA, cp.async: cp-size


@tir_pass("tir.InjectPTXAsyncCopy")
def InjectPTXAsyncCopy(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No store that `cp.async` can make stands in an `async_scope`."""
    return func.with_body(_Injector().visit_stmt(func.body))


class _Injector(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._behind = False

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "async_scope":
            return super().visit_attr_stmt_(op)
        self._behind = True
        body = self.visit_stmt(op.body)
        self._behind = False
        return body

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        shared = op.buffer.scope() in ("shared", "shared.dyn")
        if not self._behind or not shared or op.predicate is not None:
            return op
        if isinstance(op.value, e.BufferLoad):
            return _copied(op, op.value, None) or op
        match op.value:
            case e.Call(args=(guard, e.BufferLoad() as load, nothing)) if _is_choice(op.value):
                if isinstance(guard, e.Broadcast):
                    guard = guard.value
                if guard.dtype.is_scalar and _is_nothing(nothing):
                    return _copied(op, load, guard) or op
        return op


def _is_choice(call: e.Call) -> bool:
    return e.is_call_of(call, "tir.if_then_else")


def _is_nothing(expr: PrimExpr) -> bool:
    value = expr.value if isinstance(expr, e.Broadcast) else expr
    return isinstance(value, (e.IntImm, e.FloatImm)) and value.value == 0


def _copied(store: s.BufferStore, load: e.BufferLoad, guard: PrimExpr | None) -> s.Stmt | None:
    """The copy of one piece, if PTX has one that large."""
    if load.buffer.scope() != "global" or len(store.indices) != 1 or len(load.indices) != 1:
        return None
    into, out_of = _start(store.indices[0]), _start(load.indices[0])
    if into is None or out_of is None or into[1] != out_of[1]:
        return None
    size = store.buffer.dtype.bits * store.buffer.dtype.lanes * into[1] // 8
    if size not in SIZES or store.buffer.dtype is not load.buffer.dtype:
        return None
    args: list[PrimExpr] = [
        store.buffer.data, ops.multiply(into[0], _unit(store.buffer)), load.buffer.data,
        ops.multiply(out_of[0], _unit(load.buffer)), ops.const(size),
    ]  # fmt: skip
    if guard is not None:
        args.append(guard)
    return s.Evaluate(e.Call(store.buffer.dtype, "tir.ptx_cp_async", args), store.span)


def _start(index: PrimExpr) -> tuple[PrimExpr, int] | None:
    """Where a piece begins, and how many elements it has."""
    if index.dtype.is_scalar:
        return index, 1
    if isinstance(index, e.Ramp) and ops.is_one(index.stride):
        lanes = index.lanes
        return (index.base, lanes.value) if isinstance(lanes, e.IntImm) else None
    return None


def _unit(buffer: Buffer) -> int:
    """What one element is in units of the memory: merged memory is counted in bytes."""
    held = buffer.data.type_annotation
    kind = held.element_type if isinstance(held, PointerType) else None
    bytes_ = isinstance(kind, PrimType) and str(kind.dtype) in ("uint8", "int8")
    return buffer.dtype.bits * buffer.dtype.lanes // 8 if bytes_ else 1
