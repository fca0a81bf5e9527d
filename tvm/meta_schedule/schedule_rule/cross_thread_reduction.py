"""The threads of a block reduce together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tvm.meta_schedule.rule_kind import require_target
from tvm.meta_schedule.structure import (
    FETCH,
    needs_multi_level_tiling,
    needs_parallel_reduction,
    thread_of,
)
from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.query import is_parallel_loop
from tvm.tir.stmt import Block

from .reductions import fuse_reduction_loops
from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class CrossThreadReduction(ScheduleRule):
    """Binds a part of a long reduction to threadIdx.x, within the loops of its consumer.

    for i, k: B[i] += A[i, k]        for i, k_0: for k_1 in threadIdx.x: B[i] += A[i, k_0 * n + k_1]
    """

    def __init__(self, thread_extents: Sequence[int]) -> None:
        self.thread_extents = list(thread_extents)
        self._max_threads = self._warp = -1

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        attrs = require_target(context.target, "CrossThreadReduction").attrs
        self._max_threads = int(attrs.get("max_threads_per_block", -1))
        self._warp = int(attrs.get("thread_warp_size", -1))
        if -1 in (self._max_threads, self._warp):
            context.logger.warning(
                "CrossThreadReduction does not apply: the target tells no max_threads_per_block "
                "or no thread_warp_size"
            )

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedule with threads that reduce, and as it was."""
        if -1 in (self._max_threads, self._warp):
            return [sch]
        sref = sch.get_sref(block)
        if not needs_parallel_reduction(sch.state, sref, self._max_threads):
            return [sch]
        sch.fork_seed()  # two draws for a copy: the samples of a seed rest on it
        made = sch.copy()
        target = _target(made, block)
        try:
            self._reduce(made, block, target)
        except ScheduleError:
            if target is None:
                return [sch]
            made = sch.copy()  # the consumer's loops cannot be taken: it stands alone
            self._reduce(made, block, None)
        return [made, sch]

    def _reduce(self, sch: Schedule, block: BlockRV, target: _Target | None) -> None:
        count = len(self.thread_extents)
        threads = sch.sample_categorical(self.thread_extents, [1.0 / count] * count)
        if target is not None:
            at = target.loop
            bound = _thread_loop(sch, target.block)
            if bound is not None:  # one kernel has one number of threads
                factor = _factor(sch, bound)
                threads = threads if factor is None else factor
            else:
                outer, inner = sch.split(target.innermost, [None, threads])
                sch.bind(inner, "threadIdx.x")
                at = outer if target.innermost is at else at
            sch.compute_at(block, at, preserve_unit_loops=True)
            sch.set_scope(block, 0, "shared")
        loop, _ = fuse_reduction_loops(sch, block)
        _, inner = sch.split(loop, [None, threads])
        sch.bind(inner, "threadIdx.x")


class _Target(NamedTuple):
    """The consumer that a reduction is computed for, the loop, and the innermost one around it."""

    block: BlockRV
    loop: LoopRV
    innermost: LoopRV


def _thread_loop(sch: Schedule, block: BlockRV) -> StmtSRef | None:
    """The first loop around a block that is bound to threadIdx."""
    for loop in sch.get_loops(block):
        if thread_of(sch.get(loop)).startswith("threadIdx"):
            return sch.get_sref(loop)
    return None


def _factor(sch: Schedule, loop: StmtSRef) -> Any:
    """The factor of the split that made a loop, as the trace has it; None if there is none."""
    for inst in reversed(sch.trace.insts):
        if inst.kind.name != "Split":
            continue
        for made, factor in zip(inst.outputs, inst.inputs[1:]):
            if factor is not None and _is(sch, made, loop):
                return factor
    return None


def _is(sch: Schedule, var: LoopRV, loop: StmtSRef) -> bool:
    try:
        return sch.get_sref(var) is loop
    except ScheduleError:  # a loop that is no more
        return False


def _target(sch: Schedule, block: BlockRV) -> _Target | None:
    """Where a reduction can be computed for its consumers; None if nowhere."""
    if len(sch.get(block).writes) != 1:
        return None
    users = sch.get_consumers(block)
    if not users or needs_multi_level_tiling(sch.state, sch.get_sref(users[0])):
        return None
    if FETCH in sch.get(users[0]).annotations:
        return None  # copies for a tile are made once for each step of another sum
    common = _common_ancestor([sch.get_sref(user) for user in users])
    if len(users) > 1 and isinstance(common.stmt, Block):
        return None
    theirs = sch.get_loops(users[0])
    position = _position(sch, sch.get_loops(block), theirs, common)
    return None if position < 0 else _Target(users[0], theirs[position], theirs[-1])


def _common_ancestor(srefs: Sequence[StmtSRef]) -> StmtSRef:
    """The innermost sref that is around all, or the only one itself."""
    if len(srefs) == 1:
        return srefs[0]
    above: list[StmtSRef] = []
    sref: StmtSRef | None = srefs[0].parent
    while sref is not None:
        above.append(sref)
        sref = sref.parent
    for other in srefs[1:]:
        around: set[StmtSRef] = set()
        sref = other.parent
        while sref is not None:
            around.add(sref)
            sref = sref.parent
        above = [p for p in above if p in around]
    return above[0]


def _position(
    sch: Schedule, own: Sequence[LoopRV], theirs: Sequence[LoopRV], common: StmtSRef
) -> int:
    """The number of the consumer's loop to compute at: below as many as are parallel here too."""
    for i, (mine, other) in enumerate(zip(own, theirs)):
        if not is_parallel_loop(sch.get_sref(mine)):
            return i - 1
        if sch.get_sref(other) is common:
            return i
    return min(len(own), len(theirs)) - 1
