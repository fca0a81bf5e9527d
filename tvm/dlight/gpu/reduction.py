"""One reduction with an elementwise block after it: the threads of a block share a result.

The reduced axis moves along memory:         for bx, tx: part[tx] = sum of every len(tx)-th element
    B[i] = sum over k of A[i, k]             for bx: B[i] = sum over tx of part[tx]
A spatial axis moves along memory:           threadIdx.x takes neighbours i, threadIdx.y shares k
    B[i] = sum over k of A[k, i]
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm.dlight.analysis.access import dominant_access, split_terms
from tvm.dlight.analysis.common_analysis import BlockInfo, is_broadcast_epilogue
from tvm.dlight.analysis.gemv import get_reduction_expr
from tvm.dlight.base import main_and_epilogue, open_schedule, suggest_threads_per_block
from tvm.target.target import Target
from tvm.tir.analysis.reducer import reducer_of
from tvm.tir.function import PrimFunc
from tvm.tir.op.arith import is_zero
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.stmt import Block

from .base import GPUScheduleRule, unroll_within

_SIDE = 16  # threads in x and in y where neighbours in memory are results
_UNROLL = 256


class AnyReduction(GPUScheduleRule):
    """Schedules functions of one reduction by a known operator and an injective epilogue."""

    def takes(self, block: Block) -> bool:
        """True if the rule is for reductions like this one."""
        return True

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        found = open_reduction(func) if self.is_target_available(target) else None
        if found is None:
            return None
        sch, info, epilogue = found
        if not self.takes(sch.get(info.block_rv)):
            return None
        walk = normalize(sch, info)
        if walk is None:
            return None
        if walk.along_reduction:
            along_reduction(sch, target, info.block_rv, walk, epilogue)
        else:
            _along_results(sch, info, walk, epilogue)
        return sch


class Reduction(AnyReduction):
    """Schedules functions of one sum and an injective epilogue."""

    def takes(self, block: Block) -> bool:
        """True for sums."""
        return get_reduction_expr(block) is not None


def open_reduction(
    func: object,
) -> tuple[Schedule, BlockInfo, BlockInfo | None] | None:
    """A schedule of a function, its reduction to one buffer that threads can share, and what
    comes behind; None for other functions.
    """
    if not isinstance(func, PrimFunc):
        return None
    sch = open_schedule(func)
    found = main_and_epilogue(sch)
    if found is None:
        return None
    info, epilogue = found
    block: Block = sch.get(info.block_rv)
    if not info.is_reduction() or len(block.writes) != 1 or reducer_of(block) is None:
        return None
    return sch, info, epilogue


@dataclass(frozen=True)
class Walk:
    """How the block moves through its input.

    `order` says for each spatial variable where its loop stands among those of the input;
    `unrolled` are the results that one word of the input serves, along variable `split_at`.
    """

    along_reduction: bool
    order: tuple[int, ...]
    unrolled: int | None
    split_at: int | None


def normalize(sch: Schedule, info: BlockInfo) -> Walk | None:
    """Order the loops as the input lies in memory and fuse them: spatial, reducing, packed."""
    access = dominant_access(sch.get(info.block_rv))
    if access is None or not is_zero(access.base):
        return None
    terms = split_terms(access)
    remaining = {i.var: i for i in info.iters}
    if not terms or any(var not in remaining for var, _ in terms):
        return None
    if len({var for var, _ in terms}) != len(terms):
        return None
    spatial: list[LoopRV] = []
    reducing: list[LoopRV] = []
    packed: list[LoopRV] = []
    origin: dict[LoopRV, int] = {}  # from the block's own loop to its position in `spatial`
    unrolled, split_at, along = None, None, False
    for var, factor in terms:
        item = remaining.pop(var)
        loop, along = item.loop_rv, item.kind == "R"
        if not along:
            origin[item.loop_rv] = len(spatial)
        if factor > 1:
            if packed:
                return None
            loop, inner = sch.split(loop, factors=[None, factor])
            packed.append(inner)
            if not along:
                unrolled, split_at = factor, len(spatial)
        (reducing if along else spatial).append(loop)
    for item in remaining.values():
        if item.kind != "S" or item.dom != 1:
            return None
        origin[item.loop_rv] = len(spatial)
        spatial.append(item.loop_rv)
    if not reducing or not spatial:
        return None
    packed = packed or [sch.add_unit_loop(info.block_rv)]
    sch.reorder(*spatial, *reducing, *packed)
    sch.fuse(*spatial)
    sch.fuse(*reducing)
    order = tuple(origin[i.loop_rv] for i in info.iters if i.loop_rv in origin)
    return Walk(along, order, unrolled, split_at)


def along_reduction(
    sch: Schedule, target: Target, block: BlockRV, walk: Walk, epilogue: BlockInfo | None
) -> None:
    """Let threads take every so many elements of a row, and add up what each has."""
    _, reduced, _ = sch.get_loops(block)
    (threads,) = suggest_threads_per_block(target, [sch.get(reduced)])
    _, thread = sch.split(reduced, factors=[None, threads])
    partial = sch.rfactor(thread, 0)
    row, reduced, thread, _ = sch.get_loops(partial)
    sch.reorder(row, thread, reduced)
    sch.bind(row, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    unroll_within(sch, thread, _UNROLL)
    sch.set_scope(partial, 0, "local")
    sch.decompose_reduction(partial, reduced)
    sch.reverse_compute_at(block, row, preserve_unit_loops=True)
    _, thread, *results = sch.get_loops(block)
    result, inner = _results(sch, results, walk)
    sch.reorder(result, thread, *inner)
    sch.bind(thread, "threadIdx.x")
    if epilogue is not None:
        _finish(sch, block, epilogue, row, (threads,))


def _along_results(sch: Schedule, info: BlockInfo, walk: Walk, epilogue: BlockInfo | None) -> None:
    block = info.block_rv
    result, reduced, _ = sch.get_loops(block)
    width = _width([i.dom for i in info.iters if i.kind == "S"][-1])
    sch.split(result, factors=[None, width])
    _, ty = sch.split(reduced, factors=[None, _SIDE])
    partial = sch.rfactor(ty, 0)
    row, tx, reduced, ty, _ = sch.get_loops(partial)
    sch.reorder(row, tx, ty, reduced)
    sch.bind(tx, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    sch.bind(row, "blockIdx.x")
    sch.set_scope(partial, 0, "local")
    sch.decompose_reduction(partial, reduced)
    sch.reverse_compute_at(block, row, preserve_unit_loops=True)
    _, ty, *results = sch.get_loops(block)
    result, inner = _results(sch, results, walk)
    sch.reorder(result, *inner, ty)
    sch.bind(result, "threadIdx.x")
    sch.bind(ty, "threadIdx.y")
    if epilogue is not None:
        _finish(sch, block, epilogue, row, (width, _SIDE))


def _width(extent: object) -> int:
    """How many threads in x share the innermost results evenly."""
    if isinstance(extent, int):
        return next(n for n in range(_SIDE, 0, -1) if extent % n == 0)
    return 1


def _results(sch: Schedule, loops: list[LoopRV], walk: Walk) -> tuple[LoopRV, list[LoopRV]]:
    """One loop over the results of a thread block, and those that one word serves within it."""
    if walk.unrolled is None or walk.split_at is None:
        return sch.fuse(*loops), []
    ordered: list[LoopRV] = [loops[position] for position in walk.order]
    sch.reorder(*ordered)
    ordered[walk.split_at], inner = sch.split(ordered[walk.split_at], factors=[None, walk.unrolled])
    sch.reorder(*ordered, inner)
    return sch.fuse(*ordered), [inner]


def _finish(
    sch: Schedule, block: BlockRV, epilogue: BlockInfo, row: LoopRV, threads: tuple[int, ...]
) -> None:
    """Let the epilogue use the sum: from shared memory if more than its own thread needs it."""
    sch.reverse_compute_at(epilogue.block_rv, row, preserve_unit_loops=True)
    wide = is_broadcast_epilogue(sch, block, epilogue.block_rv)
    sch.set_scope(block, 0, "shared" if wide else "local")
    _, *loops = sch.get_loops(epilogue.block_rv)
    if wide:
        _, *parts = sch.split(sch.fuse(*loops), factors=[None, *threads])
    elif len(threads) > 1:
        parts = sch.split(sch.fuse(*loops), factors=[threads[0], None])[:1]
    else:
        parts = []
    for loop, axis in zip(parts, ("threadIdx.x", "threadIdx.y")):
        sch.bind(loop, axis)
