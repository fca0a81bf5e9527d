"""Handing pieces of a graph to outside libraries and to kernels of a target: patterns, passes."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]

__getattr__ = lazy_names(
    __name__,
    {
        "DispatchSampling": f"{__name__}.dispatch_sampling:DispatchSampling",
        "DispatchSortScan": f"{__name__}.dispatch_sort_scan:DispatchSortScan",
    },
)  # fmt: skip
