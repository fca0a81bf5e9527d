"""`tvm.dlight.analysis` at its place before v0.19."""

from tvm.dlight.analysis import (
    BlockInfo,
    IterInfo,
    collect_block_iter_vars_used_in_access_region,
    collect_vars_used_in_prim_expr,
    detect_dominant_read,
    get_root_block,
    is_broadcast_epilogue,
    normalize_prim_func,
)

__all__ = [
    "BlockInfo", "IterInfo", "collect_block_iter_vars_used_in_access_region",
    "collect_vars_used_in_prim_expr", "detect_dominant_read", "get_root_block",
    "is_broadcast_epilogue", "normalize_prim_func",
]  # fmt: skip
