"""The compiler's own functions under the names by which scripts look them up.

    tvm.get_global_func("tir.transform.Simplify")()(mod)

Each is loaded at its first call, so that a look-up imports nothing.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any, Final

from tvm.ffi import register_global_func
from tvm.ir.container import Array, Map
from tvm.ir.node import NODE_TYPES
from tvm.tir import transform

from .node_functions import NODE_FUNCTIONS
from .schedule_functions import SCHEDULE_FUNCTIONS

# name -> module and function
FUNCTIONS: Final[dict[str, str]] = {
    "arith.DeduceBound": "tvm.arith:deduce_bound",
    "arith.DetectClipBound": "tvm.arith:detect_clip_bound",
    "arith.DetectIterMap": "tvm.arith:detect_iter_map",
    "arith.DetectLinearEquation": "tvm.arith:detect_linear_equation",
    "arith.DomainTouched": "tvm.arith:domain_touched",
    "arith.EstimateRegionLowerBound": "tvm.arith:estimate_region_lower_bound",
    "arith.EstimateRegionStrictBound": "tvm.arith:estimate_region_strict_bound",
    "arith.EstimateRegionUpperBound": "tvm.arith:estimate_region_upper_bound",
    "arith.IntervalSet": "tvm.arith:IntervalSet",
    "arith.InverseAffineIterMap": "tvm.arith:inverse_affine_iter_map",
    "arith.IterMapSimplify": "tvm.arith:iter_map_simplify",
    "arith.NarrowPredicateExpression": "tvm.arith:narrow_predicate_expression",
    "arith.NegInf": "tvm.arith.int_set:neg_inf",
    "arith.NormalizeIterMapToExpr": "tvm.arith:normalize_iter_map_to_expr",
    "arith.NormalizeToIterSum": "tvm.arith:normalize_to_iter_sum",
    "arith.PosInf": "tvm.arith.int_set:pos_inf",
    "arith.SolveInequalitiesAsCondition": "tvm.arith.int_solver:solve_inequalities_as_condition",
    "arith.SolveInequalitiesDeskewRange": "tvm.arith.int_solver:solve_inequalities_deskewed",
    "arith.SolveInequalitiesToRange": "tvm.arith.int_solver:solve_inequalities_to_range",
    "arith.SolveLinearEquations": "tvm.arith:solve_linear_equations",
    "arith.SubspaceDivide": "tvm.arith:subspace_divide",
    "arith.UnionLowerBound": "tvm.arith:union_lower_bound",
    "script.Complete": "tvm.tir.script.complete:complete",
    "tir.PostOrderVisit": "tvm.tir.stmt_functor:post_order_visit",
    "tir.PreOrderVisit": "tvm.tir.stmt_functor:pre_order_visit",
    "tir.IRTransform": "tvm.tir.stmt_functor:ir_transform",
    "tir.RenewDefs": "tvm.tir.stmt_functor:renew_defs",
    "tir.Specialize": "tvm.tir.specialize:specialize",
    "tir.Substitute": "tvm.tir.stmt_functor:substitute",
    "tir.analysis.EstimateTIRFlops": "tvm.tir.analysis:estimate_tir_flops",
    "tir.analysis.GetBlockAccessRegion": "tvm.tir.analysis:get_block_access_region",
    "tir.analysis.GetBlockReadWriteRegion": "tvm.tir.analysis:get_block_read_write_region",
    "tir.analysis.OOBChecker": "tvm.tir.analysis:OOBChecker",
    "tir.analysis.VerifyWellFormed": "tvm.tir.analysis:verify_well_formed",
    "tir.analysis._identify_memcpy": "tvm.tir.analysis.identify_memcpy:identify_all_memcpy",
    "tir.analysis.assert_pure_function": "tvm.tir.analysis:assert_pure_function",
    "tir.analysis.calculate_allocated_bytes": "tvm.tir.analysis:calculate_allocated_bytes",
    "tir.analysis.detect_buffer_access_lca": "tvm.tir.analysis:detect_buffer_access_lca",
    "tir.analysis.expr_deep_equal": "tvm.tir.analysis:expr_deep_equal",
    "tir.analysis.find_anchor_block": "tvm.tir.analysis:find_anchor_block",
    "tir.analysis.get_vtcm_compaction_passes": "tvm.tir.analysis:get_vtcm_compaction_passes",
    "tir.analysis.is_pure_function": "tvm.tir.analysis:is_pure_function",
    "tir.analysis.undefined_vars": "tvm.tir.analysis:undefined_vars",
    "tir.analysis.verify_gpu_code": "tvm.tir.analysis:verify_gpu_code",
    "tir.analysis.verify_memory": "tvm.tir.analysis:verify_memory",
    "tir.analysis.verify_ssa": "tvm.tir.analysis:verify_ssa",
    "tir.schedule.GetAutoTensorizeMappingInfo":
        "tvm.tir.schedule.analysis:get_auto_tensorize_mapping_info",
    "tir.schedule.GetTensorizeLoopMapping":
        "tvm.tir.schedule.analysis:get_tensorize_loop_mapping",
    "tir.schedule.HasBlock": "tvm.tir.schedule.analysis:has_block",
    "tir.schedule.IsOutputBlock": "tvm.tir.schedule.analysis:is_output_block",
    "tir.schedule.SuggestIndexMap": "tvm.tir.schedule.analysis:suggest_index_map",
    **{f"tir.transform.{name}": f"tvm.tir.transform:{name}" for name in transform.__all__},
    **NODE_FUNCTIONS,
    **SCHEDULE_FUNCTIONS,
}  # fmt: skip
# whose constructors are found by their type keys
_NODES: Final = (
    "tvm.te", "tvm.tir.data_layout", "tvm.tir.index_map", "tvm.tir.intrin_registry",
    "tvm.arith.iter_map_nodes", "tvm.arith.interval_set", "tvm.arith.int_solver",
)  # fmt: skip
_WITH_NODES: Final = ("arith.", "ir.", "te.", "tir.")


def resolve(home: str) -> Callable[..., Any]:
    """The function of `module:attribute`; a property is a function of its object."""
    module, _, path = home.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    function: Callable[..., Any] = found if callable(found) else operator.attrgetter(name)
    return function


def at_first_call(home: str) -> Callable[..., Any]:
    """A function that imports what it calls, `module:name`, when it is called."""
    def call(*args: Any) -> Any:
        return resolve(home)(*map(_given, args))

    call.__name__ = home.rpartition(":")[2]
    return call


def _given(arg: Any) -> Any:
    # a map from the other side finds its keys by their contents, ours by identity
    if isinstance(arg, Map):
        return dict(arg.items())
    return list(arg) if isinstance(arg, Array) else arg


for _name, _home in FUNCTIONS.items():
    register_global_func(_name, at_first_call(_home), override=True)
for _module in _NODES:
    importlib.import_module(_module)
for _name, _class in NODE_TYPES.seen_items():
    if _name.startswith(_WITH_NODES) and _name not in FUNCTIONS:
        register_global_func(_name, _class, override=True)
