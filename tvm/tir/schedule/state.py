"""The program that a schedule works on, with its srefs and what is known of its blocks."""

from __future__ import annotations

from enum import IntEnum

from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.tir.block_scope import StmtSRef
from tvm.tir.function import PrimFunc

from .analysis.flags import CachedFlags, flags_of
from .analysis.verify import verify_tree
from .tree import SRefTree


class ScheduleDebugMask(IntEnum):
    """Which self-checks run after each primitive."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


def parse_debug_mask(debug_mask: str | int) -> int:
    """The mask for "all", "none" or a number."""
    if isinstance(debug_mask, str):
        if debug_mask == "all":
            return ScheduleDebugMask.VERIFY_SREF_TREE | ScheduleDebugMask.VERIFY_CACHED_FLAGS
        if debug_mask == "none":
            return 0
        raise ValueError(f"Unrecognizable `debug_mask`: {debug_mask!r}; legal: 'all', 'none', int")
    if not isinstance(debug_mask, int) or isinstance(debug_mask, bool):
        raise TypeError(f"`debug_mask` should be integer or string, but gets: {debug_mask!r}")
    return debug_mask


def as_module(mod: PrimFunc | IRModule) -> IRModule:
    """A module; a single function becomes its `main`."""
    if isinstance(mod, PrimFunc):
        return IRModule({GlobalVar("main"): mod})
    if isinstance(mod, IRModule):
        return mod
    raise TypeError(f"Schedule: found a {type(mod).__name__}; legal: PrimFunc, IRModule")


class ScheduleState(SRefTree):
    """The module being scheduled and its srefs."""

    __slots__ = ("debug_mask", "enable_check")

    def __init__(
        self, mod: PrimFunc | IRModule, *, debug_mask: str | int = "none", enable_check: bool = True
    ) -> None:
        super().__init__(as_module(mod))
        self.debug_mask = parse_debug_mask(debug_mask)
        self.enable_check = enable_check

    def copy(self) -> tuple[ScheduleState, dict[StmtSRef, StmtSRef]]:
        """An independent copy, and the copy of each sref."""
        other = ScheduleState.__new__(ScheduleState)
        copies = self.fork(other)
        other.debug_mask = self.debug_mask
        other.enable_check = self.enable_check
        return other, copies

    def _get_cached_flags(self, block_sref: StmtSRef) -> CachedFlags:
        """What is known of a block: affine binding, region cover, stage pipeline."""
        return flags_of(self, block_sref)

    def debug_verify(self) -> None:
        """Check that srefs and program agree, as far as the debug mask asks for it."""
        if self.debug_mask & ScheduleDebugMask.VERIFY_SREF_TREE:
            verify_tree(self)
