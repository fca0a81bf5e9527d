"""Matrix times vector: each element of the matrix is used once, so loads decide.

The sum moves along memory (C[i] = sum over k of W[i, k] * x[k]): a row belongs to a line of
threads. Each keeps a few partial sums side by side, adds them up, and then the line does.

    part[tr, c] = sum over k = (.., tr, c)   ->   line[tr] = sum over c   ->   C[i] = sum over tr

The rows move along memory (W[k, i]): neighbours of threads take neighbours of rows; see
`gemv_outer`.
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import BlockInfo, is_broadcast_epilogue
from tvm.dlight.analysis.gemv import is_gemv, normalize
from tvm.dlight.base import get_bytes, get_extent, main_and_epilogue, open_schedule
from tvm.target.target import Target
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

from .base import GPUScheduleRule, largest_divisor, unroll_within
from .gemv_config import GemvConfig, gemv_config
from .gemv_outer import by_columns, by_words


class GEMV(GPUScheduleRule):
    """Schedules functions of one matrix-vector product (batched or not) and an epilogue."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        found = main_and_epilogue(sch)
        if found is None or len(found[0].iters) not in (2, 3):
            return None
        info, epilogue = found
        vectors = is_gemv(sch, info)
        if vectors is None:
            return None
        inner = normalize(sch, info)
        if inner is None:
            return None
        if inner:
            return self.sch_inner_reduction(sch, target, info.block_rv, vectors, epilogue)
        result = self.sch_outer_reduction(sch, target, info.block_rv, vectors, epilogue)
        if result is not None:
            return result
        return self.sch_outer_reduction_fallback(sch, target, info.block_rv, vectors, epilogue)

    def sch_inner_reduction(
        self,
        sch: Schedule,
        target: Target,
        block: BlockRV,
        vector_input_buffers: list[Buffer],
        epilogue_info: BlockInfo | None,
    ) -> Schedule | None:
        """Schedule a product whose sum moves along memory."""
        batch, rows, steps, packed = (get_extent(sch, loop) for loop in sch.get_loops(block))
        if not isinstance(packed, int):
            return None
        config = gemv_config(target, batch, rows, steps, packed)
        _Inner(sch, target, block, config).run(vector_input_buffers, epilogue_info)
        return sch

    def sch_outer_reduction(
        self,
        sch: Schedule,
        target: Target,
        block: BlockRV,
        vector_input_buffers: list[Buffer],
        epilogue_info: BlockInfo | None,
    ) -> Schedule | None:
        """Schedule a product whose rows move along memory, the sum shared by threads."""
        return by_words(sch, target, block, vector_input_buffers, epilogue_info)

    def sch_outer_reduction_fallback(
        self,
        sch: Schedule,
        target: Target,
        block: BlockRV,
        vector_input_buffers: list[Buffer],
        epilogue_info: BlockInfo | None,
    ) -> Schedule | None:
        """Schedule a product whose rows move along memory, each thread summing alone."""
        return by_columns(sch, target, block, vector_input_buffers, epilogue_info)


class _Inner:
    """The steps of a schedule whose sum moves along memory."""

    def __init__(self, sch: Schedule, target: Target, block: BlockRV, config: GemvConfig) -> None:
        self.sch, self.target, self.block, self.config = sch, target, block, config
        self.tag_s, self.tag_r = config.axes

    def run(self, vectors: list[Buffer], epilogue: BlockInfo | None) -> None:
        """Do all of them."""
        sch, config = self.sch, self.config
        self.partial, self.line = self._two_partial_sums()
        rows, tr, steps = self._bind_partial()
        self._load_matrix(steps, vectors)
        shared = self._load_vector(tr, vectors[0]) if self._vector_fits(vectors) else None
        self._add_up(rows)
        sch.decompose_reduction(self.partial, sch.get_loops(self.partial)[3])
        sch.decompose_reduction(self.line, sch.get_loops(self.line)[-1])
        sch.set_scope(self.partial, 0, "local")
        sch.set_scope(self.line, 0, "local")
        unroll_within(sch, sch.get_loops(self.partial)[3], config.unroll)
        unroll_within(sch, sch.get_loops(self.line)[3], config.unroll)
        if shared is not None:
            outer = sch.get_loops(shared)[-4]
            sch.annotate(outer, "pragma_unroll_explicit", config.unroll)
            sch.annotate(outer, "pragma_vectorize", 1)
        if epilogue is not None:
            self._finish(epilogue.block_rv, rows)

    def _two_partial_sums(self) -> tuple[BlockRV, BlockRV]:
        """The blocks of sums by (thread, lane of its vector), and of sums by thread."""
        sch, c = self.sch, self.config
        batch, rows, steps, packed = sch.get_loops(self.block)
        rows, steps = sch.fuse(batch, rows), sch.fuse(steps, packed)
        sch.split(rows, factors=[None, c.ts, c.tile_s])
        steps, tr, tile, vec = sch.split(
            steps, factors=[None, c.tr, c.tile_r // c.vec_c, c.vec_c]
        )
        sch.reorder(steps, tile, tr, vec)
        partial = sch.rfactor(sch.fuse(tr, vec), 0)
        tr, _ = sch.split(sch.get_loops(self.block)[-1], factors=[c.tr, None])
        return partial, sch.rfactor(tr, 0)

    def _bind_partial(self) -> tuple[LoopRV, LoopRV, LoopRV]:
        """Bind the first block; returns its loops over thread blocks, over `tr`, and over steps."""
        sch, c = self.sch, self.config
        rows, ts, tile_s, steps, tile, fused = sch.get_loops(self.partial)
        tr, vec = sch.split(fused, factors=[c.tr, None])
        sch.reorder(rows, ts, tr, steps, tile_s, tile, vec)
        sch.bind(rows, "blockIdx.x")
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)
        sch.vectorize(vec)
        return rows, tr, steps

    def _load_matrix(self, steps: LoopRV, vectors: list[Buffer]) -> None:
        sch = self.sch
        read = [r.buffer for r in sch.get(self.partial).reads]
        matrix = next(index for index, buffer in enumerate(read) if buffer not in vectors)
        local = sch.cache_read(self.partial, matrix, "local")
        sch.compute_at(local, steps, preserve_unit_loops=True)
        size = get_bytes(sch.get(local).reads[0].buffer.dtype)
        fused = sch.fuse(*sch.get_loops(local)[-2:])
        lanes = max(1, self.config.vec_load // size)
        sch.vectorize(sch.split(fused, factors=[None, lanes])[1])

    def _vector_fits(self, vectors: list[Buffer]) -> bool:
        """Whether shared memory takes the whole vector, beside what sums across threads need."""
        c = self.config
        if not c.vector_shared:
            return False
        used = 0
        for buffer in vectors:
            size = get_bytes(buffer.dtype)
            for extent in buffer.shape:
                if not isinstance(extent, IntImm):
                    return False
                size *= extent.value
            used += size if c.shuffles else size + c.ts * c.tr * get_bytes(buffer.dtype)
        limit = self.target.attrs.get("max_shared_memory_per_block")
        return limit is not None and used <= int(limit)

    def _load_vector(self, tr: LoopRV, vector: Buffer) -> BlockRV:
        sch, c = self.sch, self.config
        shared = sch.cache_read(self.partial, vector, "shared")
        sch.compute_at(shared, tr, preserve_unit_loops=True)
        loop = sch.get_loops(shared)[-1]
        extent, threads = get_extent(sch, loop), c.ts * c.tr
        lanes = c.vec_vector
        if isinstance(extent, int):
            # no more than divides the vector evenly: guards would cost more than they save
            whole = largest_divisor(extent, [threads * n for n in (1, 2, 4, 8)]) // threads
            lanes = max(min(whole, c.vec_vector), 1)
        in_y, in_x = (c.ts, c.tr) if self.tag_r == "threadIdx.x" else (c.tr, c.ts)
        _, ty, tx, vec = sch.split(loop, factors=[None, in_y, in_x, lanes])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        sch.vectorize(vec)
        return shared

    def _add_up(self, rows: LoopRV) -> None:
        """A thread's sums to one, then those of a line of threads."""
        sch, c = self.sch, self.config
        sch.reverse_compute_at(self.line, rows, preserve_unit_loops=True)
        tr, vec, *results = sch.get_loops(self.line)[1:]
        ts, tile = self._rows_of_block(results)
        tile, side = sch.split(tile, factors=[None, largest_divisor(c.tile_s, [1, 2, 4, 8])])
        sch.reorder(ts, tr, tile, side, vec)
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)
        sch.vectorize(side)
        sch.reverse_compute_at(self.block, rows, preserve_unit_loops=True)
        tr, *results = sch.get_loops(self.block)[1:]
        ts, tile = self._rows_of_block(results)
        sch.reorder(tile, ts, tr)
        sch.bind(ts, self.tag_s)
        sch.bind(tr, self.tag_r)

    def _rows_of_block(self, loops: list[LoopRV]) -> tuple[LoopRV, LoopRV]:
        """The results of a thread block as loops over threads and a tile of each."""
        sch, c = self.sch, self.config
        outer, ts, tile = sch.split(sch.fuse(*loops), factors=[None, c.ts, c.tile_s])
        return sch.fuse(outer, ts), tile

    def _finish(self, epilogue: BlockRV, rows: LoopRV) -> None:
        sch, c = self.sch, self.config
        if is_broadcast_epilogue(sch, self.block, epilogue):
            sch.reverse_compute_at(epilogue, rows)
            sch.set_scope(self.block, 0, "shared")
            _, *loops = sch.get_loops(epilogue)
            _, thread = sch.split(sch.fuse(*loops), factors=[None, c.tr])
            sch.bind(thread, self.tag_r)
            return
        sch.reverse_compute_at(epilogue, rows, preserve_unit_loops=True)
        ts, _ = self._rows_of_block(sch.get_loops(epilogue)[1:])
        sch.bind(ts, self.tag_s)
        sch.set_scope(self.block, 0, "local")
