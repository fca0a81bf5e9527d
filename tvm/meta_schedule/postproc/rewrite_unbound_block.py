"""What no rule bound runs on blocks and threads too: nothing stays outside of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.meta_schedule.rule_kind import limit, require_target
from tvm.meta_schedule.schedule_rule.thread_binding import bind_block
from tvm.meta_schedule.structure import func_names, thread_of
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.tree import ScopeStmt, inner_stmts
from tvm.tir.stmt import Block, BlockRealize, For

from .postproc import Postproc

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class RewriteUnboundBlock(Postproc):
    """Binds the blocks that are not within blockIdx and threadIdx.

    for i: S    ->    for i_fused_0 in blockIdx.x: for i_fused_1 in threadIdx.x: S
    """

    def __init__(self, max_threadblocks: int = 256) -> None:
        self.max_threadblocks = max_threadblocks
        self._max_threads = -1

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        target = require_target(context.target, "RewriteUnboundBlock")
        self._max_threads = limit(target, "max_threads_per_block")

    def apply(self, sch: Schedule) -> bool:
        """Always True."""
        if self._max_threads == -1:
            require_target(None, "RewriteUnboundBlock")
        for func_name, block_name in _unbound(sch):
            block = sch.get_block(block_name, func_name)
            bind_block(
                sch, block, self.max_threadblocks, self._max_threads,
                lambda most: min(most, self._max_threads),
            )  # fmt: skip
        return True


def _unbound(sch: Schedule) -> list[tuple[str, str]]:
    """Function and name of the blocks that are not within both blockIdx and threadIdx."""
    found: list[tuple[str, str]] = []
    for name, func in func_names(sch):
        if not isinstance(func.body, BlockRealize):
            continue
        stack: list[tuple[ScopeStmt, bool, bool]] = [(func.body.block, False, False)]
        root: ScopeStmt = func.body.block
        while stack:
            stmt, blocks, threads = stack.pop()
            if isinstance(stmt, For):
                blocks = blocks or thread_of(stmt).startswith("blockIdx")
                threads = threads or thread_of(stmt).startswith("threadIdx")
                if blocks and threads:
                    continue
            if isinstance(stmt, Block) and stmt is not root:
                found.append((name, stmt.name_hint))
                continue
            inner = [(below, blocks, threads) for below, _ in inner_stmts(stmt)]
            stack.extend(reversed(inner))
    return found
