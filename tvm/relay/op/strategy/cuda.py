"""Strategies and schedules for CUDA by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "schedule_injective", "schedule_reduce", "concatenate_strategy", "schedule_pool",
    "schedule_pool_grad", "schedule_adaptive_pool", "softmax_strategy", "fast_softmax_strategy",
    "log_softmax_strategy", "schedule_lrn", "conv2d_strategy",
    "conv2d_winograd_without_weight_transform_strategy", "deformable_conv2d_strategy",
    "conv3d_winograd_without_weight_transform_strategy",
    "conv2d_backward_weight_strategy", "conv2d_transpose_strategy", "conv3d_transpose_strategy",
    "conv3d_strategy", "conv1d_strategy", "conv1d_transpose_strategy", "matmul_strategy",
    "dense_strategy", "batch_matmul_strategy", "sparse_dense_strategy",
    "sparse_reshape_strategy", "sort_strategy", "argsort_strategy", "topk_strategy",
    "searchsorted_strategy", "multibox_prior_strategy", "multibox_transform_loc_strategy",
    "get_valid_counts_strategy", "nms_strategy", "all_class_nms_strategy", "roi_align_strategy",
    "proposal_strategy",
    "schedule_roi_pool", "correlation_strategy", "argwhere_strategy", "cumsum_strategy",
    "cumprod_strategy", "unique_strategy", "schedule_transpose", "invert_permutation_strategy",
    "einsum_strategy", "stft_strategy", "dft_strategy", "layout_transform_strategy",
)  # fmt: skip
_OTHERS = {
    "scatter_elements_cuda": "scatter_elements_strategy",
    "scatter_nd_cuda": "scatter_nd_strategy",
}

__getattr__ = names_of_target(__name__, "cuda", _NAMES, _OTHERS)
