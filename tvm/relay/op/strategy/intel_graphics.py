"""Strategies and schedules for Intel's graphics by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "conv2d_strategy", "conv2d_NCHWc_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "intel_graphics", _NAMES)
