"""Vectors in local memory are whole: each has elements of its own, and no mask.

    acc = alloc(28)                                    acc = alloc(32)
    acc[0:16 if lane < 14] = acc[...] + A[...]   ->    acc[0:16] = acc[...] + A[... if lane < 14]
    acc[14:30 if lane < 14] = ...                      acc[16:32] = ...
    B[0:16 if lane < 14] = acc[0:16 if lane < 14]      B[0:16 if lane < 14] = acc[0:16]

Lanes outside of the mask then hold something that nobody looks at: every read is part of a store
under the same mask. Only such memory can be kept in registers.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, walk

from .nodes_used import MASK, nodes_used
from .pass_form import tir_pass


@tir_pass("tir.UnmaskLocalVectors")
def UnmaskLocalVectors(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No access of local memory that holds nothing but vectors has a mask."""
    if MASK not in nodes_used(func.body):
        return func
    masked = {
        node.buffer.data
        for node in walk(func.body)
        if isinstance(node, (e.BufferLoad, s.BufferStore)) and node.predicate is not None
    }
    if not any(map(_is_local, masked)):
        return func
    return func.with_body(_Unmasker(masked).visit_stmt(func.body))


def _is_local(data: e.Var) -> bool:
    return str(getattr(data.type_annotation, "storage_scope", "")) == "local"


@dataclass
class _VectorUse:
    """How the vectors at one offset are accessed."""

    used: int = 0  # lanes that an access may touch
    mask: PrimExpr | None = None
    read_whole: bool = False


@dataclass
class _Memory:
    """How one allocation is accessed."""

    dtype: DataType
    lanes: int = 0
    at: dict[int, _VectorUse] = field(default_factory=dict)

    def new_offsets(self) -> dict[int, int] | None:
        """Old offsets to new ones; None if vectors share elements, or none has a mask."""
        order = sorted(self.at)
        if any(low + self.at[low].used > high for low, high in itertools.pairwise(order)):
            return None
        if all(use.mask is None for use in self.at.values()):
            return None
        return {offset: number * self.lanes for number, offset in enumerate(order)}

    def add(self, access: s.BufferStore | e.BufferLoad) -> bool:
        """One more access; False if it is not one of a whole vector at a constant offset."""
        ramp = access.indices[0]
        if len(access.indices) != 1 or access.buffer.dtype != self.dtype:
            return False
        if not isinstance(ramp, e.Ramp) or not isinstance(ramp.base, e.IntImm):
            return False
        if not isinstance(ramp.stride, e.IntImm) or ramp.stride.value != 1:
            return False
        lanes, mask = ramp.dtype.lanes, access.predicate
        if ramp.dtype.is_scalable or lanes != (self.lanes or lanes):
            return False
        self.lanes = lanes
        use = self.at.setdefault(ramp.base.value, _VectorUse())
        use.used = max(use.used, lanes if mask is None else _active(mask, lanes))
        if mask is None:
            use.read_whole |= isinstance(access, e.BufferLoad)
        elif use.mask is None:
            use.mask = mask
        elif not expr_deep_equal(mask, use.mask):
            return False
        return not (use.read_whole and use.mask is not None)


def _active(mask: PrimExpr, lanes: int) -> int:
    """The most lanes of a mask that may be true, where the first ones are."""
    if isinstance(mask, e.LT) and isinstance(mask.a, e.Ramp) and isinstance(mask.b, e.Broadcast):
        start, step, end = mask.a.base, mask.a.stride, mask.b.value
        by_one = isinstance(step, e.IntImm) and step.value == 1
        if by_one and isinstance(start, e.IntImm) and isinstance(end, e.IntImm):
            return max(0, min(lanes, end.value - start.value))
    return lanes


def _memory(alloc: s.Allocate) -> _Memory | None:
    """How the memory is accessed; None if an access needs its mask, or its offset."""
    data = alloc.buffer_var
    if not _is_local(data) or not alloc.dtype.is_scalar:
        return None
    found = _Memory(alloc.dtype)
    inside = {id(node.loop_var) for node in statements(alloc.body, s.For)}
    inside |= {id(node.var) for node in walk(alloc.body) if isinstance(node, (s.LetStmt, e.Let))}
    loads = 0
    for node in walk(alloc.body):
        if node is data or (isinstance(node, e.BufferLoad) and node.buffer.data is data):
            loads += 1
        elif isinstance(node, s.BufferStore):
            reads = [n for n in walk(node.value) if isinstance(n, e.BufferLoad)]
            own = [n for n in reads if n.buffer.data is data]
            loads -= len(own)
            if not _keeps_lanes(node, own, data, found):
                return None
    if loads:  # elsewhere than in what a store writes
        return None
    masks = [use.mask for use in found.at.values() if use.mask is not None]
    changing = any(
        id(n) in inside or isinstance(n, e.BufferLoad) for mask in masks for n in walk(mask)
    )
    return None if changing else found


def _keeps_lanes(
    store: s.BufferStore, own: list[e.BufferLoad], data: e.Var, found: _Memory
) -> bool:
    """True if what a store writes to a lane depends on nothing but that lane of the memory."""
    if store.buffer.data is data:
        if not found.add(store):
            return False
    elif not own:
        return True
    for load in own:
        same = load.predicate is None if store.predicate is None else (
            load.predicate is not None and expr_deep_equal(load.predicate, store.predicate)
        )
        if not same or not found.add(load):
            return False
    return not own or all(
        getattr(node, "dtype", store.value.dtype).lanes in (1, store.value.dtype.lanes)
        and not isinstance(node, e.Shuffle)
        for node in walk(store.value)
    )


class _Unmasker(StmtExprMutator):
    def __init__(self, masked: set[e.Var]) -> None:
        super().__init__()
        self._masked = masked
        self._found: dict[e.Var, tuple[_Memory, dict[int, int]]] = {}
        self._buffers: dict[Buffer, Buffer] = {}

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        found = _memory(op) if op.buffer_var in self._masked else None
        new_offsets = None if found is None else found.new_offsets()
        if found is None or new_offsets is None:
            return super().visit_allocate_(op)
        self._found[op.buffer_var] = (found, new_offsets)
        size = len(new_offsets) * found.lanes
        return s.Allocate(
            op.buffer_var, op.dtype, [size], op.condition, self.visit_stmt(op.body),
            op.annotations, op.span,
        )  # fmt: skip

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        if op.buffer.data not in self._found:
            return super().visit_decl_buffer_(op)
        return s.DeclBuffer(self._buffer(op.buffer), self.visit_stmt(op.body), op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        if op.buffer.data not in self._found:
            return super().visit_buffer_load_(op)
        buffer, indices = self._buffer(op.buffer), self._moved(op.buffer, op.indices)
        return e.BufferLoad(buffer, indices, None, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        if op.buffer.data not in self._found:
            return super().visit_buffer_store_(op)
        return s.BufferStore(
            self._buffer(op.buffer), self.visit_expr(op.value), self._moved(op.buffer, op.indices),
            None, op.span,
        )  # fmt: skip

    def _buffer(self, old: Buffer) -> Buffer:
        """The buffer with its new size."""
        if old not in self._buffers:
            found, new_offsets = self._found[old.data]
            size = len(new_offsets) * found.lanes
            self._buffers[old] = decl_buffer(
                [size], old.dtype, old.name, old.data, scope="local",
                data_alignment=old.data_alignment,
            )  # fmt: skip
        return self._buffers[old]

    def _moved(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        found, new_offsets = self._found[buffer.data]
        (ramp,) = indices
        assert isinstance(ramp, e.Ramp), "looked at before"
        assert isinstance(ramp.base, e.IntImm), "looked at before"
        base = e.IntImm(ramp.base.dtype, new_offsets[ramp.base.value])
        return [e.Ramp(base, ramp.stride, found.lanes, ramp.span)]
