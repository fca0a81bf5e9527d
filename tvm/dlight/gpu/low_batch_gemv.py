"""Few rows times a matrix, where the number of rows is known at run time only.

    C[b, i] = sum over k of X[b, k] * W[i, k]        b < n, a handful

Rows are taken `bucket` at a time (the last bucket is padded), so that each element of the matrix
that was loaded serves several sums; apart from that the schedule is that of `gemv`.
"""

from __future__ import annotations

import itertools
from typing import Final

from tvm.dlight.analysis.access import iter_sum, split_terms
from tvm.dlight.analysis.common_analysis import (
    BlockInfo,
    collect_block_iter_vars_used_in_access_region,
    collect_vars_used_in_prim_expr,
    is_broadcast_epilogue,
    normalize_prim_func,
)
from tvm.dlight.analysis.dequantize import is_dequantization
from tvm.dlight.analysis.gemv import get_reduction_expr
from tvm.dlight.base import (
    get_extent,
    open_schedule,
    pad_operands,
    try_inline_contiguous_spatial,
)
from tvm.ir.expr import PrimExpr
from tvm.target.target import Target
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.stmt import Block, BufferRegion

from .base import GPUScheduleRule, unroll_within
from .gemv_config import low_batch_config
from .low_batch_outer import OuterSteps, as_one

_COLUMNS = 64  # threads over neighbouring results, where those move along memory


def _known(block: Block) -> set[Var]:
    """The variables of known extent."""
    return {
        iv.var for iv in block.iter_vars
        if iv.dom is not None and isinstance(iv.dom.extent, IntImm)
    }  # fmt: skip


def _used(block: Block, region: BufferRegion) -> set[Var]:
    return collect_block_iter_vars_used_in_access_region(block, list(region.region))


def is_gemv(sch: Schedule, block_info: BlockInfo) -> list[Buffer] | None:
    """The rows' buffers of a product with one symbolic extent, which is spatial; else None."""
    block: Block = sch.get(block_info.block_rv)
    if not block_info.is_reduction() or len(block.writes) != 1 or len(block.reads) < 2:
        return None
    if get_reduction_expr(block) is None or not _used(block, block.writes[0]):
        return None
    known = _known(block)
    symbolic = [iv for iv in block.iter_vars if iv.var not in known]
    if len(symbolic) != 1 or symbolic[0].iter_type != IterVar.DataPar:
        return None
    rows = [r.buffer for r in block.reads if 0 < len(_used(block, r) & known) < len(known)]
    return rows if 0 < len(rows) < len(block.reads) else None


def detect_dominant_read(block: Block, const_iter_vars: set[Var]) -> PrimExpr:
    """Where the block reads the matrix: the flattened index with most variables of known extent."""
    best = max(block.reads, key=lambda r: len(_used(block, r) & const_iter_vars))
    (offset,) = best.buffer.offset_of([part.min for part in best.region])
    return offset


def normalize(sch: Schedule, block_info: BlockInfo) -> bool | None:
    """Reorder and fuse the loops to symbolic, batch (if there is one), spatial and reducing.

    True if the matrix moves along memory with the reduction, False if not, None if the loops do
    not fit.
    """
    block: Block = sch.get(block_info.block_rv)
    known = _known(block)
    domains = {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}
    access = iter_sum(detect_dominant_read(block, known), domains)
    if access is None or collect_vars_used_in_prim_expr(access.base) & set(domains):
        return None
    infos = {i.var: i for i in block_info.iters}
    order = [var for var, _ in split_terms(access)]
    if not order or any(var not in infos for var in order):
        return None
    order = list(dict.fromkeys(order))
    symbolic = [infos[var].loop_rv for var in infos if var not in known]
    regions = [_used(block, r) for r in (*block.writes, *block.reads)]
    groups: tuple[list[LoopRV], ...] = ([], [], [])
    for var in order:
        if var not in known:
            return None
        shared = all(var in used for used in regions)
        groups[2 if infos[var].kind == "R" else 0 if shared else 1].append(infos[var].loop_rv)
    batch, spatial, reducing = groups
    if not spatial or not reducing or len(symbolic) + len(order) != len(infos):
        return None
    sch.reorder(*symbolic, *batch, *spatial, *reducing)
    for group in (batch, spatial, reducing):
        if group:
            sch.fuse(*group)
    return infos[order[-1]].kind == "R"


class LowBatchGEMV(GPUScheduleRule):
    """Schedules functions of one product of few rows with a matrix, and an epilogue."""

    def __init__(self, bucket: int = 4) -> None:
        super().__init__()
        self.bucket = bucket

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        copies = self._pad(sch)
        if copies is None:
            return None
        infos = normalize_prim_func(sch)
        if infos is None:
            return None
        before = itertools.takewhile(lambda i: not i.is_reduction(), infos)
        unpack = next((i for i in before if is_dequantization(sch.get(i.block_rv))), None)
        padded = next((i for i in infos if _makes(sch, i, copies)), None)
        infos = try_inline_contiguous_spatial(
            sch, [i for i in infos if i is not unpack and i is not padded]
        )
        if not infos or len(infos) > 2 or any(not i.is_injective() for i in infos[1:]):
            return None
        info, epilogue = infos[0], infos[1] if len(infos) == 2 else None
        rows = is_gemv(sch, info) if len(info.iters) in (3, 4) else None
        inner = None if rows is None else normalize(sch, info)
        if rows is None or inner is None or (not inner and self.bucket > 4):
            return None
        schedule = self.sch_inner_reduction if inner else self.sch_outer_reduction
        schedule(
            sch, target, info.block_rv, None if unpack is None else unpack.block_rv,
            None if padded is None else padded.block_rv, rows, epilogue, self.bucket,
        )  # fmt: skip
        return sch

    def _pad(self, sch: Schedule) -> list[Buffer] | None:
        """Round the symbolic extent up to whole buckets; the padded copies of operands.

        None if there is no such product.
        """
        infos = normalize_prim_func(sch)
        reductions = [] if infos is None else [i for i in infos if i.is_reduction()]
        if len(reductions) != 1 or is_gemv(sch, reductions[0]) is None:
            return None
        padding = [1 if isinstance(i.dom, int) else self.bucket for i in reductions[0].iters]
        try:
            copies = pad_operands(sch, reductions[0].block_rv, padding)
        except ScheduleError:
            return None
        return [sch.get(copy).writes[0].buffer for copy in copies]

    def sch_inner_reduction(
        self,
        sch: Schedule,
        target: Target,
        block: BlockRV,
        dequantize_block: BlockRV | None,
        pad_input_block: BlockRV | None,
        vector_input_buffers: list[Buffer],
        epilogue_info: BlockInfo | None,
        batch_pad: int,
    ) -> None:
        """Schedule a product whose sum moves along memory."""
        _Inner(sch, target, block, batch_pad).run(dequantize_block, pad_input_block, epilogue_info)

    def sch_outer_reduction(
        self,
        sch: Schedule,
        target: Target,
        block: BlockRV,
        dequantize_block: BlockRV | None,
        pad_input_block: BlockRV | None,
        vector_input_buffers: list[Buffer],
        epilogue_info: BlockInfo | None,
        batch_pad: int,
    ) -> None:
        """Schedule a product whose results move along memory: a thread sums a bucket of rows."""
        if dequantize_block is not None:
            last = None if epilogue_info is None else epilogue_info.block_rv
            OuterSteps(sch, target, block, batch_pad).run(dequantize_block, pad_input_block, last)
            return
        symbolic, *spatial, steps = sch.get_loops(block)
        by, rows = sch.split(symbolic, factors=[None, batch_pad])
        bx, tx = sch.split(as_one(sch, spatial), factors=[None, _COLUMNS])
        sch.reorder(by, bx, tx, steps, rows)
        for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (tx, "threadIdx.x")):
            sch.bind(loop, axis)
        sch.unroll(rows)
        if pad_input_block is not None:
            sch.compute_inline(pad_input_block)
        if epilogue_info is not None:
            sch.reverse_compute_at(epilogue_info.block_rv, tx, preserve_unit_loops=True)
            sch.set_scope(block, 0, "local")
        sch.decompose_reduction(block, steps)


def _makes(sch: Schedule, info: BlockInfo, copies: list[Buffer]) -> bool:
    """Whether a block is a padded copy of an input."""
    makes = sch.get(info.block_rv).writes[0].buffer in copies
    return makes and not sch.get_producers(info.block_rv)


class _Inner:
    """The steps of a schedule whose sum moves along memory: a thread sums `TILE` columns."""

    TILE: Final = 2

    def __init__(self, sch: Schedule, target: Target, block: BlockRV, bucket: int) -> None:
        self.sch, self.block, self.bucket = sch, block, bucket
        _, *batch, rows, steps = (get_extent(sch, loop) for loop in sch.get_loops(block))
        self.config = low_batch_config(target, batch[0] if batch else 1, rows, steps)
        self.tag_s, self.tag_r = self.config.axes

    def run(
        self, unpack: BlockRV | None, padded: BlockRV | None, epilogue: BlockInfo | None
    ) -> None:
        """Do all of them."""
        sch, c = self.sch, self.config
        partial, line = self._two_partial_sums()
        bx, steps = self._bind_partial(partial)
        if unpack is not None:
            sch.compute_at(unpack, steps, preserve_unit_loops=True)
            sch.set_scope(unpack, 0, "local")
            *_, column, elements = sch.get_loops(unpack)
            column, lanes = sch.split(column, factors=[None, 1])  # v0.22 loads them one by one
            sch.reorder(column, elements, lanes)
            sch.vectorize(lanes)
        if padded is not None:
            sch.compute_inline(padded)
        sch.reverse_compute_at(line, bx, preserve_unit_loops=True)
        _, _, tr, part, rows, *columns = sch.get_loops(line)
        ts, tile = self._columns(rows, columns)
        tile, lanes = sch.split(tile, factors=[None, self.TILE])
        sch.reorder(ts, tr, tile, rows, lanes, part)
        sch.vectorize(lanes)
        self._bind_line(ts, tr)
        sch.reverse_compute_at(self.block, bx, preserve_unit_loops=True)
        _, _, tr, rows, *columns = sch.get_loops(self.block)
        ts, tile = self._columns(rows, columns)
        sch.reorder(tile, rows, ts, tr)
        self._bind_line(ts, tr)
        sch.decompose_reduction(partial, sch.get_loops(partial)[4])
        sch.decompose_reduction(line, sch.get_loops(line)[-1])
        for block in (partial, line):
            sch.set_scope(block, 0, "local")
        for block in (partial, line):
            unroll_within(sch, sch.get_loops(block)[4], c.unroll)
        if epilogue is not None:
            self._finish(epilogue.block_rv, bx)

    def _two_partial_sums(self) -> tuple[BlockRV, BlockRV]:
        sch, c = self.sch, self.config
        symbolic, *spatial, steps = sch.get_loops(self.block)
        by, bucket = sch.split(symbolic, factors=[None, self.bucket])
        bx, ts, tile = sch.split(as_one(sch, spatial), factors=[None, c.ts, self.TILE])
        steps, tr, tile_r, vec = sch.split(
            steps, factors=[None, c.tr, c.tile_r // c.vec_c, c.vec_c]
        )
        sch.reorder(by, bx, ts, steps, bucket, tile, tile_r, tr, vec)
        partial = sch.rfactor(sch.fuse(tr, vec), 0)
        tr, _ = sch.split(sch.get_loops(self.block)[-1], factors=[c.tr, None])
        return partial, sch.rfactor(tr, 0)

    def _bind_partial(self, partial: BlockRV) -> tuple[LoopRV, LoopRV]:
        sch, c = self.sch, self.config
        by, bx, ts, steps, bucket, tile, tile_r, fused = sch.get_loops(partial)
        tr, vec = sch.split(fused, factors=[c.tr, None])
        sch.reorder(by, bx, ts, tr, steps, bucket, tile, tile_r, vec)
        sch.bind(by, "blockIdx.y")
        sch.bind(bx, "blockIdx.x")
        self._bind_line(ts, tr)
        sch.vectorize(vec)
        return bx, steps

    def _bind_line(self, ts: LoopRV, tr: LoopRV) -> None:
        self.sch.bind(ts, self.tag_s)
        self.sch.bind(tr, self.tag_r)

    def _columns(self, rows: LoopRV, loops: list[LoopRV]) -> tuple[LoopRV, LoopRV]:
        """The columns of a thread block: the threads over them, and those of one thread."""
        fused = self.sch.fuse(*loops) if loops else self.sch.add_unit_loop(rows)
        outer, ts, tile = self.sch.split(fused, factors=[None, self.config.ts, self.TILE])
        return self.sch.fuse(outer, ts), tile

    def _finish(self, epilogue: BlockRV, bx: LoopRV) -> None:
        sch, c = self.sch, self.config
        sch.reverse_compute_at(epilogue, bx, preserve_unit_loops=True)
        wide = is_broadcast_epilogue(sch, self.block, epilogue)
        sch.set_scope(self.block, 0, "shared" if wide else "local")
        _, _, *loops = sch.get_loops(epilogue)
        if wide:
            _, tr = sch.split(sch.fuse(*loops), factors=[None, c.tr])
            sch.bind(tr, self.tag_r)
            return
        rows, *columns = loops
        ts, tile = self._columns(rows, columns)
        sch.reorder(rows, ts, tile)
        sch.bind(ts, self.tag_s)
