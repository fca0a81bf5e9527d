"""Blocks that schedules marked as copies get their loops: plain ones, or shared out to threads.

    with T.block("A_shared"):                      with T.block("A_shared"):
        T.block_attr({"auto_copy": True})              T.block_attr({"auto_copy": True})
        for i, j in T.grid(8, 64):           ->        for outer in range(4):
            A_shared[i, j] = A[i, j]                       for t in T.thread_binding(32, ...):
                                                               for vec in T.vectorized(4):
                                                                   A_shared[...] = A[...]

Threads of the launch share out copies between global and `shared` memory, with neighbouring threads
at neighbouring global addresses; `vector_bytes` says how much each moves at once, and with
`local_stage` it passes through registers. Copies between memory and fragments of tensor cores move
tiles. The rows of the shared buffers get gaps against bank conflicts. Everywhere else,
and where extents are not constant, the loops stay as they are. A block annotated `warp_execution`
runs on the 32 threads of a warp, which no loop binds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, vars_in, walk
from tvm.tir.op import arith as ops

from .bank_padding import BANKS, Points, Replacer, padded
from .fragment_copy import MIN_GAP, TILE, tiled
from .pass_form import tir_pass

_AXES = ("threadIdx.z", "threadIdx.y", "threadIdx.x")  # the last moves fastest
_WARP = MATRIX_THREADS["cuda"]


@tir_pass("tir.LowerAutoCopy")
def LowerAutoCopy(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Blocks annotated as copies have loops that run as fast as the memories allow."""
    lowerer = _CopyLowerer(_thread_extents(func.body))
    body = lowerer.visit_stmt(func.body)
    buffers = {
        buffer: padded(buffer, accesses, lowerer.min_gaps.get(buffer, 1))
        for buffer, accesses in lowerer.accesses.items()
    }
    return func.with_body(Replacer(buffers).visit_stmt(body) if buffers else body)


def _thread_extents(body: s.Stmt) -> dict[str, int] | None:
    """The constant extents of the launch, outermost axis first; None if one is not known."""
    found: dict[str, int] = {}
    for node in walk(body):
        if isinstance(node, s.Block) and _asks(node, "warp_execution"):
            found["threadIdx.x"] = _WARP
        elif isinstance(node, s.For) and node.thread_binding is not None:
            tag = node.thread_binding.thread_tag
            if tag in _AXES and not isinstance(node.extent, e.IntImm):
                return None
            if tag in _AXES and isinstance(node.extent, e.IntImm):
                found[tag] = node.extent.value
    return {tag: found[tag] for tag in _AXES if tag in found}


def _asks(block: s.Block, key: str) -> bool:
    value = block.annotations.get(key, False)
    return bool(value.value if isinstance(value, e.IntImm) else value)


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
    """Notes in `accesses` where warps access shared buffers, for their padding."""

    def __init__(self, threads: dict[str, int] | None) -> None:
        super().__init__()
        self._threads = threads
        self.accesses: dict[Buffer, list[Points]] = {}
        self.min_gaps: dict[Buffer, int] = {}

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_(self, op: s.Block) -> s.Stmt:
        new = super().visit_block_(op)
        assert isinstance(new, s.Block), "a block stays a block"
        if not _asks(op, "auto_copy"):
            return new
        made: list[Buffer] = []
        body = self._lowered(new, made)
        if body is new.body:
            return new
        return s.Block(
            new.iter_vars, new.reads, new.writes, new.name_hint, body, new.init,
            (*new.alloc_buffers, *made), new.match_buffers, new.annotations, new.span,
        )  # fmt: skip

    def _lowered(self, block: s.Block, made: list[Buffer]) -> s.Stmt:
        copy = _copy_of(block.body)
        total = None if copy is None else copy.total
        if copy is None or total is None:
            return block.body
        source, target = copy.load.buffer, copy.store.buffer
        memories = {_kind(source), _kind(target)}
        if memories == {"global", "shared"} and self._threads:
            steps = _steps(copy, total, self._threads, _vector_bytes(block))
            shared = copy.store if _kind(target) == "shared" else copy.load
            self.accesses.setdefault(shared.buffer, []).append(steps.of_a_warp(shared.indices))
            if _asks(block, "local_stage"):
                return steps.through_registers(copy, made)
            return steps.at_once(copy)
        if "fragment" in memories and memories & {"shared", "global"}:
            body = tiled(copy.loops, copy.store, copy.load)
            if body is not None and "global" in memories:
                return body  # whose rows lie as the caller has them
            if body is not None:
                shared_buffer = source if _kind(source) == "shared" else target
                tile: Points = list(product(range(TILE), range(TILE)))
                self.accesses.setdefault(shared_buffer, []).append(tile)
                self.min_gaps[shared_buffer] = MIN_GAP
                return body
        return block.body


def _kind(buffer: Buffer) -> str:
    scope = buffer.scope()
    if scope.startswith("wmma."):
        return "fragment"
    return "shared" if scope in ("shared", "shared.dyn") else scope


def _vector_bytes(block: s.Block) -> int:
    wide = block.annotations.get("vector_bytes", 0)
    return int(wide) if isinstance(wide, (int, e.IntImm)) else 0


def _copy_of(body: s.Stmt) -> _Copy | None:
    """The parts of a nest of loops around one assignment; None for other bodies."""
    loops: list[s.For] = []
    while isinstance(body, s.For) and body.kind is s.ForKind.SERIAL:
        loops.append(body)
        body = body.body
    if isinstance(body, s.BufferStore) and isinstance(body.value, e.BufferLoad):
        return _Copy(loops, body, body.value)
    return None


@dataclass
class _Steps:
    """A copy in `count` steps, in each of which every thread moves `width` elements."""

    count: int
    threads: dict[str, int]
    width: int
    total: int
    outer: e.Var
    own: list[e.Var]  # a loop for each axis of threads
    vec: e.Var
    position: PrimExpr  # of the element, in the order of global memory
    values: dict[e.Var, PrimExpr]  # the variables of the loops before

    def at_once(self, copy: _Copy) -> s.Stmt:
        """Straight from one memory to the other."""
        body = self._in_vectors(substitute(copy.store, self.values), self.vec, self.position)
        return self._for(self.outer, self._by_threads(body))

    def through_registers(self, copy: _Copy, made: list[Buffer]) -> s.Stmt:
        """All loads of a thread before its stores, so that they are under way together."""
        dtype = str(self.outer.dtype)
        name = f"{copy.store.buffer.name}_local"
        element = str(copy.store.buffer.dtype)
        shape = [self.count] + [self.width] * (self.width > 1)
        data = e.Var(name, PointerType(PrimType(element), "local"))
        stage = Buffer(data, element, [e.IntImm(dtype, extent) for extent in shape], (), None, name)
        made.append(stage)
        indices: list[PrimExpr] = [self.outer, self.vec]
        at = indices[: len(shape)]
        load, store = substitute(copy.load, self.values), substitute(copy.store, self.values)
        into = s.BufferStore(stage, load, at, None, copy.store.span)
        out = s.BufferStore(
            store.buffer, e.BufferLoad(stage, at), store.indices, None, copy.store.span
        )
        outer, vec = e.Var("outer", dtype), e.Var("vec", dtype)  # loops have variables of their own
        renamed: dict[e.Var, PrimExpr] = {self.outer: outer, self.vec: vec}
        first = self._for(self.outer, self._in_vectors(into, self.vec, self.position))
        again = self._in_vectors(substitute(out, renamed), vec, substitute(self.position, renamed))
        last = self._for(outer, again)
        return self._by_threads(s.SeqStmt([first, last]))

    def of_a_warp(self, indices: Sequence[PrimExpr]) -> Points:
        """The indices that the first warp accesses in its first step."""
        analyzer = Analyzer()
        moved = [substitute(index, self.values) for index in indices]
        points: Points = []
        extents = list(self.threads.values())
        for lane in list(product(*[range(extent) for extent in extents]))[:BANKS]:
            at: dict[e.Var, PrimExpr] = {
                var: e.IntImm(str(var.dtype), 0)
                for index in moved for var in vars_in(index)
            }  # fmt: skip
            at.update({var: e.IntImm(str(var.dtype), i) for var, i in zip(self.own, lane)})
            found = [analyzer.simplify(substitute(index, at)) for index in moved]
            points.append(tuple([i.value if isinstance(i, e.IntImm) else 0 for i in found]))
        return points

    def _in_vectors(self, body: s.Stmt, vec: e.Var, position: PrimExpr) -> s.Stmt:
        team = self.width
        for extent in self.threads.values():
            team *= extent
        if self.count * team != self.total:
            limit = e.IntImm(str(self.outer.dtype), self.total)
            body = s.IfThenElse(ops.less(position, limit), body, None, body.span)
        if self.width > 1:
            body = s.For(vec, 0, self.width, s.ForKind.VECTORIZED, body, span=body.span)
        return body

    def _for(self, var: e.Var, body: s.Stmt) -> s.Stmt:
        return s.For(var, 0, self.count, s.ForKind.SERIAL, body, span=body.span)

    def _by_threads(self, body: s.Stmt) -> s.Stmt:
        for var, (tag, extent) in reversed(list(zip(self.own, self.threads.items()))):
            axis = e.IterVar(None, e.Var(tag, var.dtype), e.IterVar.ThreadIndex, tag)
            body = s.For(var, 0, extent, s.ForKind.THREAD_BINDING, body, axis, span=body.span)
        return body


def _steps(copy: _Copy, total: int, threads: dict[str, int], vector_bytes: int) -> _Steps:
    """How the threads share out the elements, in the order of global memory."""
    width = max(vector_bytes * 8 // copy.store.buffer.dtype.bits, 1)
    width = width if total % width == 0 else 1
    dtype = copy.loops[0].loop_var.dtype if copy.loops else copy.store.indices[0].dtype
    outer, vec = e.Var("outer", dtype), e.Var("vec", dtype)
    own = [e.Var(f"t{tag[-1]}", dtype) for tag in threads]
    team = width
    position: PrimExpr = outer
    for var, extent in zip(own, threads.values()):
        team *= extent
        position = position * e.IntImm(str(dtype), extent) + var
    if width > 1:
        position = position * width + vec
    values: dict[e.Var, PrimExpr] = {}
    remainder = position
    for loop in reversed(_in_global_order(copy)):
        values[loop.loop_var] = ops.floormod(remainder, loop.extent)
        remainder = ops.floordiv(remainder, loop.extent)
    return _Steps(-(-total // team), threads, width, total, outer, own, vec, position, values)


def _in_global_order(copy: _Copy) -> list[s.For]:
    """The loops, those over the first dimensions of global memory outermost."""
    is_source = _kind(copy.load.buffer) == "global"
    indices = copy.load.indices if is_source else copy.store.indices
    dims: dict[e.Var, list[int]] = {loop.loop_var: [] for loop in copy.loops}
    for dim, index in enumerate(indices):
        for var in dict.fromkeys(n for n in vars_in(index) if n in dims):
            dims[var].append(dim)
    if any(len(found) != 1 for found in dims.values()):
        return copy.loops
    return sorted(copy.loops, key=lambda loop: dims[loop.loop_var])
