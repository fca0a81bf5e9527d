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
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, distinct, walk

from .nodes_used import MASK, nodes_used
from .pass_form import tir_pass


@tir_pass("tir.UnmaskLocalVectors")
def UnmaskLocalVectors(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No access of local memory that holds nothing but vectors has a mask."""
    if MASK not in nodes_used(func.body):
        return func
    masked = {
        node.buffer.data
        for node in distinct(func.body)
        if isinstance(node, (e.BufferLoad, s.BufferStore)) and node.predicate is not None
    }
    masked = {data for data in masked if _is_local(data)}
    if not masked:
        return func
    uses = _Uses(masked)
    uses.visit_stmt(func.body)
    movable = uses.movable()
    return func.with_body(_Unmasker(movable).visit_stmt(func.body)) if movable else func


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
    fits: bool = True  # False once an access needs its mask, or its offset
    first: int = 0  # of the variables that are bound while it is there
    last: int = 0

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


class _Uses(StmtExprVisitor):
    """How the memory of each allocation is accessed, from one look at every node."""

    def __init__(self, masked: set[e.Var]) -> None:
        super().__init__()
        self._masked = masked
        self._all: list[tuple[s.Allocate, _Memory]] = []
        self._here: dict[e.Var, _Memory] = {}
        self._bound: dict[e.Var, list[int]] = {}  # where each variable gets its values
        self._count = 0

    def movable(self) -> dict[int, tuple[_Memory, dict[int, int]]]:
        """By the identity of the allocation: what can do without masks, and its new offsets."""
        found = {}
        for alloc, memory in self._all:
            if memory.fits and not self._changes(memory):
                offsets = memory.new_offsets()
                if offsets is not None:
                    found[id(alloc)] = memory, offsets
        return found

    def _changes(self, memory: _Memory) -> bool:
        """Whether a mask is not the same wherever the memory is."""
        masks = [use.mask for use in memory.at.values() if use.mask is not None]
        return any(
            isinstance(node, e.BufferLoad)
            or any(memory.first <= at < memory.last for at in self._bound.get(node, ()))
            for mask in masks for node in walk(mask)
            if isinstance(node, (e.BufferLoad, e.Var))
        )  # fmt: skip

    def _bind(self, var: e.Var) -> None:
        self._bound.setdefault(var, []).append(self._count)
        self._count += 1

    def visit_for_(self, op: s.For) -> None:
        self._bind(op.loop_var)
        super().visit_for_(op)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self._bind(op.var)
        super().visit_let_stmt_(op)

    def visit_allocate_(self, op: s.Allocate) -> None:
        data = op.buffer_var
        if data not in self._masked or not op.dtype.is_scalar:
            super().visit_allocate_(op)
            return
        memory = _Memory(op.dtype, first=self._count)
        self._all.append((op, memory))
        outer, self._here = self._here, {**self._here, data: memory}
        super().visit_allocate_(op)
        self._here = outer
        memory.last = self._count

    def visit_expr(self, expr: PrimExpr) -> None:
        """What is read elsewhere than in what a store writes is read whole."""
        for load in self._reads(expr):
            self._here[load.buffer.data].fits = False

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self.visit_exprs(op.indices)
        if op.predicate is not None:
            self.visit_expr(op.predicate)
        loads = self._reads(op.value)
        written = self._here.get(op.buffer.data)
        if written is not None:
            written.fits = written.fits and written.add(op)
        by_lane = bool(loads) and _is_by_lane(op.value)
        for load in loads:
            memory = self._here[load.buffer.data]
            memory.fits = memory.fits and by_lane and _same_mask(load, op) and memory.add(load)

    def _reads(self, expr: PrimExpr) -> list[e.BufferLoad]:
        """The loads from memory that is looked at."""
        loads = []
        for node in walk(expr):
            if isinstance(node, e.BufferLoad):
                if node.buffer.data in self._here:
                    loads.append(node)
            elif isinstance(node, e.Var):
                if node in self._here:  # its address is taken
                    self._here[node].fits = False
            elif isinstance(node, e.Let):
                self._bind(node.var)
        return loads


def _is_by_lane(value: PrimExpr) -> bool:
    """True if each lane of a value depends on nothing but that lane of what it is made of."""
    if value.dtype.is_scalable:
        return False
    return all(
        not node.dtype.is_scalable and node.dtype.lanes in (1, value.dtype.lanes)
        and not isinstance(node, e.Shuffle)
        for node in walk(value)
    )


def _same_mask(load: e.BufferLoad, store: s.BufferStore) -> bool:
    if load.predicate is None or store.predicate is None:
        return load.predicate is store.predicate
    return expr_deep_equal(load.predicate, store.predicate)


class _Unmasker(StmtExprMutator):
    def __init__(self, movable: dict[int, tuple[_Memory, dict[int, int]]]) -> None:
        super().__init__()
        self._movable = movable
        self._found: dict[e.Var, tuple[_Memory, dict[int, int]]] = {}
        self._buffers: dict[tuple[Buffer, int], Buffer] = {}  # of a size

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        movable = self._movable.get(id(op))
        if movable is None:
            return super().visit_allocate_(op)
        self._found[op.buffer_var] = found, new_offsets = movable
        body = self.visit_stmt(op.body)
        del self._found[op.buffer_var]  # another allocation may have the same variable
        size = len(new_offsets) * found.lanes
        return s.Allocate(
            op.buffer_var, op.dtype, [size], op.condition, body, op.annotations, op.span
        )

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
        found, new_offsets = self._found[old.data]
        size = len(new_offsets) * found.lanes
        if (old, size) not in self._buffers:
            self._buffers[old, size] = decl_buffer(
                [size], old.dtype, old.name, old.data, scope="local",
                data_alignment=old.data_alignment,
            )  # fmt: skip
        return self._buffers[old, size]

    def _moved(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        found, new_offsets = self._found[buffer.data]
        (ramp,) = indices
        assert isinstance(ramp, e.Ramp), "looked at before"
        assert isinstance(ramp.base, e.IntImm), "looked at before"
        base = e.IntImm(ramp.base.dtype, new_offsets[ramp.base.value])
        return [e.Ramp(base, ramp.stride, found.lanes, ramp.span)]
