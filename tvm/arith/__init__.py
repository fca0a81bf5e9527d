"""What can be known about integer expressions: bounds, remainders, sets, simpler forms, proofs."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

from .analyzer import Analyzer, ConstraintScope, Extension, ProofStrength
from .const_int_bound import ConstIntBound
from .merge_quotients import merge_quotients as _merge_quotients
from .modular_set import ModularSet

_HOMES = {
    name: f"tvm.arith.{home}:{name}"
    for home, names in {
        "bound": ("deduce_bound",),
        "domain_touched": ("domain_touched",),
        "narrow_predicate": ("narrow_predicate_expression",),
        "int_set": (
            "IntSet", "IntervalSet", "PresburgerSet", "estimate_region_lower_bound",
            "estimate_region_strict_bound", "estimate_region_upper_bound", "pos_inf", "neg_inf",
            "union_lower_bound",
        ),
        "int_solver": (
            "IntGroupBounds", "IntConstraints", "IntConstraintsTransform",
            "solve_linear_equations", "solve_linear_inequalities",
        ),
        "iter_affine_map": (
            "IterMapExpr", "IterMark", "IterSplitExpr", "IterSumExpr", "IterMapResult",
            "IterMapLevel", "detect_iter_map", "normalize_to_iter_sum", "iter_map_simplify",
            "normalize_iter_map_to_expr", "subspace_divide", "inverse_affine_iter_map",
        ),
        "pattern": ("detect_linear_equation", "detect_clip_bound", "detect_common_subexpr"),
    }.items()
    for name in names
}  # fmt: skip

if TYPE_CHECKING:
    from .bound import deduce_bound
    from .domain_touched import domain_touched
    from .int_set import (
        IntervalSet,
        IntSet,
        PresburgerSet,
        estimate_region_lower_bound,
        estimate_region_strict_bound,
        estimate_region_upper_bound,
        neg_inf,
        pos_inf,
        union_lower_bound,
    )
    from .int_solver import (
        IntConstraints,
        IntConstraintsTransform,
        IntGroupBounds,
        solve_linear_equations,
        solve_linear_inequalities,
    )
    from .iter_affine_map import (
        IterMapExpr,
        IterMapLevel,
        IterMapResult,
        IterMark,
        IterSplitExpr,
        IterSumExpr,
        detect_iter_map,
        inverse_affine_iter_map,
        iter_map_simplify,
        normalize_iter_map_to_expr,
        normalize_to_iter_sum,
        subspace_divide,
    )
    from .narrow_predicate import narrow_predicate_expression
    from .pattern import detect_clip_bound, detect_common_subexpr, detect_linear_equation
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__all__ = [
    "Analyzer", "ConstIntBound", "ConstraintScope", "Extension", "IntConstraints",
    "IntConstraintsTransform", "IntGroupBounds", "IntSet", "IntervalSet", "IterMapExpr",
    "IterMapLevel", "IterMapResult", "IterMark", "IterSplitExpr", "IterSumExpr", "ModularSet",
    "PresburgerSet", "ProofStrength", "deduce_bound", "detect_clip_bound",
    "detect_common_subexpr", "detect_iter_map", "detect_linear_equation", "domain_touched",
    "estimate_region_lower_bound", "estimate_region_strict_bound", "estimate_region_upper_bound",
    "inverse_affine_iter_map", "iter_map_simplify", "narrow_predicate_expression", "neg_inf",
    "normalize_iter_map_to_expr", "normalize_to_iter_sum", "pos_inf", "solve_linear_equations",
    "solve_linear_inequalities", "subspace_divide", "union_lower_bound",
]  # fmt: skip
