"""A row of numbers for each buffer that a schedule stores to (Zheng et al., "Ansor", OSDI 2020).

What is computed, how loops run, how buffers are gone through, how much is computed for a byte
touched, and what is allocated; sizes on a logarithmic scale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import log2, prod
from typing import TYPE_CHECKING

import numpy as np

from tvm.ir.module import IRModule
from tvm.meta_schedule.lowered import lowered, with_blocks
from tvm.meta_schedule.structure import is_spatial
from tvm.runtime import Tensor, tensor
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.stmt import Block, ForKind
from tvm.tir.transform import RemoveWeightLayoutRewriteBlock

from .arith_ops import count_ops
from .buffer_access import BufferAccess, Touched, accesses_of
from .feature_extractor import FeatureExtractor
from .loop_nest import LoopNest, StoreInNest, stores_of
from .simplified import SimplifyForFeatureExtraction

if TYPE_CHECKING:
    from tvm.meta_schedule.measure_candidate import MeasureCandidate
    from tvm.meta_schedule.search_context import SearchContext

_THREADS = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
    "vthread",
)  # fmt: skip
_PER_BUFFER = 18
_COMPUTATION = 57
_ALLOCATION = 4
_NEST = 3
_WORKLOAD = 8


class PerStoreFeature(FeatureExtractor):
    """Features of each store: `buffers_per_store` of its buffers, a curve of so many samples.

    With `extract_workload` eight numbers of the program before scheduling follow.
    """

    def __init__(
        self,
        buffers_per_store: int = 5,
        arith_intensity_curve_num_samples: int = 10,
        cache_line_bytes: int = 64,
        extract_workload: bool = False,
    ) -> None:
        self.buffers_per_store = buffers_per_store
        self.arith_intensity_curve_num_samples = arith_intensity_curve_num_samples
        self.cache_line_bytes = cache_line_bytes
        self.extract_workload = extract_workload

    @property
    def feature_vector_length(self) -> int:
        """The numbers of a row."""
        own = _COMPUTATION + self.buffers_per_store * _PER_BUFFER
        own += self.arith_intensity_curve_num_samples + _ALLOCATION + _NEST
        return own + (_WORKLOAD if self.extract_workload else 0)

    def extract_from(
        self, context: SearchContext, candidates: list[MeasureCandidate]
    ) -> list[Tensor]:
        """A table for each candidate, with a row for each buffer that is stored to."""
        gpu = context.target is not None and "gpu" in context.target.keys
        workload: list[float] = []
        if self.extract_workload and context.mod is not None:
            workload = _workload_numbers(context.mod)
        return [tensor(self._table(c.sch.mod, gpu, workload)) for c in candidates]

    def _table(self, mod: IRModule, gpu: bool, workload: list[float]) -> np.ndarray:
        rows: dict[Buffer, list[float]] = {}
        touched: Touched = defaultdict(dict)
        passes = [
            RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True),
            SimplifyForFeatureExtraction(),
            *with_blocks(),
        ]
        for gvar, func in mod.functions.items():
            if not isinstance(func, PrimFunc):
                continue
            for made in lowered(gvar.name_hint, func, passes).functions.values():
                assert isinstance(made, PrimFunc), "lowered from one"
                for found in stores_of(made):
                    row = self._row(found, gpu, touched)
                    rows[found.store.buffer] = [*row, *workload]
        return np.array(list(rows.values()), dtype="float64").reshape(
            len(rows), self.feature_vector_length
        )

    def _row(self, found: StoreInNest, gpu: bool, touched: Touched) -> list[float]:
        store, nest = found.store, found.nest
        ops = count_ops(store.value, nest.iterations)
        accesses, below = accesses_of(store, nest, self.cache_line_bytes, touched)
        per_iteration = ops.floats / nest.iterations
        return [
            *_logs(ops.as_list()),
            *_loops(nest, gpu),
            *self._buffers(accesses),
            *self._intensity(nest, below, per_iteration),
            *_allocation(found),
            *_logs([nest.iterations, len(nest.loops), nest.unroll_steps]),
        ]

    def _buffers(self, accesses: list[BufferAccess]) -> list[float]:
        numbers = [x for a in accesses[: self.buffers_per_store] for x in _logs(a.numbers())]
        return [*numbers, *[0.0] * (self.buffers_per_store * _PER_BUFFER - len(numbers))]

    def _intensity(self, nest: LoopNest, below: list[int], per_iteration: float) -> list[float]:
        """Operations for a byte touched, at equal steps up to the work of the whole nest."""
        samples = self.arith_intensity_curve_num_samples
        if per_iteration <= 0 or nest.iterations <= 0 or not nest.loops:
            return [0.0] * samples
        extents = nest.extents
        depth = range(len(extents) - 1, -1, -1)
        work = [per_iteration * prod(extents[i:]) for i in depth]
        ratios = [w / max(below[i], 1) for w, i in zip(work, depth)]
        points = [(i + 1) / samples * work[-1] for i in range(samples)]
        return _logs([_between(point, work, ratios) for point in points])


def _between(point: float, work: Sequence[float], ratios: Sequence[float]) -> float:
    """The ratio at an amount of work, on the line between two loops; the first one below it."""
    at = next((i for i, w in enumerate(work) if w >= point - 1e-4), len(work) - 1)
    if at == 0:
        return ratios[0]
    step = work[at] - work[at - 1]
    slope = (ratios[at] - ratios[at - 1]) / step if step else 0.0
    return ratios[at - 1] + slope * (point - work[at - 1])


def _log(x: float) -> float:
    return log2(x + 1.0) if x >= 0 else -log2(1.0 - x)


def _logs(numbers: Sequence[float]) -> list[float]:
    return [_log(float(x)) for x in numbers]


def _loops(nest: LoopNest, gpu: bool) -> list[float]:
    """Vector, unrolled and parallel loops: how many, iterations, the innermost; then threads."""
    found: list[float] = []
    for kind in (ForKind.VECTORIZED, ForKind.UNROLLED, ForKind.PARALLEL):
        extents = nest.of_kind(kind)
        last = extents[-1] if extents else 0
        found.extend(_logs([len(extents), prod(extents) if extents else 0, last]))
        # where they stand: nowhere, or (of eight) at positions that are not told apart
        found.extend([float(not extents), *[0.0] * 6, float(bool(extents))])
    threads = [nest.of_thread(tag) if gpu else 1 for tag in _THREADS]
    return [*found, float(gpu), *_logs(threads)]


def _allocation(found: StoreInNest) -> list[float]:
    buffer = found.store.buffer
    elements = prod([d.value if isinstance(d, IntImm) else 1 for d in buffer.shape])
    size = elements * ((buffer.dtype.bits + 7) // 8)
    inner = found.nest.iterations / found.allocations
    return _logs([size, elements * found.allocations, found.allocations, inner])


def _workload_numbers(mod: IRModule) -> list[float]:
    """Blocks, reductions, buffers, elements and variables of a program before scheduling."""
    funcs = [f for f in mod.functions.values() if isinstance(f, PrimFunc)]
    blocks = [n for f in funcs for n in statements(f.body, Block) if n.iter_vars]
    domains = [iv.dom.extent for b in blocks for iv in b.iter_vars if iv.dom is not None]
    extents = [d.value for d in domains if isinstance(d, IntImm)]
    shapes = [buffer.shape for f in funcs for buffer in f.buffer_map.values()]
    sizes = [prod([d.value for d in shape if isinstance(d, IntImm)]) for shape in shapes]
    return _logs(
        [
            len(blocks), sum(not is_spatial(b) for b in blocks), len(shapes), sum(sizes),
            max(sizes, default=0), len(extents), max(extents, default=0),
            sum(len(b.reads) for b in blocks),
        ]
    )  # fmt: skip
