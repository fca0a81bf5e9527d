"""Chains of reductions over the same rows, as softmax and norms are: a block of threads a row.

    M[i] = max over k; S[i] = sum over k of exp(A[i, k] - M[i]); B[i, j] = ...
    ->
    for i in blockIdx.x:                     # M and S live in shared memory
        for tx in threadIdx.x: for k_outer: M[i] = max(...)
        for tx in threadIdx.x: for k_outer: S[i] += ...
        for tx in threadIdx.x: for j_outer: B[i, j] = ...
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.dlight.analysis.common_analysis import BlockInfo, normalize_prim_func
from tvm.dlight.base import open_schedule, try_inline_contiguous_spatial
from tvm.ir.expr import PrimExpr
from tvm.target.gpu_tuning import gpu_tuning
from tvm.target.target import Target
from tvm.tir.analysis.reducer import reducer_of
from tvm.tir.expr import IntImm, Var, as_expr
from tvm.tir.function import PrimFunc
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule import LoopRV, Schedule

from .base import GPUScheduleRule, unroll_within


class GeneralReduction(GPUScheduleRule):
    """Schedules functions whose blocks all reduce over the same axes, and a last spatial one."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the blocks do not share their axes."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        infos = normalize_prim_func(sch)
        infos = None if infos is None else try_inline_contiguous_spatial(sch, infos)
        if not infos or not _fits(infos) or not _reducers_known(sch, infos):
            return None
        kinds = infos[0].dom_kind()
        rows = len(kinds) - len(kinds.lstrip("S"))
        reduced = len(kinds) - len(kinds.rstrip("R"))
        _align_last(sch, infos)
        loops = sch.get_loops(infos[-1].block_rv)
        threads, steps = gpu_tuning(target).reduction
        row = sch.fuse(*loops[:rows])
        sch.bind(row, "blockIdx.x")
        _over_threads(sch, loops[-1], threads, steps)
        for info in reversed(infos[:-1]):
            block = info.block_rv
            for index in range(len(sch.get(block).writes)):
                sch.set_scope(block, index, "shared")
            sch.compute_at(block, row, preserve_unit_loops=True)
            inner = sch.fuse(*sch.get_loops(block)[-reduced:])
            _over_threads(sch, inner, threads, steps)
        return sch


def _fits(infos: list[BlockInfo]) -> bool:
    kinds = infos[0].dom_kind()
    last = infos[-1].dom_kind()
    return (
        kinds.startswith("S")
        and kinds.endswith("R")
        and all(info.dom_kind() == kinds for info in infos[1:-1])
        and infos[-1].is_injective()
        and len(last) <= len(kinds)
    )


def _reducers_known(sch: Schedule, infos: list[BlockInfo]) -> bool:
    """Whether threads may reduce in any order."""
    return all(reducer_of(sch.get(info.block_rv)) is not None for info in infos[:-1])


def _align_last(sch: Schedule, infos: list[BlockInfo]) -> None:
    """Give the last block the variables of the others: new ones are zero."""
    first, last = infos[0].iters, infos[-1].iters
    if len(last) == len(first):
        return
    names = [Var(f"i{n}", i.var.dtype) for n, i in enumerate(last)]
    zero = IntImm(names[0].dtype, 0)
    analyzer = Analyzer()
    indices: list[PrimExpr] = []
    matched = 0
    for wanted in first:
        fits = matched < len(last) and analyzer.can_prove_equal(
            as_expr(wanted.dom), as_expr(last[matched].dom)
        )
        indices.append(names[matched] if fits else zero)
        matched += fits
    if matched < len(last):
        indices = [*[zero] * (len(first) - len(last)), *names]
    sch.transform_block_layout(infos[-1].block_rv, IndexMap(names, indices, None))


def _over_threads(sch: Schedule, loop: LoopRV, threads: int, steps: int) -> None:
    outer, thread = sch.split(loop, factors=[None, threads])
    sch.reorder(thread, outer)
    sch.bind(thread, "threadIdx.x")
    unroll_within(sch, outer, steps)
