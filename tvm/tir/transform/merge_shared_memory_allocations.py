"""A kernel has one allocation of dynamic shared memory.

    A = allocate([32], "float32", "shared.dyn")        buf = allocate([192], "uint8", "shared.dyn")
    B = allocate([16], "float32", "shared.dyn")  ->    A = buffer at buf
    A[0] = B[1]                                        B = buffer at buf
                                                       A[0] = B[32 + 1]

Memory that is no longer in use is used again. Offsets are multiples of 16 bytes and of what the
type needs. With the option `tir.merge_static_smem` the allocations of scope `shared` become one,
too. Buffers keep their shapes.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.tir import expr as e
from tvm.tir import op as ops
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, walk

from .lifetimes import Life, Lives
from .pass_form import tir_pass

ALIGNMENT = 16
_NAMES = {"shared.dyn": "buf_dyn_shmem", "shared": "buf_shmem"}


@tir_pass("tir.MergeSharedMemoryAllocations")
def MergeSharedMemoryAllocations(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """At most one allocation of dynamic shared memory is left in a kernel."""
    scopes = ["shared.dyn"]
    if ctx.option("tir.merge_static_smem", False):
        scopes.append("shared")
    for scope in scopes:
        func = func.with_body(_Kernels(scope).visit_stmt(func.body))
    return func


def _scope(op: s.Allocate) -> str:
    return str(getattr(op.buffer_var.type_annotation, "storage_scope", ""))


class _Kernels(StmtExprMutator):
    """Merges within each outermost launch, what is allocated around it too."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope
        self._around: list[s.Allocate] = []

    def _allocations(self, stmt: s.Stmt) -> list[s.Allocate]:
        return [n for n in statements(stmt, s.Allocate) if _scope(n) == self._scope]

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        launched = any(n.attr_key == "thread_extent" for n in statements(op.body, s.AttrStmt))
        several = len(self._allocations(op)) + len(self._around) > 1
        if _scope(op) != self._scope or not launched or not several:
            return super().visit_allocate_(op)
        self._around.append(op)
        body = self.visit_stmt(op.body)
        self._around.pop()
        return body

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "thread_extent":
            return super().visit_attr_stmt_(op)
        found = [*self._around, *self._allocations(op.body)]
        if len(found) < 2 and not self._around:
            return op
        sizes = {one.buffer_var: _bytes(one) for one in found}
        lives = Lives(lambda a: _known(sizes.get(a.buffer_var)))
        whole = op.body
        for one in reversed(self._around):
            whole = with_fields(one, body=whole)
        lives.visit_stmt(whole)
        # until the end: nobody says when a copy has arrived, or writes that nobody reads are done
        for var in (*_filled_later(op.body), *_unread(sizes, op.body)):
            if var in lives.entries:
                lives.entries[var].last = max(life.last for life in lives.entries.values())
        memory = e.Var(_NAMES[self._scope], PointerType(PrimType("uint8"), self._scope))
        offsets, total = _planned(found, lives, sizes)
        body = _Merger(memory, offsets).visit_stmt(op.body)
        true = ops.const(True, "bool")
        merged = s.Allocate(memory, "uint8", [total], true, body, span=op.span)
        return s.AttrStmt(op.node, op.attr_key, op.value, merged, op.span)


def _filled_later(body: s.Stmt) -> list[e.Var]:
    """Memory into which copies run beside the program."""
    return [
        n.args[0]
        for n in walk(body)
        if e.is_call_of(n, "tir.ptx_cp_async") and isinstance(n.args[0], e.Var)
    ]


def _unread(sizes: dict[e.Var, PrimExpr], body: s.Stmt) -> list[e.Var]:
    """Memory that is only written."""
    read = {n.buffer.data if isinstance(n, e.BufferLoad) else n
            for n in walk(body) if isinstance(n, (e.BufferLoad, e.Var))}  # fmt: skip
    return [var for var in sizes if var not in read]


def _bytes(op: s.Allocate) -> PrimExpr:
    size: PrimExpr = ops.const(op.dtype.itemsize, "int32")
    for extent in op.extents:
        size = extent * size if isinstance(size, e.IntImm) else size * extent
    return size


def _known(size: PrimExpr | None) -> int | None:
    return size.value if isinstance(size, e.IntImm) else None


def _aligned(value: int, step: int) -> int:
    return (value + step - 1) // step * step


def _planned(
    found: list[s.Allocate], lives: Lives, sizes: dict[e.Var, PrimExpr]
) -> tuple[dict[e.Var, PrimExpr], PrimExpr]:
    """Where each allocation begins, in bytes, and how many there are in all."""
    offsets: dict[e.Var, PrimExpr] = {}
    assigned: list[tuple[Life, int, int]] = []
    end = 0
    known = [life for life in lives.entries.values() if life.first is not None]
    for life in sorted(known, key=lambda one: one.first or 0):
        taken = sorted(
            (start, stop) for other, start, stop in assigned if other.last >= (life.first or 0)
        )
        step = max(ALIGNMENT, life.op.dtype.itemsize)
        offset = 0
        for first, stop in taken:
            if offset + life.size <= first:
                break
            offset = max(offset, _aligned(stop, step))
        assigned.append((life, offset, offset + life.size))
        end = max(end, offset + life.size)
        offsets[life.op.buffer_var] = ops.const(offset, "int32")
    total: PrimExpr = ops.const(end, "int32")
    for op in found:
        if op.buffer_var in offsets:
            continue
        if op.buffer_var in lives.entries:  # nothing uses it
            offsets[op.buffer_var] = ops.const(0, "int32")
            continue
        # sizes that are not known come last; each is as long as its type needs
        start = total if isinstance(total, e.IntImm) and total.value == 0 else _up(total)
        offsets[op.buffer_var] = start
        total = start + sizes[op.buffer_var]
    return offsets, total


def _up(total: PrimExpr) -> PrimExpr:
    if isinstance(total, e.IntImm):
        return ops.const(_aligned(total.value, ALIGNMENT), total.dtype)
    return ops.floordiv(total + (ALIGNMENT - 1), ALIGNMENT) * ALIGNMENT


class _Merger(StmtExprMutator):
    """Moves accesses into the one allocation."""

    def __init__(self, memory: e.Var, offsets: dict[e.Var, PrimExpr]) -> None:
        super().__init__()
        self._memory, self._offsets = memory, offsets
        self._moved: dict[Buffer, Buffer] = {}

    def _first(self, var: e.Var, itemsize: int) -> PrimExpr:
        """The number of the element at which the memory of `var` begins."""
        offset = self._offsets[var]
        if isinstance(offset, e.IntImm):
            return ops.const(offset.value // itemsize, offset.dtype)
        return ops.floordiv(offset, itemsize)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        if op.buffer_var in self._offsets:
            return self.visit_stmt(op.body)
        return super().visit_allocate_(op)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        if buffer.data not in self._offsets:
            return super().visit_buffer_use(buffer)
        known = self._moved.get(buffer)
        if known is None:
            known = self._moved[buffer] = buffer.with_changes(data=self._memory)
        return known

    def _moved_indices(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        if len(indices) != 1:
            raise ValueError(
                f"MergeSharedMemoryAllocations: buffer {buffer.name} has {len(indices)} "
                "dimensions; legal: flat buffers, as FlattenBuffer makes them"
            )
        first = self._first(buffer.data, buffer.dtype.itemsize)
        return [ops.add(indices[0], first)]

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        if op.buffer.data not in self._offsets or not isinstance(new, e.BufferLoad):
            return new
        indices = self._moved_indices(op.buffer, new.indices)
        return e.BufferLoad(new.buffer, indices, new.predicate, new.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        if op.buffer.data not in self._offsets or not isinstance(new, s.BufferStore):
            return new
        indices = self._moved_indices(op.buffer, new.indices)
        return s.BufferStore(new.buffer, new.value, indices, new.predicate, new.span)

    def _copied(self, op: e.Call) -> PrimExpr:
        """A copy counts the bytes of the merged memory."""
        data, offset, *others = op.args
        itemsize = op.dtype.itemsize
        moved = ops.add(self._first(data, itemsize), self.visit_expr(offset))
        args = [self._memory, ops.multiply(moved, itemsize), *self.visit_exprs(tuple(others))]
        return e.Call(op.dtype, op.op, args, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        name = e.op_name(op)
        if name == "tir.ptx_cp_async" and op.args[0] in self._offsets:
            return self._copied(op)
        if name != "tir.tvm_access_ptr" or op.args[1] not in self._offsets:
            return super().visit_call_(op)
        kind, data, offset, extent, mask = op.args
        assert isinstance(data, e.Var), "its memory was looked up"
        first = self._first(data, kind.dtype.itemsize)
        moved = ops.add(self.visit_expr(offset), first)
        args = [kind, self._memory, moved, self.visit_expr(extent), mask]
        return e.Call(op.dtype, op.op, args, op.span)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        if op not in self._offsets:
            return op
        offset = self._offsets[op]
        if isinstance(offset, e.IntImm) and offset.value == 0:
            return self._memory
        return e.Call("handle", "tir.handle_add_byte_offset", [self._memory, offset])
