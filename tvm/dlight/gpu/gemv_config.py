"""How GPUs share out a matrix-vector product, by kind of target.

`ts` threads stand side by side over the rows (spatial), `tr` over the sum (reduction). The numbers
are facts of tuning: warps of 32 lanes that shuffle on NVIDIA GPUs, SIMD groups on Apple's, wide
vectors and no shared memory on phones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import gcd

from tvm.ir.expr import PrimExpr
from tvm.target.gpu_tuning import ROWS_IN_Y, GemvTuning, gpu_tuning
from tvm.target.target import Target

from .base import largest_divisor

Extent = int | PrimExpr


@dataclass(frozen=True)
class GemvConfig(GemvTuning):
    """The figures of a target, with the threads and tiles that one product gets."""

    ts: int = 1
    tr: int = 64
    tile_s: int = 1
    tile_r: int = 1


def gemv_config(
    target: Target, batch: Extent, rows: Extent, steps: Extent, packed: int
) -> GemvConfig:
    """The configuration for `rows` results a batch, `steps` words of a row, elements a word."""
    config = _for_sizes(gpu_tuning(target).gemv, batch * rows, steps * packed)
    return _fitted(config, target, batch, rows, steps, packed)


def low_batch_config(target: Target, batch: Extent, rows: Extent, steps: Extent) -> GemvConfig:
    """The same for a product of few rows with a matrix."""
    tuning = gpu_tuning(target)
    config = _for_sizes(tuning.low_batch or tuning.gemv, batch * rows, steps)
    if isinstance(rows, int) and isinstance(steps, int) and rows > steps:
        config = replace(config, axes=ROWS_IN_Y)
    return _fitted(config, target, batch, rows, steps, 1)


def _fitted(
    config: GemvConfig, target: Target, batch: Extent, rows: Extent, steps: Extent, packed: int
) -> GemvConfig:
    ts, tr = config.ts, config.tr
    while ts * tr > target.max_num_threads:
        ts, tr = (ts // 2, tr) if ts > 1 else (ts, tr // 2)
    if isinstance(rows, int) and batch != 1:
        ts = gcd(ts, rows)  # a thread block stays within one batch
    if packed > 1:
        tile = packed
    elif isinstance(steps, int):
        tile = max(largest_divisor(steps, [tr, tr * 2, tr * 4, tr * 8]) // tr, 1)
    else:
        tile = 1
    vec = min(largest_divisor(tile, [1, 2, 4, 8]), config.vec_c)
    return replace(config, ts=ts, tr=tr, tile_r=tile, vec_c=vec)


def _for_sizes(tuning: GemvTuning, rows: Extent, steps: Extent) -> GemvConfig:
    ts, tr = tuning.unsized
    if isinstance(rows, int):
        ts, tr = tuning.tall if isinstance(steps, int) and rows > steps else tuning.wide
    figures = {field.name: getattr(tuning, field.name) for field in fields(tuning)}
    return GemvConfig(**figures, ts=ts, tr=tr)
