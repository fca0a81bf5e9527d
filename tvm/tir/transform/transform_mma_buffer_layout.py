"""Fragments of `mma.m16n8k8` become registers: of each tile a thread holds its own elements.

    C = T.alloc_buffer((64, 32), scope="m16n8k8.matrixC")    ->    (4, 4, 2, 2), scope="local"
    C[i, j]                                   ->    C[i // 8 // 2, j // 8, i // 8 % 2, j % 8 % 2]

Matrix A is made of tiles of 32 x 8, matrix B of 8 x 32, of which a thread holds 4 x 2 elements;
both are filled and read by intrinsics, which take the memory as a whole.
"""

from __future__ import annotations

from typing import Final, NoReturn

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

MATRIX_C: Final = "m16n8k8.matrixC"
# The extents of a tile, and those of what a thread holds of it.
_TILES: Final = {
    MATRIX_C: ((16, 8), (2, 2)), "m16n8k8.matrixA": ((32, 8), (4, 2)),
    "m16n8k8.matrixB": ((8, 32), (4, 2)),
}  # fmt: skip


@tir_pass("tir.TransformMmaBufferLayout")
def TransformMmaBufferLayout(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No buffer has a scope of `m16n8k8`."""
    return func.with_body(_Transformer().visit_stmt(func.body))


def _refuse(found: str, legal: str, where: object) -> NoReturn:
    asked = "TransformMmaBufferLayout: put a fragment into registers"
    raise CheckError(message(asked, found=found, where=str(where), legal=legal))


class _Transformer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._data: dict[e.Var, e.Var] = {}

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        tile = _TILES.get(buffer.scope())
        if tile is None:
            return super().visit_buffer_def(buffer)
        outer = buffer.shape[:-2]
        rows, columns = buffer.shape[-2:] if len(buffer.shape) > 1 else (None, None)
        (high, wide), own = tile
        down = rows.value if isinstance(rows, e.IntImm) else 1  # one is no multiple
        across = columns.value if isinstance(columns, e.IntImm) else 1
        if down % high or across % wide:
            _refuse(f"{buffer.name} of shape {list(buffer.shape)}",
                    f"a multiple of {high} rows and of {wide} columns", buffer)  # fmt: skip
        kind = buffer.data.type_annotation
        assert isinstance(kind, PointerType), "the memory of a buffer"
        data = e.Var(buffer.data.name, PointerType(kind.element_type, "local"), buffer.data.span)
        shape: list[PrimExpr | int] = [*outer, down // high, across // wide, *own]
        made = Buffer(
            data, buffer.dtype, shape, name=buffer.name, axis_separators=buffer.axis_separators,
            span=buffer.span,
        )  # fmt: skip
        self._data[buffer.data] = data
        self.buffers[buffer] = made
        return made

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._data.get(op, op)

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        if region.buffer.scope() in _TILES and region.buffer in self.buffers:
            return s.BufferRegion.full_region(self.buffers[region.buffer])
        return super().visit_region(region)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        if op.buffer.data not in self._data:
            return super().visit_buffer_store_(op)
        indices = self._indices(op.buffer, op.indices)
        value = self.visit_expr(op.value)
        return s.BufferStore(self.buffers[op.buffer], value, indices, op.predicate, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        if op.buffer.data not in self._data:
            return super().visit_buffer_load_(op)
        indices = self._indices(op.buffer, op.indices)
        return e.BufferLoad(self.buffers[op.buffer], indices, op.predicate, op.span)

    def _indices(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        if buffer.scope() != MATRIX_C:
            _refuse(f"an access of one element of {buffer.name}, whose scope is {buffer.scope()}",
                    f"intrinsics; elements of {MATRIX_C}", buffer)  # fmt: skip
        *outer, i, j = self.visit_exprs(indices)
        half = ops.floordiv(i, 8)
        return [*outer, ops.floordiv(half, 2), ops.floordiv(j, 8), ops.floormod(half, 2),
                ops.floormod(ops.floormod(j, 8), 2)]  # fmt: skip
