"""The transforms of Winograd's convolution on CPUs.

    for eps, nu, p, ci, r_a, r_b: S   ->   for p_0, ci_0, p_1, ci_1: for eps, nu, r_a, r_b: S

Loops over the points of a tile are unrolled; what a transform reads is computed where the search
says.
"""

from __future__ import annotations

from tvm.ffi import register_global_func
from tvm.meta_schedule.schedule.generic.winograd import producer_without_constants, tile_transform
from tvm.tir.schedule import BlockRV, Schedule


@register_global_func("meta_schedule.cpu.conv2d_nhwc_winograd_data_pack", override=True)
def nhwc_data_pack(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """B^T d B with the channels last."""
    return _data_pack(sch, block)


@register_global_func("meta_schedule.cpu.conv2d_nchw_winograd_data_pack", override=True)
def nchw_data_pack(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """B^T d B with the channels before the tiles."""
    return _data_pack(sch, block)


@register_global_func("meta_schedule.cpu.conv2d_nhwc_winograd_inverse", override=True)
def nhwc_inverse(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """A^T m A with the channels last."""
    producer_without_constants(sch, block)
    tile_transform(sch, block, (2, 3), (0, 1))
    return [sch]


@register_global_func("meta_schedule.cpu.conv2d_nchw_winograd_inverse", override=True)
def nchw_inverse(sch: Schedule, block: BlockRV) -> list[Schedule]:
    """A^T m A with the channels first."""
    producer_without_constants(sch, block)
    tile_transform(sch, block, (0, 1), (2, 3))
    return [sch]


def _data_pack(sch: Schedule, block: BlockRV) -> list[Schedule]:
    input_tile = producer_without_constants(sch, block)
    data_pad = producer_without_constants(sch, input_tile)
    tile_transform(sch, block, (2, 3), (0, 1))
    for source in (input_tile, data_pad):
        sch.compute_at(source, sch.sample_compute_location(source), preserve_unit_loops=True)
    return [sch]
