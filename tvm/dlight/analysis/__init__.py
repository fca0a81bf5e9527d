"""What rules find out about a function."""

from .common_analysis import (
    BlockInfo,
    IterInfo,
    collect_block_iter_vars_used_in_access_region,
    collect_vars_used_in_prim_expr,
    detect_dominant_read,
    get_max_shared_memory_per_block,
    get_max_threads_per_block,
    get_root_block,
    is_broadcast_epilogue,
    normalize_prim_func,
)
from .contraction import Contraction, find_contraction

__all__ = [
    "BlockInfo", "Contraction", "IterInfo", "collect_block_iter_vars_used_in_access_region",
    "collect_vars_used_in_prim_expr", "detect_dominant_read", "find_contraction",
    "get_max_shared_memory_per_block", "get_max_threads_per_block", "get_root_block",
    "is_broadcast_epilogue", "normalize_prim_func",
]  # fmt: skip
