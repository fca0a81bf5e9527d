"""The transforms of Winograd's convolution on GPUs: a thread makes whole tiles.

    for p_0, ci_0, p_1, ci_1: S   ->   for fused_0 in blockIdx.x: for fused_1 in threadIdx.x: S

A tile lies in registers while it is transformed.
"""

from __future__ import annotations

from tvm.ffi import register_global_func
from tvm.meta_schedule.schedule.generic.winograd import producer_without_constants, tile_transform
from tvm.meta_schedule.schedule_rule.thread_binding import bind_loop, sampled_factor
from tvm.tir.schedule import BlockRV, LoopRV, Schedule

_MAX_BLOCKS, _MAX_THREADS = 256, 1024
_THREADS = (32, 64, 128, 256, 512, 1024)


@register_global_func("meta_schedule.cuda.conv2d_nhwc_winograd_data_pack", override=True)
def nhwc_data_pack(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """B^T d B with the channels last."""
    return _data_pack(sch, block)


@register_global_func("meta_schedule.cuda.conv2d_nchw_winograd_data_pack", override=True)
def nchw_data_pack(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """B^T d B with the channels before the tiles."""
    return _data_pack(sch, block)


@register_global_func("meta_schedule.cuda.conv2d_nhwc_winograd_inverse", override=True)
def nhwc_inverse(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """A^T m A with the channels last."""
    producer_without_constants(sch, block)
    _bind(sch, tile_transform(sch, block, (2, 3), (0, 1)))
    return [sch]


@register_global_func("meta_schedule.cuda.conv2d_nchw_winograd_inverse", override=True)
def nchw_inverse(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """A^T m A with the channels first."""
    producer_without_constants(sch, block)
    _bind(sch, tile_transform(sch, block, (0, 1), (2, 3)))
    return [sch]


def _data_pack(sch: Schedule, block: BlockRV) -> list[Schedule]:
    input_tile = producer_without_constants(sch, block)
    data_pad = producer_without_constants(sch, input_tile)
    thread = _bind(sch, tile_transform(sch, block, (2, 3), (0, 1)))
    copy = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(copy, thread, preserve_unit_loops=True)
    sch.compute_at(input_tile, thread, preserve_unit_loops=True)
    sch.set_scope(input_tile, 0, "local")
    sch.compute_inline(data_pad)
    return [sch]


def _bind(sch: Schedule, loops: list[LoopRV]) -> LoopRV:
    """The innermost loop of those that the fused loops become: that of the threads' work."""
    return bind_loop(
        sch, sch.fuse(*loops), _MAX_BLOCKS, _MAX_THREADS,
        lambda most: sampled_factor(sch, _THREADS, most),
    )[-1]  # fmt: skip
