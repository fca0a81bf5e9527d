"""Questions about TIR programs."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_HOMES = {
    name: f"tvm.tir.analysis.{home}:{name}"
    for home, names in {
        "allocated_bytes": ("calculate_allocated_bytes",),
        "anchor_block": ("find_anchor_block",),
        "block_access_region": ("get_block_access_region", "get_block_read_write_region"),
        "buffer_access_lca": ("detect_buffer_access_lca",),
        "deep_equal": ("expr_deep_equal",),
        "flops": ("estimate_tir_flops",),
        "out_of_bounds": ("OOBChecker",),
        "purity": ("is_pure_function", "assert_pure_function"),
        "undefined_vars": ("undefined_vars",),
        "verify_gpu_code": ("verify_gpu_code",),
        "verify_lowered": ("verify_lowered",),
        "verify_memory": ("verify_memory",),
        "verify_ssa": ("verify_ssa",),
        "well_formed": ("verify_well_formed",),
    }.items()
    for name in names
}

_HOMES["side_effect"] = "tvm.tir.effects:side_effect"

# passes stand a floor above, and load when they are asked for
_HOMES["get_vtcm_compaction_passes"] = (
    "tvm.tir.transform.vtcm_compaction:get_vtcm_compaction_passes"
)

if TYPE_CHECKING:
    from tvm.tir.effects import side_effect as side_effect

    from .allocated_bytes import calculate_allocated_bytes as calculate_allocated_bytes
    from .anchor_block import find_anchor_block as find_anchor_block
    from .block_access_region import get_block_access_region as get_block_access_region
    from .block_access_region import get_block_read_write_region as get_block_read_write_region
    from .buffer_access_lca import detect_buffer_access_lca as detect_buffer_access_lca
    from .deep_equal import expr_deep_equal as expr_deep_equal
    from .flops import estimate_tir_flops as estimate_tir_flops
    from .out_of_bounds import OOBChecker as OOBChecker
    from .purity import assert_pure_function as assert_pure_function
    from .purity import is_pure_function as is_pure_function
    from .undefined_vars import undefined_vars as undefined_vars
    from .verify_gpu_code import verify_gpu_code as verify_gpu_code
    from .verify_lowered import verify_lowered as verify_lowered
    from .verify_memory import verify_memory as verify_memory
    from .verify_ssa import verify_ssa as verify_ssa
    from .well_formed import verify_well_formed as verify_well_formed
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__all__ = [*_HOMES]  # for a star import, which asks for no lazy name by itself
__dir__ = lazy_dir(__name__, *_HOMES)
