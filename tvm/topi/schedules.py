"""Schedule functions of scripts, by the names that `topi.generic` and the targets give them.

    strategy.add_implementation(compute, wrap_topi_schedule(topi.generic.schedule_injective))

Tensor expressions have no schedules of their own: rules schedule the kernels that are made of them
(`tvm.dlight`). So each gives its tensors as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Final

COMMON: Final = (
    "schedule_adaptive_pool", "schedule_argsort", "schedule_batch_matmul", "schedule_batch_norm",
    "schedule_binarize_pack", "schedule_binary_dense", "schedule_bitpack",
    "schedule_bitserial_conv2d_nchw", "schedule_bitserial_conv2d_nhwc", "schedule_bitserial_dense",
    "schedule_conv1d_ncw", "schedule_conv1d_nwc", "schedule_conv1d_transpose_ncw",
    "schedule_conv2d_NCHWc", "schedule_conv2d_NCHWc_int8", "schedule_conv2d_hwcn",
    "schedule_conv2d_nchw", "schedule_conv2d_nhwc", "schedule_conv2d_transpose_nchw",
    "schedule_conv3d_ncdhw", "schedule_conv3d_ndhwc", "schedule_conv3d_transpose_ncdhw",
    "schedule_correlation_nchw", "schedule_deformable_conv2d_nchw",
    "schedule_deformable_conv2d_nhwc", "schedule_dense", "schedule_depthwise_conv2d_NCHWc",
    "schedule_depthwise_conv2d_nchw", "schedule_depthwise_conv2d_nhwc",
    "schedule_dilation2d_nchw", "schedule_dilation2d_nhwc", "schedule_einsum", "schedule_extern",
    "schedule_fast_softmax", "schedule_get_valid_counts", "schedule_group_conv2d_nchw",
    "schedule_group_conv2d_nhwc", "schedule_injective", "schedule_injective_from_existing",
    "schedule_lrn", "schedule_lstm", "schedule_matmul", "schedule_multibox_detection",
    "schedule_multibox_prior", "schedule_multibox_transform_loc", "schedule_nms", "schedule_pool",
    "schedule_pool_grad", "schedule_proposal", "schedule_reduce", "schedule_reorg",
    "schedule_roi_align", "schedule_roi_pool", "schedule_searchsorted", "schedule_softmax",
    "schedule_sort", "schedule_sparse_dense", "schedule_sparse_transpose", "schedule_topk",
    "schedule_unique",
)  # fmt: skip


def schedule_functions(
    module: str, names: tuple[str, ...] = COMMON, homes: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """A module's `__getattr__` for schedule functions, and for what is elsewhere (`homes`)."""
    known = dict(homes or {})

    def __getattr__(name: str) -> Any:
        if name in names:
            return _keeping(module, name)
        if name not in known:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, attribute = known[name].partition(":")
        return getattr(importlib.import_module(home), attribute)

    return __getattr__


def _keeping(module: str, name: str) -> Callable[..., Any]:
    def keep(outs: Any, *options: Any, **named: Any) -> Any:
        return outs

    keep.__name__ = keep.__qualname__ = name
    keep.__module__ = module
    keep.__doc__ = "The tensors as they are: rules schedule their kernels."
    return keep
