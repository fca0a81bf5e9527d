"""Keep a buffer in another data type."""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Cast, Var
from tvm.tir.schedule.analysis.query import block_of, buffer_at, require_allocated
from tvm.tir.schedule.buffers import BufferReplacer, replace_buffers
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import BufferStore, Stmt

KIND = kind("UnsafeSetDType", "unsafe_set_dtype", "block", "=buffer_index", "=dtype")


class _Casting(BufferReplacer):
    """Stores cast to the new type, loads cast back, so that values keep their old type."""

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        new = self._fixed.get(op.buffer)
        if new is None:
            return super().visit_buffer_load_(op)
        load = BufferLoad(new, self.visit_exprs(op.indices), op.predicate, op.span)
        return Cast(op.dtype, load)

    def visit_buffer_store_(self, op: BufferStore) -> Stmt:
        new = self._fixed.get(op.buffer)
        if new is None:
            return super().visit_buffer_store_(op)
        value = self.visit_expr(op.value)
        target = new.dtype.with_lanes(value.dtype.lanes)
        indices = self.visit_exprs(op.indices)
        return BufferStore(new, Cast(target, value), indices, op.predicate, op.span)


def unsafe_set_dtype(state: SRefTree, block: StmtSRef, buffer_index: int, dtype: str) -> None:
    """Change the type of a buffer that the block writes; values are rounded on the way.

    B[i] = A[i]; C[i] = B[i]  ->  B[i] = cast(dtype, A[i]); C[i] = cast(old, B[i])
    """
    buffer = buffer_at(block_of(block), buffer_index, written=True)
    target = DataType(dtype)
    if buffer.dtype is target:
        return
    site = require_allocated(state, block, buffer)

    def retyped(old: Buffer) -> Buffer:
        data = Var(old.data.name, PointerType(PrimType(target), old.scope()), old.data.span)
        return old.with_changes(data=data, dtype=target)

    replace_buffers(state, site, _Casting({buffer: retyped(buffer)}, retyped))
