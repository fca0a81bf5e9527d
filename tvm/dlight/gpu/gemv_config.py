"""How GPUs share out a matrix-vector product, by kind of target.

`ts` threads stand side by side over the rows (spatial), `tr` over the sum (reduction). The numbers
are facts of tuning: warps of 32 lanes that shuffle on NVIDIA GPUs, SIMD groups on Apple's, wide
vectors and no shared memory on phones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

from tvm.ir.expr import PrimExpr
from tvm.target.target import Target

from .base import is_adreno, largest_divisor

Extent = int | PrimExpr
_ROWS_IN_Y = ("threadIdx.y", "threadIdx.x")
_ROWS_IN_X = ("threadIdx.x", "threadIdx.y")


@dataclass(frozen=True)
class GemvConfig:
    """Threads, vectors and memory of a matrix-vector product whose sum moves along memory."""

    ts: int
    tr: int
    axes: tuple[str, str] = _ROWS_IN_Y  # threads over rows, over the sum
    vec_c: int = 1  # partial sums that a thread keeps side by side
    vec_load: int = 1  # bytes of the matrix that a thread loads at once
    vector_shared: bool = False  # the vector is loaded once for all rows of a block
    vec_vector: int = -1  # elements of it that a thread loads at once
    unroll: int = 64
    shuffles: bool = False  # sums across threads need no shared memory
    tile_s: int = 1
    tile_r: int = 1


def gemv_config(
    target: Target, batch: Extent, rows: Extent, steps: Extent, packed: int
) -> GemvConfig:
    """The configuration for `rows` results a batch, `steps` words of a row, elements a word."""
    config = _by_kind(target, batch * rows, steps * packed)
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


def _by_kind(target: Target, rows: Extent, steps: Extent) -> GemvConfig:
    known = isinstance(rows, int)
    tall = isinstance(rows, int) and isinstance(steps, int) and rows > steps
    kind = target.kind.name
    if kind == "cuda":
        ts, tr = (16, 32) if known else (1, 64)
        return GemvConfig(
            ts, tr, vec_c=4, vec_load=4, vector_shared=True, vec_vector=8, unroll=256,
            shuffles=True,
        )  # fmt: skip
    if kind == "metal":
        ts, tr = ((4, 16) if tall else (2, 64)) if known else (1, 64)
        return GemvConfig(ts, tr, axes=_ROWS_IN_X, unroll=256, shuffles=True)
    if kind == "rocm":
        ts, tr = ((1, 128) if tall else (8, 64)) if known else (1, 64)
        return GemvConfig(ts, tr, vec_c=4, vec_vector=8, unroll=256)
    if is_adreno(target):
        return GemvConfig(2, 32, axes=_ROWS_IN_X, vec_c=8, unroll=8)
    if kind == "vulkan":
        ts, tr = ((4, 32) if tall else (16, 32)) if known else (1, 64)
        return GemvConfig(ts, tr, vec_c=4, vector_shared=True, vec_vector=4, unroll=256)
    if kind == "opencl" and "mali" in str(target.attrs):
        return GemvConfig(1, 64, vec_c=8)
    return GemvConfig(1, 64)
