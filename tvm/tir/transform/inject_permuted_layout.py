"""Rows of shared memory are permuted, so that threads that read a column use all banks.

    S[r, c]        ->        S[r, ((c // 8) ^ (r % 8)) * 8 + c % 8]

in blocks annotated with `permuted_layout`: loads and stores of shared memory, and addresses that
`ptx_ldmatrix` and `mma_store` get by `tvm_access_ptr`. Eight elements of 16 bits, what a thread
reads at once, stay together. Rows of 32 (not 64) elements are permuted in pairs: r % 8 // 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import bitwise_xor

from .analyzed_mutator import AnalyzedMutator
from .pass_form import tir_pass

MARK: Final = "permuted_layout"
CHUNK_ELEMENTS: Final = 8


@tir_pass("tir.InjectPermutedLayout")
def InjectPermutedLayout(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No block asks for permuted rows."""
    return func.with_body(_Permuter(func).visit_stmt(func.body))


def _refuse(found: str, legal: str, where: object) -> NoReturn:
    asked = "InjectPermutedLayout: permute the rows of shared memory"
    raise CheckError(message(asked, found=found, where=str(where), legal=legal))


class _Permuter(AnalyzedMutator):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__(func)
        self._permute = False
        self._by_data = {buffer.data: buffer for buffer in func.buffer_map.values()}

    def visit_block_(self, op: s.Block) -> s.Stmt:
        self._by_data |= {buffer.data: buffer for buffer in op.alloc_buffers}
        self._by_data |= {m.buffer.data: m.buffer for m in op.match_buffers}
        mark = op.annotations.get(MARK)
        asked = bool(mark.value) if isinstance(mark, (e.IntImm, e.StringImm)) else bool(mark)
        outer, self._permute = self._permute, self._permute or asked
        body = self.visit_stmt(op.body)
        init = None if op.init is None else self.visit_stmt(op.init)
        self._permute = outer
        kept = {key: value for key, value in op.annotations.items() if key != MARK}
        annotations = kept if asked else op.annotations
        return with_fields(op, body=body, init=init, annotations=annotations)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        if not isinstance(new, s.BufferStore) or not self._is_meant(new.buffer):
            return new
        return with_fields(new, indices=tuple(self._moved(new.buffer, new.indices)))

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        if not isinstance(new, e.BufferLoad) or not self._is_meant(new.buffer):
            return new
        indices = self._moved(new.buffer, new.indices)
        return e.BufferLoad(new.buffer, indices, new.predicate, new.span)

    def _is_meant(self, buffer: Buffer) -> bool:
        shared = buffer.scope().startswith("shared")
        return self._permute and shared and len(buffer.shape) >= 2

    def _moved(self, buffer: Buffer, indices: Sequence[PrimExpr]) -> list[PrimExpr]:
        *outer, row, column = indices
        return [*outer, row, self._column(row, column, _row_size(buffer))]

    def _column(self, row: PrimExpr, column: PrimExpr, size: int) -> PrimExpr:
        piece = ops.floordiv(column, CHUNK_ELEMENTS)
        turn = ops.floormod(row, 8)
        if size % 64:
            turn = ops.floordiv(turn, 2)
        moved = ops.multiply(bitwise_xor(piece, turn), CHUNK_ELEMENTS)
        return self.analyzer.simplify(ops.add(moved, ops.floormod(column, CHUNK_ELEMENTS)))

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        if not self._permute or not isinstance(new, e.Call):
            return new
        args = list(new.args)
        name = e.op_name(new)
        if name == "tir.ptx_ldmatrix":
            args[5] = self._pointer(args[5], args[6])
            args[6] = ops.const(0, args[6].dtype)
        elif name == "tir.mma_store":
            args[2] = self._pointer(args[2], None)
        else:
            return new
        return e.Call(new.dtype, new.op, args, new.span)

    def _pointer(self, pointer: PrimExpr, more: PrimExpr | None) -> PrimExpr:
        """The access pointer at the permuted offset; a further offset is part of it then."""
        if not e.is_call_of(pointer, "tir.tvm_access_ptr"):
            _refuse(f"the pointer {pointer}", "T.tvm_access_ptr(...)", pointer)
        data = pointer.args[1]
        buffer = self._by_data.get(data) if isinstance(data, e.Var) else None
        if buffer is None:
            _refuse(f"no buffer with the memory {data}", "memory of a buffer", pointer)
        size = _row_size(buffer)
        offset = pointer.args[2] if more is None else ops.add(pointer.args[2], more)
        row, column = ops.floordiv(offset, size), ops.floormod(offset, size)
        moved = ops.add(ops.multiply(row, size), self._column(row, column, size))
        args = [*pointer.args[:2], self.analyzer.simplify(moved), *pointer.args[3:]]
        return e.Call(pointer.dtype, pointer.op, args, pointer.span)


def _row_size(buffer: Buffer) -> int:
    *_, rows, size = buffer.shape if len(buffer.shape) > 1 else (0, 0)
    if not isinstance(size, e.IntImm) or not isinstance(rows, e.IntImm):
        _refuse(f"buffer {buffer.name} of shape {list(buffer.shape)}",
                "at least two dimensions, the last two literal", buffer)  # fmt: skip
    if size.value % 64 and (size.value % 32 or rows.value % 2):
        _refuse(f"rows of {size.value} elements in {buffer.name}",
                "rows of a multiple of 64, or, if their number is even, of 32", buffer)  # fmt: skip
    return size.value


