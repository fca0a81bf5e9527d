"""What no other rule takes: statements whose loops are not variables of blocks.

    for i in T.parallel(n): ...       ->    for bx in T.thread_binding(n // 256, "blockIdx.x"):
                                                for tx in T.thread_binding(256, "threadIdx.x"): ...

Steps of a loop that may change the same element, as those of a scatter whose indices repeat, keep
their order by owners: each element belongs to one thread, which looks at all the steps and takes
those that are its own. Steps that differ in an index itself never meet, so their loops are shared
out too.

    for k, j in T.grid(n, 64):              for w, j in threads:
        B[P[k], j] += V[k, j]         ->        for k in range(n):
                                                    if hash(P[k] * 64 + j) == w: B[P[k], j] += ...

Other loops are the work of one thread.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.arith import Analyzer
from tvm.dlight.analysis.common_analysis import launches_threads
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.ir.node import with_fields
from tvm.target.target import Target
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.expr import BufferLoad, IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op import arith as ops
from tvm.tir.schedule import Schedule
from tvm.tir.stmt import (
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)
from tvm.tir.transform.bind_parallel_loops import by_one_thread, on_threads

from .base import GPUScheduleRule

_ENOUGH_THREADS: Final = 8192  # owners are added until there are as many
_MAX_OWNERS: Final = 4096
_OWNERS_OF_UNKNOWN: Final = 16  # where it is not known how many threads there are without
_MIX: Final = 0x9E3779B1  # 2**32 / golden ratio: neighbours and multiples get different owners


class OpaqueLoops(GPUScheduleRule):
    """Gives what has no threads those that its loops allow."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule; None if all has threads already."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        root = func.body
        if not isinstance(root, BlockRealize) or root.block.init is not None:
            return None
        body = root.block.body
        parts = body.seq if isinstance(body, SeqStmt) else (body,)
        if all(launches_threads(part) for part in parts):
            return None
        new = SeqStmt.flatten([_with_threads(part, target) for part in parts])
        block = with_fields(root.block, body=new)
        return open_schedule(func.with_body(with_fields(root, block=block)))


def with_threads_in_opaque_blocks(func: PrimFunc, target: Target) -> PrimFunc:
    """The function whose blocks without variables have the threads that their loops allow."""
    root = func.body
    if not isinstance(root, BlockRealize):
        return func
    body = root.block.body
    parts = body.seq if isinstance(body, SeqStmt) else (body,)
    new = [_with_threads(p, target) if isinstance(p, BlockRealize) and _opaque(p) else p
           for p in parts]  # fmt: skip
    if all(a is b for a, b in zip(parts, new)):
        return func
    block = with_fields(root.block, body=SeqStmt.flatten(new))
    return func.with_body(with_fields(root, block=block))


def _opaque(part: BlockRealize) -> bool:
    """Whether it is a block of statements only, that launches may stand in."""
    block = part.block
    return not (block.iter_vars or block.init or block.alloc_buffers or block.match_buffers)


def _with_threads(part: Stmt, target: Target) -> Stmt:
    """A statement with threads; launches follow each other in the order of its parts."""
    if launches_threads(part):
        return part
    if isinstance(part, SeqStmt):
        return SeqStmt.flatten([_with_threads(one, target) for one in part.seq])
    if isinstance(part, BlockRealize) and _opaque(part):
        body = _with_threads(part.block.body, target)
        return with_fields(part, block=with_fields(part.block, body=body))
    found = _shared_out(part) if isinstance(part, For) else None
    if found is None:
        return by_one_thread(part)
    return on_threads(found, min(256, target.gpu.threads_per_block))


class _Nest(NamedTuple):
    """Perfectly nested loops: those whose steps never meet, and those whose order counts."""

    apart: list[For]
    ordered: list[For]
    body: Stmt


def _shared_out(loop: For) -> For | None:
    """One loop whose steps are the threads; None where the steps depend on each other."""
    nest = _nest(loop)
    if nest is None:
        return None
    store = nest.body
    threads = ops.const(1, loop.extent.dtype)
    for one in nest.apart:
        threads = threads * one.extent.astype(threads.dtype)
    owners = 1
    if nest.ordered:
        assert isinstance(store, BufferStore), "order is kept for the updates of one statement"
        owners = _owners(Analyzer().simplify(threads), nest.ordered, store)
    every = Var("thread", threads.dtype)
    body: Stmt = store
    if owners > 1:
        assert isinstance(store, BufferStore)
        mine = ops.floordiv(every, threads).astype("uint32")
        body = IfThenElse(ops.equal(_owner(store, owners), mine), store, None)
    for one in reversed(nest.ordered):
        body = with_fields(one, body=body)
    number: PrimExpr = ops.floormod(every, threads) if owners > 1 else every
    for one in reversed(nest.apart):  # the last loop is that of neighbours
        extent = one.extent.astype(threads.dtype)
        at = number if one is nest.apart[0] else ops.floormod(number, extent)
        body = LetStmt(one.loop_var, (at + one.min).astype(one.loop_var.dtype), body, one.span)
        number = ops.floordiv(number, extent)
    analyzer = Analyzer()
    extent = analyzer.simplify(threads * ops.const(owners, threads.dtype))
    zero = ops.const(0, threads.dtype)
    return For(every, zero, extent, ForKind.PARALLEL, body, span=loop.span)


def _nest(loop: For) -> _Nest | None:
    loops: list[For] = []
    inner: Stmt = loop
    while isinstance(inner, For) and inner.kind in (ForKind.SERIAL, ForKind.PARALLEL):
        bounds = [*walk(inner.min), *walk(inner.extent)]
        if any(v is one.loop_var for one in loops for v in bounds):
            break
        loops.append(inner)
        inner = inner.body
    if isinstance(inner, BufferStore) and _only_updates(inner):
        apart = [one for one in loops if one.kind == ForKind.PARALLEL or _is_index(one, inner)]
        return _Nest(apart, [one for one in loops if one not in apart], inner)
    said = [one for one in loops if one.kind == ForKind.PARALLEL]
    count = next((n for n, one in enumerate(loops) if one not in said), len(loops))
    return _Nest(loops[:count], [], loops[count - 1].body) if count else None


def _is_index(loop: For, store: BufferStore) -> bool:
    """Whether the loop variable is an index itself, so that other steps store elsewhere."""
    return any(index is loop.loop_var for index in store.indices)


def _only_updates(store: BufferStore) -> bool:
    """Whether of the buffer only the element that is stored is read."""
    used = [n for part in (store.value, *store.indices) for n in walk(part)]
    loads = [n for n in used if isinstance(n, BufferLoad) and n.buffer.data is store.buffer.data]
    return all(
        load.buffer is store.buffer
        and all(expr_deep_equal(a, b) for a, b in zip(load.indices, store.indices))
        for load in loads
    ) and not any(n is store.buffer.data for n in used if isinstance(n, Var))


def _owners(threads: PrimExpr, ordered: list[For], store: BufferStore) -> int:
    """Into how many parts the elements are divided, of which each thread has one."""
    if not isinstance(threads, IntImm):
        return _OWNERS_OF_UNKNOWN
    most = min(_MAX_OWNERS, _ENOUGH_THREADS // max(threads.value, 1))
    for extents in ([one.extent for one in ordered], list(store.buffer.shape)):
        known = [extent.value for extent in extents if isinstance(extent, IntImm)]
        if len(known) == len(extents):
            count = 1
            for extent in known:
                count *= extent
            most = min(most, count)
    return 1 << max(most.bit_length() - 1, 0) if most > 1 else 1


def _owner(store: BufferStore, owners: int) -> PrimExpr:
    """Which part an element belongs to, from 0 to owners - 1."""
    flat: PrimExpr = ops.const(0, "int64")
    for index, extent in zip(store.indices, store.buffer.shape):
        flat = flat * extent.astype("int64") + index.astype("int64")
    word = Analyzer().simplify(flat).astype("uint32") * ops.const(_MIX, "uint32")
    shifted = ops.shift_right(word, ops.const(16, "uint32"))
    return ops.bitwise_and(shifted, ops.const(owners - 1, "uint32"))
