"""Strategies and schedules for Mali GPUs by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "conv2d_strategy", "conv2d_winograd_without_weight_transform_strategy", "dense_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "mali", _NAMES)
