"""What all rules share."""

from . import analysis as analysis
from .common_schedules import (
    main_and_epilogue,
    pad_operands,
    try_inline,
    try_inline_contiguous_spatial,
)
from .schedule_rule import ScheduleRule
from .transform import ApplyDefaultSchedule
from .utils import (
    auto_vectorize,
    get_bytes,
    get_extent,
    max_threads_per_block,
    open_schedule,
    suggest_threads_per_block,
)

__all__ = [
    "ApplyDefaultSchedule", "ScheduleRule", "auto_vectorize", "get_bytes", "get_extent",
    "main_and_epilogue", "max_threads_per_block", "open_schedule", "pad_operands",
    "suggest_threads_per_block", "try_inline", "try_inline_contiguous_spatial",
]  # fmt: skip
