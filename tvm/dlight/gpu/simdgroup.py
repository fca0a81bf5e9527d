"""Products of matrices by the SIMD groups of Apple GPUs: 8 x 8 matrices, 32 threads.

    each thread block:   16 x 64 results; slices of A and B, 32 wide, in shared memory
    each SIMD group:     16 x 16 results in matrices of 8 x 8
"""

from __future__ import annotations

from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.target.target import Target
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.tensor_intrin.metal import get_simdgroup_intrin_group

from .base import GPUScheduleRule
from .inline import auto_inline_consumer_chain, auto_inline_producers
from .tensor_core import product_to_form

_SCOPE = "metal.simdgroup"
_SIDE = 8
_WARP = MATRIX_THREADS["metal"]
_ROWS, _COLUMNS, _STEPS = 16, 16, 32  # of a SIMD group, and the width of a slice
_GROUPS = 4
_LANES = 4


class MetalMatmul(GPUScheduleRule):
    """Schedules products of float16 matrices."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is no such product."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        block = product_to_form(sch)
        if block is None:
            return None
        node = sch.get(block)
        if {str(r.buffer.dtype) for r in (*node.reads, *node.writes)} != {"float16"}:
            return None
        try:
            _schedule(sch, block)
        except ScheduleError:
            return None
        return sch


def _schedule(sch: Schedule, block: BlockRV) -> None:
    sch.pad_einsum(block, [1, _ROWS, _GROUPS * _COLUMNS, _STEPS])
    group, slice_, step = _bind(sch, block)
    for operand in (0, 1):
        _through_shared(sch, block, operand, slice_)
    factors = [sch.cache_read(block, operand, _SCOPE) for operand in (0, 1)]
    for factor in factors:
        sch.compute_at(factor, step)
    # the product is of A and B here, no longer of A and B.T: matrices are loaded transposed
    sch.transform_layout(factors[1], ("write", 0), lambda s, j, k: (s, k, j))
    direct = _is_last(sch, block)
    result = None if direct else sch.cache_write(block, 0, "shared")
    store = sch.cache_write(block, 0, _SCOPE)
    sch.reverse_compute_at(store, group)
    if result is None:
        auto_inline_consumer_chain(sch, store)
    else:
        sch.reverse_compute_at(result, group)
        auto_inline_consumer_chain(sch, result)
        fused = sch.fuse(*sch.get_loops(result)[-2:])
        _, thread, lanes = sch.split(fused, factors=[None, _WARP, _LANES])
        sch.bind(thread, "threadIdx.x")
        sch.vectorize(lanes)
    names = get_simdgroup_intrin_group(
        "shared", "global" if direct else "shared", "float16", trans_b=True
    )
    start = sch.decompose_reduction(block, slice_)
    for copy, name in ((factors[0], "load_a"), (factors[1], "load_b"), (store, "store")):
        sch.tensorize(_tile(sch, copy), names[name])
    sch.tensorize(_tile(sch, start), names["init"])
    sch.tensorize(sch.get_loops(block)[-3], names["compute"])


def _bind(sch: Schedule, block: BlockRV) -> tuple[LoopRV, LoopRV, LoopRV]:
    """Split and bind; returns the loops over SIMD groups, slices, and steps in a slice."""
    batch, i, j, k = sch.get_loops(block)
    i0, i1, i2, i3 = sch.split(i, factors=[None, 1, _ROWS // _SIDE, _SIDE])
    j0, j1, j2, j3 = sch.split(j, factors=[None, _GROUPS, _COLUMNS // _SIDE, _SIDE])
    k0, k1, k2 = sch.split(k, factors=[None, _STEPS // _SIDE, _SIDE])
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2, i3, j3, k2)
    for loop, axis in ((i0, "blockIdx.x"), (j0, "blockIdx.y"), (batch, "blockIdx.z"),
                       (i1, "threadIdx.y"), (j1, "threadIdx.z")):  # fmt: skip
        sch.bind(loop, axis)
    return j1, k0, k1


def _through_shared(sch: Schedule, block: BlockRV, operand: int, slice_: LoopRV) -> None:
    copy = sch.cache_read(block, operand, "shared")
    sch.compute_at(copy, slice_, preserve_unit_loops=True)
    fused = sch.fuse(*sch.get_loops(copy)[-2:])
    _, ty, tz, tx, lanes = sch.split(fused, factors=[None, 1, _GROUPS, _WARP, _LANES])
    for loop, axis in ((ty, "threadIdx.y"), (tz, "threadIdx.z"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.vectorize(lanes)
    auto_inline_producers(sch, copy)


def _is_last(sch: Schedule, block: BlockRV) -> bool:
    """Whether behind the product there is only its copy to the result, which need not be cut."""
    crop = sch.get_consumers(block)
    return len(crop) == 1 and not sch.get_consumers(crop[0]) and _is_whole(sch, block, crop[0])


def _is_whole(sch: Schedule, block: BlockRV, crop: BlockRV) -> bool:
    made = _extents(list(sch.get(block).writes[0].buffer.shape))
    taken = _extents([iv.dom.extent for iv in sch.get(crop).iter_vars if iv.dom is not None])
    return None not in made and made == taken


def _extents(sizes: list[PrimExpr]) -> list[int | None]:
    """The sizes but for those of one; None for symbolic ones."""
    known = [size.value if isinstance(size, IntImm) else None for size in sizes]
    return [size for size in known if size != 1]


def _tile(sch: Schedule, block: BlockRV) -> LoopRV:
    """The outer loop of a matrix of 8 x 8 results."""
    rows, columns = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(rows, factors=[None, _SIDE])
    j0, j1 = sch.split(columns, factors=[None, _SIDE])
    sch.reorder(i0, j0, i1, j1)
    return i1
