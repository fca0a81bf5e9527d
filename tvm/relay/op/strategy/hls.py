"""Strategies and schedules for synthesis of hardware by the names of scripts; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "schedule_injective", "schedule_reduce", "schedule_concatenate", "schedule_pool",
    "schedule_adaptive_pool", "softmax_strategy", "log_softmax_strategy", "conv2d_strategy",
    "conv2d_NCHWc_strategy", "conv2d_transpose_strategy", "dense_strategy",
    "bitserial_conv2d_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "hls", _NAMES)
