"""Strategies and schedules for Hexagon by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "batch_matmul_strategy", "concatenate_strategy", "conv2d_strategy", "dense_strategy",
    "softmax_strategy", "conv2d_transpose_strategy", "schedule_adaptive_pool",
    "schedule_injective", "schedule_concatenate", "schedule_pad", "schedule_pool",
    "schedule_reduce", "conv2d_NCHWc_strategy", "dense_pack_strategy",
)  # fmt: skip
_OTHERS = {
    "fast_softmax_strategy_cpu": "fast_softmax_strategy",
}

__getattr__ = names_of_target(__name__, "hexagon", _NAMES, _OTHERS)
