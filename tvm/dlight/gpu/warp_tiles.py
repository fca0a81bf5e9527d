"""Products of half matrices on the tensor cores of sm_80 and later, copies running ahead.

    each thread block:   a tile of C; slices of A and B in shared memory, several at once, which
                         `cp.async` fills while earlier ones are multiplied
    each warp:           a part of the tile in fragments of 16 x 16, summed as the result's type

A and B keep the order that they have in memory: what is contiguous there is copied 16 bytes a
thread, neighbours by neighbours, and the fragments are loaded by rows or by columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tvm.dlight.base import open_schedule
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.target.gpu_tuning import TENSOR_CORES, gpu_tuning
from tvm.target.target import Target
from tvm.tir.analysis import undefined_vars
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.tensor_intrin.wmma import get_wmma_intrin_group

from .base import GPUScheduleRule
from .inline import auto_inline_consumer_chain, auto_inline_producers
from .tensor_core import product_to_form

_SIDE: Final = 16  # of a fragment
_LANES: Final = 8  # elements of 16 bits that are copied at once
_WARP: Final = MATRIX_THREADS["cuda"]
_SCOPE: Final = "shared.dyn"
USES_ASYNC_COPY: Final = "tir.use_async_copy"
_MANY: Final = 2048  # rows and columns from which larger tiles still give work to all cores
_DEEP: Final = 512  # sums from which slices of twice the width are worth their memory
_OLDEST: Final = 80  # the compute capability from which copies run in the background


@dataclass(frozen=True)
class Tiles:
    """Sizes of a thread block's tile, of a warp's part of it, of a slice; slices at once."""

    rows: int = 128
    columns: int = 128
    slice_: int = 64
    warp_rows: int = 64
    warp_columns: int = 64
    stages: int = 3

    @property
    def warps(self) -> int:
        """How many warps share a tile."""
        return (self.rows // self.warp_rows) * (self.columns // self.warp_columns)


class WarpTiles(GPUScheduleRule):
    """Schedules products of float16 or bfloat16 matrices whose rows are multiples of 16 bytes."""

    def __init__(self, tiles: Tiles | None = None) -> None:
        super().__init__()
        self._tiles = tiles

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is no such product."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        if gpu_tuning(target).matrix_units != TENSOR_CORES or target.cuda_version < _OLDEST:
            return None
        try:
            sch = open_schedule(func)
            block = product_to_form(sch)
            if block is None:
                return None
            product = _Product(sch, block)
            if not product.suits():
                return None
            product.schedule(self._tiles or product.tiles())
        except ScheduleError:
            return None
        made = sch.mod["main"]
        assert isinstance(made, PrimFunc), "a schedule of one function"
        return open_schedule(made.with_attr(USES_ASYNC_COPY, True))


class _Product:
    def __init__(self, sch: Schedule, block: BlockRV) -> None:
        self.sch, self.block = sch, block
        node = sch.get(block)
        self.types = [str(region.buffer.dtype) for region in node.reads]
        self.out = str(node.writes[0].buffer.dtype)
        self.extents = [iv.dom.extent for iv in node.iter_vars if iv.dom is not None]
        self.by_columns = [self._last_axis(operand) for operand in (0, 1)]

    def _last_axis(self, operand: int) -> int | None:
        """Which axis of (batch, row or column, k) is contiguous in memory of a factor."""
        producers = self.sch.get_producers(self.block)
        buffer = self.sch.get(self.block).reads[operand].buffer
        for producer in producers:
            node = self.sch.get(producer)
            if node.writes[0].buffer is buffer and len(node.reads) == 1:
                used = set(undefined_vars(node.reads[0].region[-1].min))
                region = node.writes[0].region
                found = [k for k, r in enumerate(region) if used & set(undefined_vars(r.min))]
                return found[-1] if found else None
        return None

    def suits(self) -> bool:
        """Whether factors and result are of types and sizes that this schedule is for."""
        results = {"float16": ("float16", "float32"), "bfloat16": ("float32",)}
        if self.types[0] != self.types[1] or self.out not in results.get(self.types[0], ()):
            return False
        _, rows, columns, depth = self.extents
        if not isinstance(depth, IntImm) or depth.value % _LANES or depth.value < 32:
            return False
        if not isinstance(columns, IntImm) or columns.value % _LANES or columns.value < 32:
            return False
        if isinstance(rows, IntImm) and rows.value < 32:
            return False
        return self.by_columns[0] == 2 and self.by_columns[1] in (1, 2)

    def tiles(self) -> Tiles:
        """The sizes for the extents: small products get smaller tiles, so that all cores work."""
        _, rows, columns, depth = self.extents
        known = [e.value if isinstance(e, IntImm) else 1 << 20 for e in (rows, columns)]
        if min(known) <= 64:
            return Tiles(64, 64, 32, 32, 32, 4)
        assert isinstance(depth, IntImm), "as `suits` asked"
        if depth.value < _DEEP:
            return Tiles(slice_=32, stages=4)
        if min(known) >= _MANY:
            return Tiles(128, 256, 32, 64, 64, 3)
        return Tiles()

    def schedule(self, tiles: Tiles) -> None:
        """The whole schedule."""
        sch, block, self.t = self.sch, self.block, tiles
        b_rows_last = self.by_columns[1] == 1  # (k, columns) in memory
        if b_rows_last:
            sch.transform_layout(block, ("read", 1), lambda s, j, k: (s, k, j))
        sch.pad_einsum(block, [1, tiles.rows, tiles.columns, tiles.slice_])
        names = get_wmma_intrin_group(_SCOPE, _SCOPE, self.types[0], self.out, not b_rows_last)
        parts = [sch.split(loop, factors=[None, _SIDE]) for loop in sch.get_loops(block)[1:]]
        sch.reorder(*[part[0] for part in parts], *[part[1] for part in parts])
        fragments = sch.blockize(parts[0][1])
        warp, slices, step = self._bind(fragments)
        for operand in (0, 1):
            self._through_shared(fragments, operand, slices)
        loads = [
            self._fragment(fragments, operand, f"wmma.matrix_{'ab'[operand]}", step)
            for operand in (0, 1)
        ]
        result = sch.cache_write(fragments, 0, _SCOPE)
        sch.storage_align(result, 0, -2, 16, 8)
        store = sch.cache_write(fragments, 0, "wmma.accumulator")
        sch.reverse_compute_at(store, warp)
        sch.reverse_compute_at(result, warp)
        self._in_fragments(store)
        start = sch.get_child_blocks(sch.decompose_reduction(fragments, slices))[0]
        for load, name in zip(loads, ("load_a", "load_b")):
            outer = self._in_fragments(load)
            for loop in outer[:2]:
                sch.unroll(loop)
            sch.tensorize(outer[2], names[name])
        sch.tensorize(sch.get_loops(start)[-2], names["init"])
        sch.tensorize(sch.get_loops(store)[-2], names["store"])
        sch.tensorize(sch.get_loops(block)[-3], names["compute"])
        auto_inline_consumer_chain(sch, result)
        fused = sch.fuse(*sch.get_loops(result)[-2:])
        _, thread, lanes = sch.split(fused, factors=[None, _WARP, 4])
        sch.bind(thread, "threadIdx.x")
        sch.vectorize(lanes)

    def _bind(self, fragments: BlockRV) -> tuple[LoopRV, LoopRV, LoopRV]:
        sch, t = self.sch, self.t
        batch, i, j, k = sch.get_loops(fragments)
        i0, i1, i2 = sch.split(i, factors=[None, t.rows // t.warp_rows, t.warp_rows // _SIDE])
        j0, j1, j2 = sch.split(
            j, factors=[None, t.columns // t.warp_columns, t.warp_columns // _SIDE]
        )
        k0, k1 = sch.split(k, factors=[None, t.slice_ // _SIDE])
        sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
        warp = sch.fuse(i1, j1)
        for loop, axis in ((batch, "blockIdx.z"), (i0, "blockIdx.y"), (j0, "blockIdx.x"),
                           (warp, "threadIdx.y")):  # fmt: skip
            sch.bind(loop, axis)
        for loop in (k1, i2, j2):
            sch.unroll(loop)
        sch.annotate(k0, "software_pipeline_stage", [0, 0, t.stages - 1])
        sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
        sch.annotate(k0, "software_pipeline_async_stages", [0])
        return warp, k0, k1

    def _through_shared(self, fragments: BlockRV, operand: int, slices: LoopRV) -> None:
        sch = self.sch
        copy = sch.cache_read(fragments, operand, _SCOPE)
        sch.compute_at(copy, slices)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, warp, lane, lanes = sch.split(fused, factors=[None, self.t.warps, _WARP, _LANES])
        sch.bind(lane, "threadIdx.x")
        sch.bind(warp, "threadIdx.y")
        sch.vectorize(lanes)
        sch.storage_align(copy, 0, axis=-2, factor=16, offset=8)
        auto_inline_producers(sch, copy)

    def _fragment(self, fragments: BlockRV, operand: int, scope: str, step: LoopRV) -> BlockRV:
        copy = self.sch.cache_read(fragments, operand, scope)
        self.sch.compute_at(copy, step)
        return copy

    def _in_fragments(self, block: BlockRV) -> list[LoopRV]:
        """Its two innermost loops as loops over fragments, and over rows and columns of each."""
        sch = self.sch
        rows, columns = sch.get_loops(block)[-2:]
        i0, i1 = sch.split(rows, factors=[None, _SIDE])
        j0, j1 = sch.split(columns, factors=[None, _SIDE])
        sch.reorder(i0, j0, i1, j1)
        return [i0, j0, i1, j1]
