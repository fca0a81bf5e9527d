"""Products of matrices by the SIMD groups of Apple GPUs: 8 x 8 matrices, 32 threads.

    each thread block:   16 x 64 results; slices of A and B, 32 wide, in shared memory
    each SIMD group:     16 x 16 results in matrices of 8 x 8
"""

from __future__ import annotations

from tvm.dlight.base import open_schedule
from tvm.target.gpu_model import MATRIX_THREADS
from tvm.target.target import Target
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
    columns, group, slice_, step = _bind(sch, block)
    for operand in (0, 1):
        _through_shared(sch, block, operand, slice_)
    factors = [sch.cache_read(block, operand, _SCOPE) for operand in (0, 1)]
    for factor in factors:
        sch.compute_at(factor, step)
    # the product is of A and B here, no longer of A and B.T: matrices are loaded transposed
    sch.transform_layout(factors[1], ("write", 0), lambda s, j, k: (s, k, j))
    store = sch.cache_write(block, 0, _SCOPE)
    result = sch.cache_write(store, 0, "shared")
    sch.reverse_compute_at(store, group, preserve_unit_loops=True)
    sch.reverse_compute_at(result, columns, preserve_unit_loops=True)
    auto_inline_consumer_chain(sch, result)
    _by_all_threads(sch, result)
    names = get_simdgroup_intrin_group("shared", "shared", "float16", trans_b=True)
    start = sch.decompose_reduction(block, slice_)
    for copy, name in ((factors[0], "load_a"), (factors[1], "load_b"), (store, "store")):
        sch.tensorize(_tile(sch, copy), names[name])
    sch.tensorize(_tile(sch, start), names["init"])
    sch.tensorize(sch.get_loops(block)[-3], names["compute"])


def _bind(sch: Schedule, block: BlockRV) -> tuple[LoopRV, LoopRV, LoopRV, LoopRV]:
    """Split and bind; the loops over thread blocks, SIMD groups, slices, and steps in a slice."""
    batch, i, j, k = sch.get_loops(block)
    i0, i1, i2, i3 = sch.split(i, factors=[None, 1, _ROWS // _SIDE, _SIDE])
    j0, j1, j2, j3 = sch.split(j, factors=[None, _GROUPS, _COLUMNS // _SIDE, _SIDE])
    k0, k1, k2 = sch.split(k, factors=[None, _STEPS // _SIDE, _SIDE])
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2, i3, j3, k2)
    for loop, axis in ((i0, "blockIdx.x"), (j0, "blockIdx.y"), (batch, "blockIdx.z"),
                       (i1, "threadIdx.y"), (j1, "threadIdx.z")):  # fmt: skip
        sch.bind(loop, axis)
    return j0, j1, k0, k1


def _through_shared(sch: Schedule, block: BlockRV, operand: int, slice_: LoopRV) -> None:
    copy = sch.cache_read(block, operand, "shared")
    sch.compute_at(copy, slice_, preserve_unit_loops=True)
    _by_all_threads(sch, copy)
    auto_inline_producers(sch, copy)


def _by_all_threads(sch: Schedule, copy: BlockRV) -> None:
    """Let all threads of a block copy a part each, some elements at once."""
    fused = sch.fuse(*sch.get_loops(copy)[-2:])
    _, tz, ty, tx, lanes = sch.split(fused, factors=[None, _GROUPS, 1, _WARP, _LANES])
    for loop, axis in ((tz, "threadIdx.z"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.vectorize(lanes)


def _tile(sch: Schedule, block: BlockRV) -> LoopRV:
    """The outer loop of a matrix of 8 x 8 results."""
    rows, columns = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(rows, factors=[None, _SIDE])
    j0, j1 = sch.split(columns, factors=[None, _SIDE])
    sch.reorder(i0, j0, i1, j1)
    return i1
