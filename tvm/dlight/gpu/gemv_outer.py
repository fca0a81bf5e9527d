"""Matrix times vector where the rows move along memory: C[i] = sum over k of W[k, i] * x[k].

`by_words`: the sum is shared by `tr` threads, in pieces of one scale and of packed words, as
weights of 4 bits are stored; partial sums are added as in `gemv`. `by_columns`: each thread takes
a few neighbouring results and sums alone. Both are for phones, whose vectors are wide.
"""

from __future__ import annotations

from dataclasses import replace

from tvm.dlight.analysis.common_analysis import BlockInfo
from tvm.dlight.base import auto_vectorize, get_extent
from tvm.target.gpu_tuning import OuterGemvTuning, gpu_tuning
from tvm.target.target import Target
from tvm.tir.buffer import Buffer
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

from .base import largest_divisor, unroll_within


def by_words(
    sch: Schedule,
    target: Target,
    block: BlockRV,
    vectors: list[Buffer],
    epilogue: BlockInfo | None,
) -> Schedule | None:
    """Share each sum between threads; None where the target or the sizes do not suit."""
    _, rows, steps, packed = (get_extent(sch, loop) for loop in sch.get_loops(block))
    config = gpu_tuning(target).outer_gemv
    if config is None:
        return None
    piece = config.vector_tile * config.tr * config.scale_pack * config.word_pack
    if not isinstance(steps, int) or packed != 1 or steps < piece:
        return None
    if isinstance(rows, int):
        if rows < config.ts:
            return None  # blocks would have threads for all rows in one place, for few in another
    else:
        # nothing tells that sums are long beside their number: each thread takes one alone
        lanes = largest_divisor(steps, [n for n in (1, 2, 4, 8) if n <= config.vec_vector])
        config = replace(
            config, ts=config.rows_alone, tr=1, vector_shared=True, vec_vector=lanes
        )
    _PackedWordsSchedule(sch, block, config).run(vectors, epilogue)
    return sch


class _PackedWordsSchedule:
    def __init__(self, sch: Schedule, block: BlockRV, config: OuterGemvTuning) -> None:
        self.sch, self.block, self.config = sch, block, config
        self.tag_s, self.tag_r = config.axes

    def run(self, vectors: list[Buffer], epilogue: BlockInfo | None) -> None:
        sch, c = self.sch, self.config
        batch, rows, steps, packed = sch.get_loops(self.block)
        rows, steps = sch.fuse(batch, rows), sch.fuse(steps, packed)
        bx, ts = sch.split(rows, factors=[None, c.ts])
        steps, tile, tr, scale, word = sch.split(
            steps, factors=[None, c.vector_tile, c.tr, c.scale_pack, c.word_pack]
        )
        sch.reorder(bx, ts, steps, tile, scale, tr, word)
        partial = sch.rfactor(sch.fuse(tr, word), 0)
        tr, _ = sch.split(sch.get_loops(self.block)[-1], factors=[c.tr, None])
        line = sch.rfactor(tr, 0)
        bx = self._bind_partial(partial, vectors)
        self._add_up(line, bx)
        sch.decompose_reduction(partial, sch.get_loops(partial)[2])
        sch.decompose_reduction(line, sch.get_loops(line)[-1])
        for part in (partial, line):
            sch.set_scope(part, 0, "local")
        unroll_within(sch, sch.get_loops(line)[3], c.unroll)
        if epilogue is not None:
            sch.reverse_compute_at(epilogue.block_rv, bx)
            sch.set_scope(self.block, 0, "local")
            _, *loops = sch.get_loops(epilogue.block_rv)
            ts, _ = sch.split(sch.fuse(*loops), factors=[c.ts, None])
            sch.bind(ts, self.tag_s)

    def _bind_partial(self, partial: BlockRV, vectors: list[Buffer]) -> LoopRV:
        sch, c = self.sch, self.config
        bx, ts, steps, tile, scale, fused = sch.get_loops(partial)
        tr, word = sch.split(fused, factors=[c.tr, c.word_pack])
        sch.reorder(bx, ts, tr, steps, tile, scale, word)
        sch.bind(bx, "blockIdx.x")
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)
        auto_vectorize(sch, word, c.vec_c)
        if len(sch.get(partial).reads) >= 3:  # a scale serves several words
            sch.compute_at(sch.cache_read(partial, 2, "local"), tile, preserve_unit_loops=True)
        sch.compute_at(sch.cache_read(partial, 1, "local"), scale, preserve_unit_loops=True)
        if c.vector_shared:
            self._load_vector(partial, vectors[0], steps)
        return bx

    def _load_vector(self, partial: BlockRV, vector: Buffer, steps: LoopRV) -> None:
        """Let all threads of a block load a piece of the vector together."""
        sch, c = self.sch, self.config
        shared = sch.cache_read(partial, vector, "shared")
        sch.compute_at(shared, steps, preserve_unit_loops=True)
        loop = sch.get_loops(shared)[-1]
        _, _, ts, tr, lanes = sch.split(
            loop, factors=[None, c.vector_tile, c.ts, c.tr, c.vec_vector]
        )
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)
        sch.vectorize(lanes)

    def _add_up(self, line: BlockRV, bx: LoopRV) -> None:
        sch = self.sch
        sch.reverse_compute_at(line, bx, preserve_unit_loops=True)
        tr, word, *results = sch.get_loops(line)[1:]
        ts = results[0] if len(results) == 1 else sch.fuse(*results)
        sch.reorder(ts, tr, word)
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)
        sch.reverse_compute_at(self.block, bx, preserve_unit_loops=True)
        tr, *results = sch.get_loops(self.block)[1:]
        ts = results[0] if len(results) == 1 else sch.fuse(*results)
        sch.reorder(ts, tr)
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)


def by_columns(
    sch: Schedule,
    target: Target,
    block: BlockRV,
    vectors: list[Buffer],
    epilogue: BlockInfo | None,
) -> Schedule | None:
    """Let each thread sum for neighbouring results; only for phones."""
    if not gpu_tuning(target).on_phone:
        return None
    batch, rows, steps, packed = sch.get_loops(block)
    extent = get_extent(sch, rows)
    lanes = (4 if extent > 4096 else 2) if isinstance(extent, int) else 1
    threads = 128
    bx, tx, vec = sch.split(rows, factors=[None, threads, lanes])
    outer, inner = sch.split(steps, factors=[None, 4])
    sch.bind(batch, "blockIdx.y")
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.reorder(bx, tx, outer, inner, packed, vec)
    unroll_within(sch, tx, 8)
    shared = sch.cache_read(block, vectors[0], "shared")
    sch.compute_at(shared, bx, preserve_unit_loops=True)
    _, thread, part = sch.split(sch.get_loops(shared)[-1], factors=[None, threads, 8])
    sch.bind(thread, "threadIdx.x")
    sch.vectorize(part)
    sch.vectorize(vec)
    if epilogue is not None:
        sch.reverse_compute_at(epilogue.block_rv, bx)
        tx, vec = sch.split(sch.get_loops(epilogue.block_rv)[-1], factors=[threads, lanes])
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(vec)
        sch.set_scope(block, 0, "local")
    sch.decompose_reduction(block, outer)
    return sch
