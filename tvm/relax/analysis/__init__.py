"""Questions about Relax programs."""

from tvm.relax.derive import derive_call_ret_struct_info
from tvm.relax.struct_info_rules import (
    BaseCheckResult,
    collect_non_negative_expressions,
    definable_tir_vars_in_struct_info,
    erase_to_well_defined,
    get_static_type,
    tir_vars_in_struct_info,
)
from tvm.relax.struct_info_rules import base_check as struct_info_base_check
from tvm.relax.struct_info_rules import common_struct_info as struct_info_lca

from .bindings import get_var2val, name_to_binding, remove_all_unused, udchain
from .compile_time import computable_at_compile_time
from .estimate_memory_usage import estimate_memory_usage
from .layout_transforms import suggest_layout_transforms
from .purity import contains_impure_call
from .recursion import detect_recursion
from .reshape_pattern import has_reshape_pattern
from .variables import (
    all_global_vars,
    all_vars,
    bound_vars,
    defined_symbolic_vars,
    free_symbolic_vars,
    free_vars,
    post_order_visit,
)
from .well_formed import well_formed

__all__ = [
    "BaseCheckResult", "all_global_vars", "all_vars", "bound_vars",
    "collect_non_negative_expressions", "computable_at_compile_time", "contains_impure_call",
    "definable_tir_vars_in_struct_info", "defined_symbolic_vars", "derive_call_ret_struct_info",
    "detect_recursion", "erase_to_well_defined", "estimate_memory_usage", "free_symbolic_vars",
    "free_vars", "get_static_type", "get_var2val", "has_reshape_pattern", "name_to_binding",
    "post_order_visit", "remove_all_unused", "struct_info_base_check", "struct_info_lca",
    "suggest_layout_transforms", "tir_vars_in_struct_info", "udchain", "well_formed",
]  # fmt: skip
