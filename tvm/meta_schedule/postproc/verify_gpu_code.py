"""Schedules whose kernels break the limits of the GPU are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.error import TVMError
from tvm.meta_schedule.lowered import kernels, lowered
from tvm.meta_schedule.rule_kind import limit, require_target
from tvm.meta_schedule.structure import (
    MAX_THREADS,
    MIN_THREADS,
    WARP,
    extent_of,
    func_names,
    number,
    thread_of,
)
from tvm.tir.analysis import verify_gpu_code
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.tree import inner_stmts
from tvm.tir.stmt import Block, For, Stmt

from .postproc import Postproc

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class VerifyGPUCode(Postproc):
    """Refuses too many threads, too much shared memory, too many virtual threads, wide vectors."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}
        self._warp = 0

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        target = require_target(context.target, "VerifyGPUCode")
        self._limits = {
            "max_shared_memory_per_block": limit(target, "max_shared_memory_per_block"),
            "max_threads_per_block": limit(target, "max_threads_per_block"),
            "max_vthread": 8,
            "max_vector_bytes": 16,
        }
        self._warp = limit(target, "thread_warp_size")

    def apply(self, sch: Schedule) -> bool:
        """True if all kernels keep to the limits."""
        return all(self._is_legal(name, func) for name, func in func_names(sch))

    def _is_legal(self, name: str, func: PrimFunc) -> bool:
        if not _threads_as_asked(func.body, self._warp):
            return False
        try:
            mod = lowered(name, func, kernels())
        except TVMError:
            return False  # what cannot be lowered is no candidate
        return all(
            verify_gpu_code(made, self._limits)
            for made in mod.functions.values()
            if isinstance(made, PrimFunc)
        )


def _threads_as_asked(body: Stmt, warp: int) -> bool:
    """True if each block has as many threads around it as its annotations ask for."""
    stack: list[tuple[Stmt, dict[str, int]]] = [(body, {})]
    while stack:
        stmt, threads = stack.pop()
        if isinstance(stmt, For) and thread_of(stmt).startswith("threadIdx"):
            extent = extent_of(stmt)
            if extent is None:
                return False
            threads = {**threads, thread_of(stmt): extent}
        if isinstance(stmt, Block):
            if WARP in stmt.annotations:
                threads = {**threads, "threadIdx.x": warp}
            if not _within(stmt, threads):
                return False
        stack.extend([(inner, threads) for inner, _ in inner_stmts(stmt)])
    return True


def _within(block: Block, threads: dict[str, int]) -> bool:
    if MIN_THREADS not in block.annotations or MAX_THREADS not in block.annotations:
        return True
    low, high = number(block, MIN_THREADS), number(block, MAX_THREADS)
    total = 1
    for extent in threads.values():
        total *= extent
    return low <= total <= high
