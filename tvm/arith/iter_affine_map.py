"""Affine iteration maps: which indices are sums of digits of loop variables, and what follows.

Index expressions are read as mixed-radix numbers whose digits are splits of loop variables:

    i * 4 + j  over i < 8, j < 4      one number that runs over [0, 32)
    x // 4, x % 4  over x < 32        two digits of one variable

A map is surjective when the digits of each variable that are used do not overlap, and bijective
when, besides, none is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.op import arith as op

from . import iter_maps_before
from .analyzer import Analyzer
from .iter_map_expr import IterMapFailure, normalize_iter_map_to_expr
from .iter_map_nodes import (
    IterMapExpr,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
)
from .iter_map_predicate import narrowed
from .iter_map_rewrite import IterMapRewriter
from .iter_map_subspace import divide_by_subspace

Level = "IterMapLevel | str"


def _level(check_level: IterMapLevel | str | int) -> IterMapLevel:
    if isinstance(check_level, str):
        return IterMapLevel.from_str(check_level)
    return IterMapLevel(check_level)


@explained
def detect_iter_map(
    indices: Sequence[PrimExpr],
    input_iters: Mapping[e.Var, Range],
    predicate: Any = True,
    check_level: IterMapLevel | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    *,
    analyzer: Analyzer | None = None,
    allow_padding: bool = True,
    allow_overlaps: bool | None = None,
) -> IterMapResult:
    """Read each index as an iteration map over the variables; `errors` says why it cannot be done.

    `predicate` restricts the variables; each of its comparisons must limit a map. Where an extent
    is no multiple of a divisor the map is read with padding, and `padding_predicate` tells the
    values that no variable reaches; a bijective map has no padding. Unless the map is to be
    bijective, digits may run over one another without gaps: i + j over i < 224, j < 7; without
    padding only if `allow_overlaps` says so.
    """
    level = _level(check_level)
    overlaps = allow_padding if allow_overlaps is None else allow_overlaps
    _check_iters("detect_iter_map", input_iters)
    exprs = [e.as_expr(i) for i in indices]
    failure = ""
    for whole in (True, False):
        try:
            known = analyzer or Analyzer()
            iters, rest = narrowed(input_iters, e.as_expr(predicate), known)
            rewriter = IterMapRewriter(iters, known, simplify_trivial_iterators, whole)
            maps = rewriter.detect(exprs, rest, level, allow_padding, overlaps)
        except IterMapFailure as found:
            failure = str(found)
        else:
            return IterMapResult(maps, (), rewriter.padding_predicate)
    return IterMapResult((), (failure,), False)


def _check_iters(asked: str, input_iters: object) -> None:
    if isinstance(input_iters, Mapping):
        return
    raise TypeError(
        f"{asked}: the variables are a {type(input_iters).__name__}; legal: a dict from each "
        "variable to its range"
    )


@explained
def normalize_to_iter_sum(index: Any, input_iters: Mapping[e.Var, Range]) -> IterSumExpr:
    """The index as a sum of splits and a base, the largest scale first; nothing is checked."""
    _check_iters("normalize_to_iter_sum", input_iters)
    rewriter = IterMapRewriter(input_iters, Analyzer(), True, True)
    return rewriter.as_sorted_sum(e.as_expr(index))


@explained
def iter_map_simplify(
    indices: Sequence[PrimExpr],
    input_iters: Mapping[e.Var, Range],
    predicate: Any = True,
    check_level: IterMapLevel | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    *,
    analyzer: Analyzer | None = None,
) -> list[PrimExpr]:
    """The indices simplified by reading them as iteration maps; as they are if one of them is none.

    Quotients and remainders are those of whole sums, as loops were fused and split:
    `(i * 32 + j) // 512` rather than `i // 16`.
    """
    exprs = [e.as_expr(i) for i in indices]
    level = _level(check_level)
    _check_iters("iter_map_simplify", input_iters)
    given = e.as_expr(predicate)
    made: list[PrimExpr] | None = None
    is_whole = level is IterMapLevel.Bijective  # then what no index uses counts, too
    if analyzer is not None or is_whole or not iter_maps_before.is_static(input_iters):
        analyzer = analyzer or Analyzer()
        made = _whole_maps(exprs, input_iters, given, level, simplify_trivial_iterators, analyzer)
    else:
        made = _maps_apart(exprs, input_iters, given, level, simplify_trivial_iterators)
    return exprs if made is None else made


def _maps_apart(
    exprs: list[PrimExpr],
    input_iters: Mapping[e.Var, Range],
    predicate: PrimExpr,
    level: IterMapLevel,
    simplify_trivial: bool,
) -> list[PrimExpr] | None:
    """The indices as maps, those that share no variable on their own; None unless all are maps."""

    def make(part: list[PrimExpr], iters: Mapping[e.Var, Range]) -> list[PrimExpr] | None:
        return _whole_maps(part, iters, predicate, level, simplify_trivial, Analyzer())

    groups = [list(range(len(exprs)))]
    if op.is_one(predicate):  # a predicate may tie what the indices do not
        groups = iter_maps_before.apart(exprs, input_iters)
    found = list(exprs)
    for group in groups:
        part = [exprs[at] for at in group]
        maps = iter_maps_before.read(part, input_iters, predicate, (level, simplify_trivial), make)
        if maps is None:
            return None
        for at, made in zip(group, maps):
            found[at] = made
    return found


def _whole_maps(
    exprs: list[PrimExpr],
    input_iters: Mapping[e.Var, Range],
    predicate: PrimExpr,
    level: IterMapLevel,
    simplify_trivial: bool,
    analyzer: Analyzer,
) -> list[PrimExpr] | None:
    """The indices as maps, under the predicate or without it; None unless all are maps."""
    either = (predicate, e.IntImm(e.BOOL, 1))
    for condition in either[:1] if op.is_one(predicate) else either:
        try:
            iters, rest = narrowed(input_iters, condition, analyzer)
            rewriter = IterMapRewriter(iters, analyzer, simplify_trivial, True)
            whole = rewriter.detect(exprs, rest, level)
        except IterMapFailure:
            continue
        return [normalize_iter_map_to_expr(made) for made in whole]
    return None


@explained
def subspace_divide(
    bindings: Sequence[PrimExpr],
    input_iters: Mapping[e.Var, Range],
    sub_iters: Sequence[e.Var],
    predicate: Any = True,
    check_level: IterMapLevel | str = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
) -> list[list[IterMark]]:
    """Each binding as (outer, inner), where inner runs over the given variables only.

    binding = outer * inner.extent + inner. The last pair holds the predicates of the two spaces as
    its extents. An empty list says that the bindings cannot be divided so.
    """
    _check_iters("subspace_divide", input_iters)
    exprs = [e.as_expr(b) for b in bindings]
    level = _level(check_level)
    for whole in (True, False):
        analyzer = Analyzer()
        try:
            iters, rest = narrowed(input_iters, e.as_expr(predicate), analyzer)
            rewriter = IterMapRewriter(iters, analyzer, simplify_trivial_iterators, whole)
            maps = rewriter.detect(exprs, rest, level, False, False)
        except IterMapFailure:
            continue
        try:
            return divide_by_subspace(maps, sub_iters, analyzer)
        except IterMapFailure:
            return []
    return []


@explained
def inverse_affine_iter_map(
    iter_map: Sequence[IterSumExpr], outputs: Sequence[PrimExpr]
) -> dict[e.Var, PrimExpr]:
    """Each variable in terms of the outputs of a bijective map of its digits.

    Raises CheckError unless the digits of each map lie side by side, the last one in steps of 1:
    `i * 2` and `i + j` do not tell their variables from every value.
    """
    if len(iter_map) != len(outputs):
        raise CheckError(
            f"inverse_affine_iter_map: {len(iter_map)} maps and {len(outputs)} outputs; "
            "legal: as many outputs as maps"
        )
    found = inverse_if_any(iter_map, outputs)
    if found is None:
        raise CheckError(
            "inverse_affine_iter_map: a map has gaps or its digits overlap: "
            f"{', '.join([str(normalize_iter_map_to_expr(made)) for made in iter_map])}; legal: "
            "maps whose last digit has scale 1 and the others that of the digits behind them"
        )
    return found


def inverse_if_any(
    iter_map: Sequence[IterSumExpr], outputs: Sequence[PrimExpr]
) -> dict[e.Var, PrimExpr] | None:
    """`inverse_affine_iter_map`, or None where the digits have gaps or overlap."""
    analyzer = Analyzer()
    inner = [mark.source for mark in _marks_of(iter_map)]
    sums = [*iter_map, *[source for source in inner if isinstance(source, IterSumExpr)]]
    if not all(_is_dense(made, analyzer) for made in sums):
        return None
    return _Inverse().run(iter_map, [e.as_expr(o) for o in outputs])


def _is_dense(made: IterSumExpr, analyzer: Analyzer) -> bool:
    """True if each digit's scale is what those behind it span, from a last one of 1 or -1."""
    expected: PrimExpr | None = None
    for arg in reversed(made.args):
        if expected is None:
            expected = arg.scale
            if not isinstance(expected, e.IntImm) or abs(expected.value) != 1:
                return False
        elif not analyzer.can_prove_equal(arg.scale, expected):
            return False
        expected = op.multiply(expected, arg.extent)
    return True


class _Inverse:
    """Carries values from sums down to splits, marks and variables."""

    def __init__(self) -> None:
        self._values: dict[IterMark, PrimExpr] = {}

    def run(
        self, maps: Sequence[IterSumExpr], outputs: Sequence[PrimExpr]
    ) -> dict[e.Var, PrimExpr]:
        """The value of each variable."""
        waiting = _marks_of(maps)
        for made, output in zip(reversed(maps), reversed(outputs)):
            self._sum(made, output)
        found: dict[e.Var, PrimExpr] = {}
        for mark in waiting:
            value = self._values.get(mark)
            if value is None:
                continue
            source = mark.source
            if isinstance(source, IterSumExpr):
                self._sum(source, value)
                continue
            if isinstance(source, e.Sub):  # a variable that does not start at zero
                value, source = op.add(value, source.b), source.a
            if isinstance(source, e.Var):
                found[source] = value
        return found

    def _sum(self, made: IterSumExpr, value: PrimExpr) -> None:
        """Digits of value - base, the smallest first; the largest needs no remainder."""
        remainder = op.subtract(value, _as(made.base, value.dtype))
        for position, arg in reversed([*enumerate(made.args)]):
            scale = _as(arg.scale, value.dtype)
            divide = op.multiply if op.literal(scale) == -1 else op.floordiv
            digit = divide(remainder, scale)
            if position > 0:
                digit = op.floormod(digit, _as(arg.extent, value.dtype))
            self._split(arg, digit)

    def _split(self, split: IterSplitExpr, digit: PrimExpr) -> None:
        part = op.multiply(digit, _as(split.lower_factor, digit.dtype))
        known = self._values.get(split.source)
        self._values[split.source] = part if known is None else op.add(known, part)


def _marks_of(maps: Sequence[IterSumExpr]) -> list[IterMark]:
    """All marks, each before the marks that it is made of."""
    order: list[IterMark] = []
    done: set[IterMark] = set()

    def visit(mark: IterMark) -> None:
        if mark in done:
            return
        done.add(mark)
        if isinstance(mark.source, IterSumExpr):
            for arg in mark.source.args:
                visit(arg.source)
        order.append(mark)

    for made in maps:
        for arg in made.args:
            visit(arg.source)
    order.reverse()
    return order


def _as(expr: PrimExpr, dtype: DataType) -> PrimExpr:
    return op.cast(expr, dtype)


__all__ = [
    "IterMapExpr", "IterMapLevel", "IterMapResult", "IterMark", "IterSplitExpr", "IterSumExpr",
    "detect_iter_map", "inverse_affine_iter_map", "inverse_if_any", "iter_map_simplify",
    "normalize_iter_map_to_expr", "normalize_to_iter_sum", "subspace_divide",
]  # fmt: skip
