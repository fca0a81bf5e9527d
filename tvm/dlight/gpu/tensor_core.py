"""Products of matrices on NVIDIA's tensor cores: float16 or int8 factors, warps of 32 threads.

    each thread block:   128 x 128 results; slices of A and B, 64 (or 16) wide, in shared memory
    each warp:           32 x 32 results in fragments of 16 x 16

Global memory is read a slice ahead, shared memory a fragment ahead: annotations for the passes
ManifestSharedMemoryLocalStage and InjectSoftwarePipeline, which make stages of the loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tvm.dlight.analysis.common_analysis import get_root_block
from tvm.dlight.base import open_schedule
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.tensor_intrin.wmma import get_wmma_intrin_group

from .base import GPUScheduleRule
from .einsum import bring_to_form
from .inline import auto_inline_consumer_chain, auto_inline_producers

_WARP = MATRIX_THREADS["cuda"]
_SIDE = 16  # of a fragment
_SCOPE: Final = "shared.dyn"


@dataclass(frozen=True)
class _Config:
    in_dtype: str
    out_dtypes: tuple[str, ...]  # of accumulators; the first that fits is taken
    block_k: int  # width of a slice
    lanes: int  # elements that a thread loads at once
    padding: int  # of the rows of shared memory, so that columns lie in different banks
    step: int = 16  # of which rows are multiples before the padding


_HALF = _Config("float16", ("float32", "float16"), 64, 4, 8)
_INT8 = _Config("int8", ("int32",), 16, 4, 16, 32)
_BLOCK = 128


class MatmulTensorization(GPUScheduleRule):
    """Schedules products of float16 matrices."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is no such product."""
        return _apply(self, func, target, _HALF)


class MatmulInt8Tensorization(GPUScheduleRule):
    """Schedules products of int8 matrices, summed as int32."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is no such product."""
        return _apply(self, func, target, _INT8)


def _apply(
    rule: GPUScheduleRule, func: PrimFunc, target: Target, config: _Config
) -> Schedule | None:
    if not isinstance(func, PrimFunc) or not rule.is_target_available(target):
        return None
    sch = open_schedule(func)
    block = product_to_form(sch)
    if block is None:
        return None
    node = sch.get(block)
    types = [str(region.buffer.dtype) for region in node.reads]
    out = str(node.writes[0].buffer.dtype)
    if types != [config.in_dtype] * 2 or out not in config.out_dtypes:
        return None
    try:
        _TensorCores(sch, block, config, out).run()
    except ScheduleError:
        return None
    return sch


def product_to_form(sch: Schedule) -> BlockRV | None:
    """The function's one product of matrices, brought to the form of `einsum`."""
    from .matmul import get_reduction_blocks  # the rules for products share one question

    mains = get_reduction_blocks(sch, sch.get_child_blocks(get_root_block(sch)))
    if mains is None or not bring_to_form(sch, mains[0]):
        return None
    return mains[0]


class _TensorCores:
    def __init__(self, sch: Schedule, block: BlockRV, config: _Config, out_dtype: str) -> None:
        self.sch, self.block, self.config = sch, block, config
        self.names = get_wmma_intrin_group(_SCOPE, _SCOPE, config.in_dtype, out_dtype, True)

    def run(self) -> None:
        """The whole schedule."""
        sch = self.sch
        sch.pad_einsum(self.block, [1, _BLOCK, _BLOCK, self.config.block_k])
        tiles = self._tile()
        warp, slice_, step = self._bind(tiles)
        for operand in (0, 1):
            self._through_shared(tiles, operand, slice_)
        fragments = [self._fragment(tiles, operand, name, step)
                     for operand, name in enumerate(("matrix_a", "matrix_b"))]  # fmt: skip
        result = sch.cache_write(tiles, 0, _SCOPE)
        sch.storage_align(result, 0, -2, 16, 4)
        store = sch.cache_write(tiles, 0, "wmma.accumulator")
        sch.reverse_compute_at(store, warp)
        sch.reverse_compute_at(result, warp)
        _split_into_fragments(sch, store)
        start = sch.get_child_blocks(sch.decompose_reduction(tiles, slice_))[0]
        for fragment, name in zip(fragments, ("load_a", "load_b")):
            outer = _split_into_fragments(sch, fragment)
            for loop in outer[:2]:
                sch.unroll(loop)
            sch.tensorize(outer[2], self.names[name])
        sch.tensorize(sch.get_loops(start)[-2], self.names["init"])
        sch.tensorize(sch.get_loops(store)[-2], self.names["store"])
        sch.tensorize(sch.get_loops(self.block)[-3], self.names["compute"])
        auto_inline_consumer_chain(sch, result)
        fused = sch.fuse(*sch.get_loops(result)[-2:])
        _, thread, lanes = sch.split(fused, factors=[None, _WARP, self.config.lanes])
        sch.bind(thread, "threadIdx.x")
        sch.vectorize(lanes)

    def _tile(self) -> BlockRV:
        """Blocks of a fragment each."""
        sch = self.sch
        _, *loops = sch.get_loops(self.block)
        parts = [sch.split(loop, factors=[None, _SIDE]) for loop in loops]
        sch.reorder(*[part[0] for part in parts], *[part[1] for part in parts])
        return sch.blockize(parts[0][1])

    def _bind(self, tiles: BlockRV) -> tuple[LoopRV, LoopRV, LoopRV]:
        """Bind the loops over tiles; returns those over warps, slices, and steps in a slice."""
        sch = self.sch
        batch, i, j, k = sch.get_loops(tiles)
        i0, i1, i2, i3 = sch.split(i, factors=[None, 1, 4, 2])
        j0, j1, j2, j3 = sch.split(j, factors=[1, None, 4, 2])
        k0, k1 = sch.split(k, factors=[None, self.config.block_k // _SIDE])
        # a slice ahead: load, load, (wait), store, store, compute; a fragment ahead: load, load
        sch.annotate(k0, "software_pipeline_order", [0, 3, 1, 4, 5, 2, 6])
        sch.annotate(k0, "software_pipeline_stage", [0, 0, 0, 0, 0, 1, 1])
        sch.annotate(k1, "software_pipeline_order", [0, 1, 2])
        sch.annotate(k1, "software_pipeline_stage", [0, 0, 1])
        sch.reorder(i0, j0, i1, j1, j2, i2, k0, k1, i3, j3)
        bx, by, warp = sch.fuse(i0, j0), sch.fuse(i1, j1), sch.fuse(j2, i2)
        for loop, axis in ((batch, "blockIdx.z"), (bx, "blockIdx.x"), (by, "blockIdx.y"),
                           (warp, "threadIdx.y")):  # fmt: skip
            sch.bind(loop, axis)
        return warp, k0, k1

    def _through_shared(self, tiles: BlockRV, operand: int, slice_: LoopRV) -> None:
        sch = self.sch
        copy = sch.cache_read(tiles, operand, _SCOPE)
        sch.compute_at(copy, slice_)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, warp, lane, lanes = sch.split(fused, factors=[None, 16, _WARP, self.config.lanes])
        sch.bind(lane, "threadIdx.x")
        sch.bind(warp, "threadIdx.y")
        sch.vectorize(lanes)
        sch.storage_align(copy, 0, axis=-2, factor=self.config.step, offset=self.config.padding)
        sch.annotate(copy, "tir.manifest_shared_memory_local_stage", 1)
        sch.annotate(copy, "double_buffer_scope", 0)
        auto_inline_producers(sch, copy)

    def _fragment(self, tiles: BlockRV, operand: int, name: str, step: LoopRV) -> BlockRV:
        copy = self.sch.cache_read(tiles, operand, f"wmma.{name}")
        self.sch.compute_at(copy, step)
        return copy


def _split_into_fragments(sch: Schedule, block: BlockRV) -> list[LoopRV]:
    """Its two innermost loops as loops over fragments, and over rows and columns of each."""
    rows, columns = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(rows, factors=[None, _SIDE])
    j0, j1 = sch.split(columns, factors=[None, _SIDE])
    sch.reorder(i0, j0, i1, j1)
    return [i0, j0, i1, j1]
