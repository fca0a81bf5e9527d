"""Strategies and schedules for ROCm by the names that scripts know; see `generic`."""

from .generic import names_of_target

_NAMES = (
    "conv2d_strategy", "dense_strategy", "batch_matmul_strategy", "softmax_strategy",
    "log_softmax_strategy",
)  # fmt: skip
_OTHERS = {
    "argsort_strategy_cuda": "argsort_strategy",
    "scatter_elements_cuda": "scatter_elements_strategy",
    "sort_strategy_cuda": "sort_strategy",
    "topk_strategy_cuda": "topk_strategy",
}

__getattr__ = names_of_target(__name__, "rocm", _NAMES, _OTHERS)
