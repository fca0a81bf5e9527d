"""Strategies and schedules for x86 by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "schedule_injective", "schedule_reduce", "schedule_pool", "schedule_adaptive_pool",
    "softmax_strategy", "fast_softmax_strategy", "log_softmax_strategy", "conv2d_strategy",
    "conv2d_NCHWc_strategy", "depthwise_conv2d_NCHWc_strategy", "conv2d_transpose_strategy",
    "conv3d_transpose_strategy", "conv3d_strategy", "conv1d_strategy", "matmul_strategy",
    "dense_strategy", "dense_pack_strategy", "batch_matmul_strategy", "sparse_dense_strategy",
    "sparse_conv2d_strategy", "roi_align_strategy", "bitserial_conv2d_strategy",
    "bitserial_dense_strategy", "scatter_nd_strategy",
    "conv2d_winograd_without_weight_transform_strategy", "concatenate_strategy",
    "batch_norm_strategy",
)  # fmt: skip

__getattr__ = names_of_target(__name__, "cpu", _NAMES)
