"""Strategies and schedules for Arm CPUs by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "schedule_injective", "concatenate_strategy", "schedule_pool", "conv2d_strategy",
    "conv2d_NCHWc_strategy", "depthwise_conv2d_NCHWc_strategy",
    "conv2d_gemm_without_weight_transform_strategy",
    "conv2d_winograd_without_weight_transform_strategy", "conv2d_transpose_strategy",
    "bitserial_conv2d_strategy", "schedule_bitserial_dense", "schedule_dense",
    "matmul_strategy", "conv1d_strategy",
)  # fmt: skip
_OTHERS = {
    "schedule_reduce_cpu": "schedule_reduce",
}

__getattr__ = names_of_target(__name__, "arm_cpu", _NAMES, _OTHERS)
