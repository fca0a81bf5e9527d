"""Schedules by rule: fast kernels without search, each with a sentence of reason."""

from typing import TYPE_CHECKING

from .analysis import BlockInfo, IterInfo, normalize_prim_func
from .base import ApplyDefaultSchedule, ScheduleRule, try_inline, try_inline_contiguous_spatial

if TYPE_CHECKING:
    from . import benchmark as benchmark
    from . import cpu as cpu
    from . import gpu as gpu

__all__ = [
    "ApplyDefaultSchedule", "BlockInfo", "IterInfo", "ScheduleRule", "normalize_prim_func",
    "try_inline", "try_inline_contiguous_spatial",
]  # fmt: skip
