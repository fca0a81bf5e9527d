"""Strategies and schedules for Adreno GPUs by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "conv2d_strategy", "conv2d_winograd_without_weight_transform_strategy",
    "conv2d_transpose_strategy", "schedule_pool", "schedule_injective", "schedule_reduce",
    "schedule_adaptive_pool", "concatenate_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "adreno", _NAMES)
