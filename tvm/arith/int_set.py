"""Sets of integers with symbolic ends, and the sets that regions of buffers cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .interval_set import EVERYTHING as EVERYTHING
from .interval_set import NEG_INF as NEG_INF
from .interval_set import NOTHING as NOTHING
from .interval_set import POS_INF as POS_INF
from .interval_set import IntervalSet as IntervalSet
from .interval_set import IntSet as IntSet
from .interval_set import PresburgerSet as PresburgerSet
from .interval_set import SetEvaluator as SetEvaluator
from .interval_set import eval_set as eval_set
from .interval_set import intersect as intersect
from .interval_set import neg_inf as neg_inf
from .interval_set import pos_inf as pos_inf
from .interval_set import union as union
from .interval_set import union_lower_bound as union_lower_bound
from .iter_affine_map import detect_iter_map
from .iter_map_nodes import IterMapLevel, IterSumExpr


@explained
def estimate_region_strict_bound(
    region: Sequence[Range],
    var_dom: Mapping[e.Var, Range],
    predicate: PrimExpr | bool,
    analyzer: Analyzer | None = None,
) -> list[IntSet] | None:
    """The exact box that the region covers as the variables run; None where it is no box."""
    analyzer = analyzer or Analyzer()
    found = detect_iter_map(
        [dom.min for dom in region],
        var_dom,
        predicate,
        IterMapLevel.Surjective,
        allow_padding=False,
        allow_overlaps=True,
    )
    if found.errors:
        return None
    result: list[IntSet] = []
    for dom, made in zip(region, found.indices):
        covered = _covered(dom, made, analyzer)
        if covered is None:
            return None
        result.append(covered)
    return result


def _covered(dom: Range, made: IterSumExpr, analyzer: Analyzer) -> IntSet | None:
    """The union of [v, v + extent) for all values v of the map, if it has no holes."""
    if not made.args:
        return IntervalSet.of_range(Range.from_min_extent(made.base, dom.extent))
    split = made.args[0]
    extent, scale = op.cast(dom.extent, split.scale.dtype), split.scale
    base = made.base
    if analyzer.can_prove_less(scale, 0):  # downwards: the last step is the lowest
        base = op.add(base, op.multiply(op.subtract(split.extent, 1), scale))
        scale = op.negative(scale)
    if not analyzer.can_prove_greater_equal(scale, 0):
        return None
    if not analyzer.can_prove(op.greater_equal(extent, scale)):
        return None
    steps = op.multiply(op.subtract(split.extent, 1), scale)
    total = analyzer.simplify(op.add(steps, extent))
    base = analyzer.simplify(base)
    last = analyzer.simplify(op.subtract(op.add(base, total), 1))
    return IntervalSet(base, last)


@explained
def estimate_region_lower_bound(
    region: Sequence[Range],
    var_dom: Mapping[e.Var, Range],
    predicate: PrimExpr | bool,
    analyzer: Analyzer | None = None,
) -> list[IntSet] | None:
    """A box that the region surely covers; None where none is found."""
    return estimate_region_strict_bound(region, var_dom, predicate, analyzer)


@explained
def estimate_region_upper_bound(
    region: Sequence[Range],
    var_dom: Mapping[e.Var, Range],
    predicate: PrimExpr | bool,
    analyzer: Analyzer | None = None,
) -> list[IntSet]:
    """A box around all that the region may cover: exact where possible."""
    analyzer = analyzer or Analyzer()
    exact = estimate_region_strict_bound(region, var_dom, predicate, analyzer)
    if exact is not None:
        return exact
    result: list[IntSet] = []
    for dom in region:
        alone = estimate_region_strict_bound([dom], var_dom, predicate, analyzer)
        result.append(alone[0] if alone is not None else eval_set(dom, var_dom, analyzer))
    return result
