"""Memory of a software pipeline: how many versions a buffer needs, and which one is meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op import arith as ops


@dataclass(frozen=True)
class Staged:
    """A statement of the pipeline: its stage, its position, and whether it is asynchronous."""

    block: s.Block
    stage: int
    order: int
    behind: bool


def versions_needed(buffer: Buffer, info: Sequence[Staged], doubled: bool) -> int:
    """One for each stage from the first that writes the buffer to the last that reads it.

    One does in place of two where no writer stands before a reader of a later stage: what is there
    is then read before it is written anew. Longer pipelines keep all, as asynchronous copies of a
    stage may be under way when the oldest version is read.
    """
    writers = [one for one in info if _region(buffer, one.block.writes) is not None]
    readers = [one for one in info if _region(buffer, one.block.reads) is not None]
    if not writers:
        return 1  # made outside
    last = max([one.stage for one in readers], default=-1)
    count = last - min(one.stage for one in writers) + 1
    if count == 2 and not any(_meet(buffer, w, r) for w in writers for r in readers):
        count -= 1
    return max(count, 2 if doubled else 1)


def _region(buffer: Buffer, regions: Sequence[s.BufferRegion]) -> s.BufferRegion | None:
    return next((region for region in regions if region.buffer is buffer), None)


def _meet(buffer: Buffer, writer: Staged, reader: Staged) -> bool:
    if writer.order >= reader.order or writer.stage >= reader.stage:
        return False
    written, read = _region(buffer, writer.block.writes), _region(buffer, reader.block.reads)
    assert written is not None and read is not None, "chosen for this buffer"
    return all(_may_overlap(a, b) for a, b in zip(written.region, read.region))


def _may_overlap(a: Range, b: Range) -> bool:
    apart = ops.logical_or(a.min + a.extent <= b.min, b.min + b.extent <= a.min)
    return not Analyzer().can_prove(apart)


# Operators that take memory and then an offset: the argument indices of the memory.
_POINTED: Final = {"tir.tvm_access_ptr": (1,), "tir.ptx_mma": (6, 8, 10), "tir.mma_store": (3,),
                   "tir.mma_fill": (1,), "tir.ptx_ldmatrix": (3, 5)}  # fmt: skip

# Operators on fragments of matrices: the argument indices of the memory and of the number of the
# fragment within it.
_NUMBERED: Final = {
    "tir.tvm_mma_sync": ((0, 1), (2, 3), (4, 5), (6, 7)),
    "tir.simdgroup_multiply_accumulate": ((0, 1), (2, 3), (4, 5), (6, 7)),
    "tir.tvm_fill_fragment": ((0, 4),), "tir.tvm_load_matrix_sync": ((0, 4),),
    "tir.tvm_store_matrix_sync": ((0, 4),), "tir.simdgroup_load": ((0, 1),),
    "tir.simdgroup_store": ((0, 1),), "tir.make_filled_simdgroup_matrix": ((0, 1),),
}  # fmt: skip
_SIMDGROUP_SIZE: Final = 64
# Calls count the elements of a thread there; TransformMmaBufferLayout makes registers of it.
_IN_REGISTERS: Final = "m16n8k8."
_WARP: Final = MATRIX_THREADS["cuda"]


def _fragment_sizes(stmt: s.Stmt) -> dict[e.Var, int]:
    """How many elements the fragments have that a statement loads, fills or stores."""
    found: dict[e.Var, int] = {}
    for call in walk(stmt):
        if not isinstance(call, e.Call):
            continue
        positions = _NUMBERED.get(e.op_name(call), ())
        if positions != ((0, 4),) or not isinstance(call.args[0], e.Var):
            continue
        m, n, k = (a.value if isinstance(a, e.IntImm) else 0 for a in call.args[1:4])
        kept = call.args[0].type_annotation
        scope = kept.storage_scope if isinstance(kept, PointerType) else ""
        found[call.args[0]] = {"wmma.matrix_a": m * k, "wmma.matrix_b": k * n}.get(scope, m * n)
    return found


class Versions(StmtExprMutator):
    """Statements of one iteration, with the version that is that iteration's."""

    def __init__(
        self,
        loop: s.For,
        count: Mapping[Buffer, int],
        by_data: Mapping[e.Var, Buffer],
        all_versions: bool,
    ) -> None:
        super().__init__()
        self._loop, self._all = loop, all_versions
        self._known = dict(by_data)
        self._fragments = _fragment_sizes(loop.body)
        self.remap: Final = {b: _with_versions(b, n) for b, n in count.items() if n > 1}
        self.by_data: Final = {new.data: new for new in self.remap.values()}

    def rewritten(self, block: s.Block) -> s.Block:
        """The block, with its memory in versions."""
        new = self.visit_stmt(block)
        assert isinstance(new, s.Block), "a block stays one"
        return new

    def _version(self, new: Buffer) -> PrimExpr:
        iteration = ops.subtract(self._loop.loop_var, self._loop.min)
        return ops.floormod(iteration, new.shape[0])

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        new = self.remap.get(region.buffer)
        if new is None:
            return super().visit_region(region)
        one = Range.from_min_extent(self._version(new), 1)
        version = Range.from_min_extent(0, new.shape[0]) if self._all else one
        return s.BufferRegion(new, [version, *self.visit_ranges(region.region)])

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = self.remap.get(op.buffer)
        if new is None:
            return super().visit_buffer_store_(op)
        indices = [self._version(new), *self.visit_exprs(op.indices)]
        return s.BufferStore(new, self.visit_expr(op.value), indices, op.predicate, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = self.remap.get(op.buffer)
        if new is None:
            return super().visit_buffer_load_(op)
        indices = [self._version(new), *self.visit_exprs(op.indices)]
        return e.BufferLoad(new, indices, op.predicate, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if e.op_name(op) in _NUMBERED and isinstance(call, e.Call):
            return self._numbered(call)
        positions = _POINTED.get(e.op_name(op), ())
        if not positions or not isinstance(call, e.Call):
            return call
        args = list(call.args)
        for at in positions:
            data = args[at] if at + 1 < len(args) else None
            buffer = self._known.get(data) if isinstance(data, e.Var) else None
            new = None if buffer is None else self.remap.get(buffer)
            if buffer is None or new is None:
                continue
            size: PrimExpr = ops.const(1)
            for extent in buffer.shape:
                size = ops.multiply(size, extent)
            step = new.strides[0] if new.strides else size
            if buffer.scope().startswith(_IN_REGISTERS):
                step = ops.floordiv(step, _WARP)
            args[at + 1] = ops.add(args[at + 1], ops.multiply(self._version(new), step))
        return e.Call(call.dtype, call.op, args, call.span)

    def _numbered(self, call: e.Call) -> PrimExpr:
        """The call on the fragments of the version that is meant."""
        args = list(call.args)
        for at, number in _NUMBERED[e.op_name(call)]:
            data = args[at]
            buffer = self._known.get(data) if isinstance(data, e.Var) else None
            new = None if buffer is None else self.remap.get(buffer)
            if buffer is None or new is None or not isinstance(data, e.Var):
                continue
            count: PrimExpr = ops.const(1)
            for extent in buffer.shape:
                count = ops.multiply(count, extent)
            size = self._fragments.get(data, _SIMDGROUP_SIZE)
            step = ops.floordiv(count, size)
            args[number] = ops.add(args[number], ops.multiply(self._version(new), step))
        return e.Call(call.dtype, call.op, args, call.span)


def _with_versions(buffer: Buffer, count: int) -> Buffer:
    """The buffer once for each version; like the old one in all else, and over new memory."""
    strides = buffer.checked_strides()
    if strides:
        strides = (ops.multiply(strides[0], buffer.shape[0]), *strides)
    return buffer.with_changes(shape=(ops.const(count), *buffer.shape), strides=strides)
