"""Blocks that schedules marked as copies get their loops: plain ones, or shared out to threads.

    with T.block("A_shared"):                      with T.block("A_shared"):
        T.block_attr({"auto_copy": 1})                 for outer in range(4):
        for i, j in T.grid(8, 64):           ->            for t in T.thread_binding(32, ...):
            A_shared[i, j] = A[i, j]                           for vec in T.vectorized(4):
                                                                   A_shared[...] = A[...]

Threads of a launch share out what goes to or comes from `shared` memory, with neighbouring threads
at neighbouring places; `vector_bytes` says how much each moves at once. Everywhere else, and where
extents are not constant, the loops stay as they are. The annotations are gone afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

KEYS = ("auto_copy", "vector_bytes", "local_stage")


@tir_pass("tir.LowerAutoCopy")
def LowerAutoCopy(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No block is annotated as a copy afterwards."""
    return func.with_body(_CopyLowerer().visit_stmt(func.body))


@dataclass
class _Copy:
    """The loops of a copy, outermost first, and the store within."""

    loops: list[s.For]
    store: s.BufferStore
    load: e.BufferLoad

    @property
    def total(self) -> int | None:
        """How many elements it moves, if that is known."""
        count = 1
        for loop in self.loops:
            if not isinstance(loop.extent, e.IntImm) or not ops.is_zero(loop.min):
                return None
            count *= loop.extent.value
        return count


class _CopyLowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._threads: dict[str, s.For] = {}  # loops over threads around the statement

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        axis = op.thread_binding
        if axis is None or not axis.thread_tag.startswith("threadIdx"):
            return super().visit_for_(op)
        before = dict(self._threads)
        self._threads[axis.thread_tag] = op
        new = super().visit_for_(op)
        self._threads = before
        return new

    def visit_block_(self, op: s.Block) -> s.Stmt:
        new = super().visit_block_(op)
        assert isinstance(new, s.Block), "a block stays a block"
        if KEYS[0] not in op.annotations:
            return new
        kept = {key: value for key, value in new.annotations.items() if key not in KEYS}
        wide = new.annotations.get("vector_bytes", 0)
        body = self._lowered(new.body, int(wide) if isinstance(wide, (int, e.IntImm)) else 0)
        return s.Block(
            new.iter_vars, new.reads, new.writes, new.name_hint, body, new.init,
            new.alloc_buffers, new.match_buffers, kept, new.span,
        )  # fmt: skip

    def _lowered(self, body: s.Stmt, vector_bytes: int) -> s.Stmt:
        copy = _copy_of(body)
        if copy is None or not self._threads:
            return body
        memories = (copy.store.buffer.scope(), copy.load.buffer.scope())
        total = copy.total
        shared = any(memory.startswith("shared") for memory in memories)
        if total is None or not shared or not _are_constant(self._threads):
            return body
        width = max(vector_bytes * 8 // copy.store.buffer.dtype.bits, 1)
        return _shared_out(copy, total, self._threads, width if total % width == 0 else 1)


def _are_constant(threads: dict[str, s.For]) -> bool:
    return all(isinstance(loop.extent, e.IntImm) for loop in threads.values())


def _copy_of(body: s.Stmt) -> _Copy | None:
    """The parts of a nest of loops around one assignment; None for other bodies."""
    loops: list[s.For] = []
    while isinstance(body, s.For) and body.kind is s.ForKind.SERIAL:
        loops.append(body)
        body = body.body
    if isinstance(body, s.BufferStore) and isinstance(body.value, e.BufferLoad):
        return _Copy(loops, body, body.value)
    return None


def _shared_out(copy: _Copy, total: int, threads: dict[str, s.For], width: int) -> s.Stmt:
    """The copy in steps in which each thread moves `width` elements."""
    dtype = copy.loops[0].loop_var.dtype if copy.loops else copy.store.indices[0].dtype
    axes = [threads[tag] for tag in sorted(threads, reverse=True)]  # threadIdx.x moves fastest
    team = 1
    for loop in axes:
        assert isinstance(loop.extent, e.IntImm), "asked for only then"
        team *= loop.extent.value
    steps = -(-total // (team * width))
    outer, vec = e.Var("outer", dtype), e.Var("vec", dtype)
    own = [e.Var(loop.loop_var.name, dtype) for loop in axes]
    place: PrimExpr = outer
    for var, loop in zip(own, axes):
        place = place * ops.cast(loop.extent, dtype) + var
    if width > 1:
        place = place * width + vec
    values: dict[e.Var, PrimExpr] = {}
    rest = place
    for loop in reversed(copy.loops[1:]):
        values[loop.loop_var] = ops.floormod(rest, loop.extent)
        rest = ops.floordiv(rest, loop.extent)
    if copy.loops:
        values[copy.loops[0].loop_var] = rest
    body: s.Stmt = substitute(copy.store, values)
    span = copy.store.span
    if steps * team * width != total:
        body = s.IfThenElse(ops.less(place, e.IntImm(str(dtype), total)), body, None, span)
    if width > 1:
        body = s.For(vec, 0, width, s.ForKind.VECTORIZED, body, span=span)
    for var, loop in reversed(list(zip(own, axes))):
        axis = loop.thread_binding
        assert axis is not None, "a loop over threads"
        binding = e.IterVar(None, e.Var(axis.thread_tag, dtype), axis.iter_type, axis.thread_tag)
        body = s.For(var, 0, loop.extent, s.ForKind.THREAD_BINDING, body, binding, span=span)
    return s.For(outer, 0, steps, s.ForKind.SERIAL, body, span=span)
