"""Dividing iteration maps into an outer space and an inner one over some of the variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.functor import vars_in
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .iter_map_expr import IterMapFailure, normalize_iter_map_to_expr
from .iter_map_nodes import IterMark, IterSplitExpr, IterSumExpr


class Division:
    """value = outer * inner_extent + inner; a part that is not there has the extent one."""

    __slots__ = ("inner", "inner_extent", "outer", "outer_extent")

    def __init__(
        self,
        outer: IterSumExpr,
        outer_extent: PrimExpr,
        inner: IterSumExpr,
        inner_extent: PrimExpr,
    ) -> None:
        self.outer: Final = outer
        self.outer_extent: Final = outer_extent
        self.inner: Final = inner
        self.inner_extent: Final = inner_extent

    @property
    def is_outer(self) -> bool:
        """There is no inner part."""
        return op.is_one(self.inner_extent)

    @property
    def is_inner(self) -> bool:
        """There is no outer part."""
        return op.is_one(self.outer_extent)


def divide_by_subspace(
    maps: Sequence[IterSumExpr], sub_iters: Sequence[e.Var], analyzer: Analyzer
) -> list[list[IterMark]]:
    """A pair of marks for each map, and a last pair that carries the predicates as extents."""
    divider = _Divider(sub_iters, analyzer)
    result = []
    for made in maps:
        found = divider.divide_map(made)
        outer = IterMark(found.outer, found.outer_extent)
        result.append([outer, IterMark(found.inner, found.inner_extent)])
    zero = IterSumExpr((), e.IntImm(e.INT32, 0))
    result.append(
        [IterMark(zero, divider.outer_predicate), IterMark(zero, divider.inner_predicate)]
    )
    return result


class _Divider:
    def __init__(self, sub_iters: Sequence[e.Var], analyzer: Analyzer) -> None:
        self._inner_vars: Final = set(sub_iters)
        self._analyzer: Final = analyzer
        self._known: dict[int, Division] = {}
        self.outer_predicate: PrimExpr = e.IntImm(e.BOOL, 1)
        self.inner_predicate: PrimExpr = e.IntImm(e.BOOL, 1)

    def _same(self, a: PrimExpr, b: PrimExpr) -> bool:
        return self._analyzer.can_prove_equal(a, op.cast(b, a.dtype))

    def divide_map(self, made: IterSumExpr) -> Division:
        """A whole binding; its base goes to the part that can carry it."""
        zero, one = op.const(0, made.dtype), op.const(1, made.dtype)
        if not made.args:
            return Division(made, one, IterSumExpr((), zero), one)
        if len(made.args) > 1 or not op.is_one(made.args[0].scale):
            raise IterMapFailure(f"{normalize_iter_map_to_expr(made)} is not divided: it has gaps")
        found = self._split(made.args[0])
        if op.is_zero(made.base):
            return found
        return self._with_base(found, made.base)

    def _with_base(self, found: Division, base: PrimExpr) -> Division:
        if found.is_outer:
            outer = IterSumExpr(found.outer.args, op.add(found.outer.base, base))
            return Division(outer, found.outer_extent, found.inner, found.inner_extent)
        if found.is_inner:
            inner = IterSumExpr(found.inner.args, op.add(found.inner.base, base))
            return Division(found.outer, found.outer_extent, inner, found.inner_extent)
        remainder = self._analyzer.simplify(op.floormod(base, found.inner_extent))
        if not op.is_zero(remainder):  # Y * E + X + base   ->   Y * E + (X + base)
            inner = IterSumExpr(found.inner.args, op.add(found.inner.base, base))
            return Division(found.outer, found.outer_extent, inner, found.inner_extent)
        steps = self._analyzer.simplify(op.floordiv(base, found.inner_extent))
        outer = IterSumExpr(found.outer.args, op.add(found.outer.base, steps))
        return Division(outer, found.outer_extent, found.inner, found.inner_extent)

    def _side_of(self, source: PrimExpr) -> bool | None:
        """True for a variable of the inner space, False for one of the outer; None for a sum."""
        if isinstance(source, IterSumExpr):
            return None
        inside = [n in self._inner_vars for n in vars_in(source)]
        return bool(inside) and all(inside)

    def _on_side(self, split: IterSplitExpr, inner: bool) -> Division:
        zero, one = op.const(0, split.dtype), op.const(1, split.dtype)
        bare = IterSplitExpr(split.source, split.lower_factor, split.extent, one)
        made, nothing = IterSumExpr((bare,), zero), IterSumExpr((), zero)
        if inner:
            return Division(nothing, one, made, split.extent)
        return Division(made, split.extent, nothing, one)

    def _split(self, split: IterSplitExpr) -> Division:
        """One split, its scale left out."""
        side = self._side_of(split.source.source)
        if side is not None:
            return self._on_side(split, side)
        found = self._mark(split.source)
        if self._same(split.extent, split.source.extent):
            return found
        if found.is_outer:
            return self._on_side(split, False)
        if found.is_inner:
            return self._on_side(split, True)
        raise IterMapFailure("a part of a number that joins variables of both spaces")

    def _mark(self, mark: IterMark) -> Division:
        known = self._known.get(id(mark))
        if known is None:
            assert isinstance(mark.source, IterSumExpr)
            known = self._sum(mark.source, mark.extent)
            self._known[id(mark)] = known
        return known

    def _sum(self, made: IterSumExpr, extent: PrimExpr) -> Division:
        """A number, digit by digit from the smallest: inner digits first, then outer ones."""
        zero, one = op.const(0, made.dtype), op.const(1, made.dtype)
        outer: list[IterSplitExpr] = []
        inner: list[IterSplitExpr] = []
        outer_extent: PrimExpr = one
        inner_extent: PrimExpr = one
        for split in reversed(made.args):
            part = self._split(split)
            if part.inner.args:  # loops of one iteration stay on their side, too
                if outer:
                    raise IterMapFailure("a variable of the inner space lies above an outer one")
                inner = [*self._scaled(part.inner, inner_extent), *inner]
                inner_extent = op.multiply(inner_extent, part.inner_extent)
            if part.outer.args:
                outer = [*self._scaled(part.outer, outer_extent), *outer]
                outer_extent = op.multiply(outer_extent, part.outer_extent)
        found = Division(
            IterSumExpr(outer, zero), outer_extent, IterSumExpr(inner, zero), inner_extent
        )
        return self._limited(found, made, extent)

    def _scaled(self, made: IterSumExpr, scale: PrimExpr) -> list[IterSplitExpr]:
        return [
            IterSplitExpr(a.source, a.lower_factor, a.extent, op.multiply(a.scale, scale))
            for a in made.args
        ]

    def _limited(self, found: Division, made: IterSumExpr, extent: PrimExpr) -> Division:
        """A number with a narrower range than its digits allow: the range becomes a predicate."""
        whole = op.multiply(found.outer_extent, found.inner_extent)
        if self._same(extent, whole) and op.is_zero(made.base):
            return found
        if not (found.is_outer or found.is_inner):
            raise IterMapFailure("a predicate joins variables of both spaces")
        part = found.outer if found.is_outer else found.inner
        value = op.add(normalize_iter_map_to_expr(part), made.base)
        holds = op.less(value, extent)
        if not op.is_zero(made.base):
            holds = op.logical_and(op.greater_equal(value, op.const(0, made.dtype)), holds)
        limited = IterSumExpr(part.args, op.add(part.base, made.base))
        if found.is_outer:
            self.outer_predicate = op.logical_and(self.outer_predicate, holds)
            return Division(limited, extent, found.inner, found.inner_extent)
        self.inner_predicate = op.logical_and(self.inner_predicate, holds)
        return Division(found.outer, found.outer_extent, limited, extent)
