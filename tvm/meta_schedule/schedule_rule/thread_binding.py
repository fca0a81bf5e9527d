"""Binding the data-parallel loops of a block to blocks and threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tvm.error import TVMError, message
from tvm.meta_schedule.structure import extent_of, is_root, is_single, is_tiled, thread_of
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.analysis.query import loop_kind, loop_of, loops_above
from tvm.tir.stmt import ForKind

FactorChoice = Callable[[int], Any]  # the most that is legal -> a number of threads


def sampled_factor(sch: Schedule, extents: Sequence[int], most: int) -> Any:
    """One of the extents, drawn if several are at most `most`; `most` if none is."""
    legal = [extent for extent in extents if extent <= most]
    if len(legal) < 2:
        return legal[0] if legal else most
    return sch.sample_categorical(legal, [1.0 / len(legal)] * len(legal))


def bind_block(
    sch: Schedule, block: BlockRV, max_blocks: int, max_threads: int, choose: FactorChoice
) -> None:
    """Bind the outer data-parallel loops of a block that is not bound or tiled already."""
    sref = sch.get_sref(block)
    if is_root(sref) or is_tiled(sref):
        return
    nest = _nest(loops_above(sref))
    if nest.thread >= 0 and nest.block >= 0:
        return
    if nest.block >= 0:
        raise TVMError(
            message(
                f"AutoBind: block {sch.get(block).name_hint!r} has blockIdx but no threadIdx",
                legal="both bound, or none, or threadIdx alone",
            )
        )
    loops = sch.get_loops(block)
    spatial, single, thread = nest.spatial, nest.single, nest.thread
    if spatial == 0:
        loops = [sch.add_unit_loop(loops[0] if loops else block), *loops]
        spatial, single = 1, single + 1
        thread += 1 if thread >= 0 else 0
    if thread >= 0:
        loops = sch.get_loops(block)  # asked again, as recorded traces have it
        sch.bind(sch.fuse(*loops[: min(spatial, single, thread)]), "blockIdx.x")
    else:
        bind_loop(sch, sch.fuse(*loops[: min(spatial, single)]), max_blocks, max_threads, choose)


class _Nest(NamedTuple):
    """Where in a nest the first blockIdx and threadIdx are (or -1), and how many loops from the
    outside are data parallel, or plain and with one statement each."""

    block: int
    thread: int
    spatial: int
    single: int


def _nest(srefs: Sequence[StmtSRef]) -> _Nest:
    loops = [loop_of(sref) for sref in srefs]
    threads = [thread_of(loop) for loop in loops]
    first_block = next((i for i, t in enumerate(threads) if t.startswith("blockIdx")), -1)
    first_thread = next((i for i, t in enumerate(threads) if t.startswith("threadIdx")), -1)
    single = len(loops)
    for i, loop in enumerate(loops):
        if loop.kind is not ForKind.SERIAL:
            single = min(single, i)
        if not is_single(loop.body):
            single = min(single, i + 1)
    spatial = 0
    for sref in srefs:
        if loop_kind(sref) != IterVar.DataPar:
            break
        spatial += 1
    return _Nest(first_block, first_thread, spatial, single)


def bind_loop(
    sch: Schedule, loop: LoopRV, max_blocks: int, max_threads: int, choose: FactorChoice
) -> list[LoopRV]:
    """Bind a loop to blocks and threads; those loops, and what is left for each thread inside."""
    extent = extent_of(sch.get(loop))
    if extent is None or extent <= max_blocks * max_threads:
        # of an unknown extent each block takes as many threads as there may be
        factor = max_threads if extent is None else choose(min(extent, max_threads))
        made = list(sch.split(loop, [None, factor]))
    else:
        rest, outer, inner = sch.split(loop, [None, max_blocks, max_threads])
        sch.reorder(outer, inner, rest)
        made = [outer, inner, rest]
    sch.bind(made[0], "blockIdx.x")
    sch.bind(made[1], "threadIdx.x")
    return made
