"""What schedule rules for GPUs start from, by kind: threads, vectors, tiles, found by measuring.

A kind has them as `KindTraits.gpu`, so that a rule reads figures and asks for no name, and a kind
that a package brings is scheduled by its own. `gpu_tuning(target)` gives those of a target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .target import Target

ROWS_IN_Y: Final = ("threadIdx.y", "threadIdx.x")
ROWS_IN_X: Final = ("threadIdx.x", "threadIdx.y")
TENSOR_CORES: Final = "tensor cores"
SIMDGROUPS: Final = "simdgroups"
Shares = tuple[int, int]  # threads over the rows, and over the sum


@dataclass(frozen=True)
class ProductTiles:
    """Tiles of a product of matrices: `block_size` threads with `micro_size` results, `vthread`
    times."""

    block_size_x: int = 8
    block_size_y: int = 8
    vthread_x: int = 1
    vthread_y: int = 1
    micro_size_x: int = 4
    micro_size_y: int = 4
    micro_size_k: int = 8
    vector_size: int = 1
    unroll: int = 256  # 0 means no unroll
    use_shared: bool = True
    storage_align: bool = False
    inner_x: bool = False


@dataclass(frozen=True)
class GemvTuning:
    """Threads, vectors and memory of a matrix-vector product whose sum moves along memory."""

    tall: Shares = (1, 64)  # more rows than steps of the sum
    wide: Shares = (1, 64)
    unsized: Shares = (1, 64)  # the number of rows is known when it runs
    axes: tuple[str, str] = ROWS_IN_Y  # threads over rows, over the sum
    vec_c: int = 1  # partial sums that a thread keeps side by side
    vec_load: int = 1  # bytes of the matrix that a thread loads at once
    vector_shared: bool = False  # the vector is loaded once for all rows of a block
    vec_vector: int = -1  # elements of it that a thread loads at once
    unroll: int = 64
    shuffles: bool = False  # sums across threads need no shared memory


@dataclass(frozen=True)
class OuterGemvTuning:
    """The same where the rows move along memory; weights are packed into words."""

    ts: int
    tr: int
    axes: tuple[str, str] = ROWS_IN_X
    scale_pack: int = 4  # words that share a scale
    word_pack: int = 8  # elements of a word
    vec_c: int = 8
    rows_alone: int = 256  # threads of a block that each sum alone, rows of unknown number
    vector_shared: bool = False
    vec_vector: int = 4
    vector_tile: int = 1
    unroll: int = 8


@dataclass(frozen=True)
class GpuTuning:
    """Figures of one kind of GPU; the defaults suit those of which nothing is known."""

    threads: int = 64  # of a block that loops of any form share
    transpose: tuple[int, int, int] = (8, 4, 64)  # threads in x and y, statements unrolled
    reduction: tuple[int, int] = (64, 64)  # threads, statements unrolled
    norm_threads: int = 64  # that normalise a row
    matrix_units: str = ""  # TENSOR_CORES or SIMDGROUPS
    product: ProductTiles = ProductTiles()
    gemv: GemvTuning = GemvTuning()
    low_batch: GemvTuning | None = None  # of a few rows with a matrix; None: as `gemv`
    outer_gemv: OuterGemvTuning | None = None  # None: by other rules
    on_phone: bool = False  # wide vectors, no shared memory worth its copies
    # the figures of targets that have a word among their attributes, or an Android host
    variants: tuple[tuple[str, GpuTuning], ...] = ()


CUDA: Final = GpuTuning(
    threads=1024,
    transpose=(16, 8, 256),
    reduction=(256, 256),
    norm_threads=512,
    matrix_units=TENSOR_CORES,
    product=ProductTiles(
        block_size_x=8, block_size_y=16, micro_size_k=16, vector_size=2, storage_align=True
    ),
    gemv=GemvTuning(
        (16, 32), (16, 32), vec_c=4, vec_load=4, vector_shared=True, vec_vector=8, unroll=256,
        shuffles=True,
    ),
    low_batch=GemvTuning((4, 64), (16, 32), vec_c=4, unroll=256),
)  # fmt: skip
ROCM: Final = GpuTuning(
    threads=256,
    product=CUDA.product,
    gemv=GemvTuning((1, 128), (8, 64), vec_c=4, vec_vector=8, unroll=256),
)
METAL: Final = GpuTuning(
    threads=256,
    matrix_units=SIMDGROUPS,
    gemv=GemvTuning((4, 16), (2, 64), axes=ROWS_IN_X, unroll=256, shuffles=True),
    low_batch=GemvTuning((8, 32), (8, 32), axes=ROWS_IN_X, vec_c=4, unroll=8),
    outer_gemv=OuterGemvTuning(128, 4, vec_c=4),
)
_ADRENO: Final = GpuTuning(
    threads=256,
    transpose=(16, 8, 64),
    reduction=(256, 64),
    product=ProductTiles(
        block_size_x=32, block_size_y=4, micro_size_x=8, micro_size_y=2, micro_size_k=16,
        vector_size=8, unroll=16, use_shared=False, inner_x=True,
    ),
    gemv=GemvTuning((2, 32), (2, 32), (2, 32), axes=ROWS_IN_X, vec_c=8, unroll=8),
    low_batch=GemvTuning(),
    outer_gemv=OuterGemvTuning(64, 4),
    on_phone=True,
)  # fmt: skip
_MALI: Final = GpuTuning(
    threads=256, transpose=(16, 8, 64), reduction=(256, 64), gemv=GemvTuning(vec_c=8)
)
OPENCL: Final = GpuTuning(
    threads=256,
    transpose=(16, 8, 64),
    reduction=(256, 64),
    variants=(("android", _ADRENO), ("adreno", _ADRENO), ("mali", _MALI)),
)
VULKAN: Final = GpuTuning(
    gemv=GemvTuning(
        (4, 32), (16, 32), vec_c=4, vector_shared=True, vec_vector=4, unroll=256
    ),
)  # fmt: skip


def gpu_tuning(target: Target) -> GpuTuning:
    """The figures for a target, by its kind and by what its attributes say of the device."""
    found = target.kind.traits.gpu
    if found.variants:
        told = f"{target.attrs} {target.host}"
        for word, variant in found.variants:
            if word in told:
                return variant
    return found
