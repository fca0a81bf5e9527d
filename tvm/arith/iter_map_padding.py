"""Padding of iteration maps: x // 4, x % 4 over x < 30 are read as if x ran to 32."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.op import arith as op

from .iter_map_expr import IterMapFailure, normalize_iter_map_to_expr
from .iter_map_nodes import IterMark, IterSplitExpr, IterSumExpr

if TYPE_CHECKING:
    from .iter_map_rewrite import IterMapRewriter


class Padding:
    """Numbers that are read with values added before and behind, so that divisors come out even."""

    def __init__(self, rewriter: IterMapRewriter) -> None:
        self._rewriter: Final = rewriter
        self._needs: dict[IterMark, tuple[PrimExpr, PrimExpr]] = {}
        self.marks: dict[IterMark, tuple[IterMark, PrimExpr, PrimExpr]] = {}
        self._reasons: list[str] = []

    @property
    def waiting(self) -> bool:
        """Some numbers need padding that they do not have yet."""
        return bool(self._needs)

    @property
    def shifts(self) -> bool:
        """Some numbers need values before their first."""
        return any(not op.is_zero(left) for _, left in self._needs.values())

    @property
    def reason(self) -> str:
        """Why the first padding is needed."""
        return self._reasons[0]

    def note(
        self, split: IterSplitExpr, factor: PrimExpr, shift: PrimExpr, reason: str
    ) -> None:
        """The mark of the split shall start `left` values earlier, its extent be a multiple."""
        rewriter = self._rewriter
        self._reasons.append(reason)
        multiple = rewriter.simple(op.multiply(split.lower_factor, factor))
        left = op.multiply(op.floormod(shift, factor), split.lower_factor)
        left = rewriter.simple(left)
        known = self._needs.get(split.source)
        if known is not None:
            left = self._left(known, (multiple, left), reason)
            multiple = self._common(known[0], multiple, reason)
        self._needs[split.source] = (multiple, left)

    def _left(
        self, a: tuple[PrimExpr, PrimExpr], b: tuple[PrimExpr, PrimExpr], reason: str
    ) -> PrimExpr:
        """Values added before that serve two divisors, of which one divides the other.

        5 before a multiple of 12 is also 1 before a multiple of 4.
        """
        rewriter = self._rewriter
        if rewriter.same(a[1], b[1]) or op.is_zero(b[1]):
            return a[1]
        if op.is_zero(a[1]):
            return b[1]
        (fine, few), (_, many) = (a, b) if rewriter.divides(a[0], b[0]) else (b, a)
        if not rewriter.same(rewriter.simple(op.floormod(many, fine)), few):
            raise IterMapFailure(reason)
        return many

    def _common(self, a: PrimExpr, b: PrimExpr, reason: str) -> PrimExpr:
        """The greater of two divisors, which has to be a multiple of the other."""
        if self._rewriter.divides(a, b):
            return b
        if self._rewriter.divides(b, a):
            return a
        raise IterMapFailure(reason)

    def settle(self) -> None:
        """Make the padded marks; expressions are then to be read again."""
        simple = self._rewriter.simple
        for asked, need in self._needs.items():
            mark, multiple, left = self._origin(asked, *need)
            total = op.add(left, mark.extent)
            rounded = op.multiply(op.ceildiv(total, op.cast(multiple, total.dtype)), multiple)
            source = mark.source
            if not op.is_zero(left):
                if isinstance(source, IterSumExpr):
                    source = IterSumExpr(source.args, op.add(source.base, left))
                else:
                    source = simple(op.add(source, left))
            self.marks[mark] = (IterMark(source, simple(rounded)), left, multiple)
        self._needs = {}
        self._reasons = self._reasons[-1:]

    def _origin(
        self, asked: IterMark, multiple: PrimExpr, left: PrimExpr
    ) -> tuple[IterMark, PrimExpr, PrimExpr]:
        """The mark to pad; one that is padded already gets a common multiple."""
        for mark, (made, known_left, known_multiple) in self.marks.items():
            if made is asked:
                if not op.is_zero(left):
                    raise IterMapFailure(self._reasons[-1])
                return mark, self._common(known_multiple, multiple, self._reasons[-1]), known_left
        return asked, multiple, left

    def applied(self, made: IterSumExpr) -> IterSumExpr:
        """The sum with padded marks instead of those they pad."""
        args: list[IterSplitExpr] = []
        base = made.base
        for split in made.args:
            known = self.marks.get(split.source)
            whole = op.is_one(split.lower_factor) and split.extent is split.source.extent
            if known is None or not whole:
                args.append(split)
                continue
            mark, left, _ = known
            args.append(IterSplitExpr(mark, scale=split.scale))
            base = op.subtract(base, op.multiply(left, split.scale))
        return IterSumExpr(args, self._rewriter.simple(base))

    def covered(self, mark: IterMark, splits: list[IterSplitExpr], reach: PrimExpr) -> bool:
        """The digits below `reach` are all met without the padding of the mark.

        They are where there were as many values before. One digit alone that is no remainder, such
        as x // 5 % 3, counts as met by the multiples of its step.
        """
        prove = self._rewriter.analyzer.can_prove
        made = [known for known in self.marks.items() if known[1][0] is mark]
        if not made:
            return True
        origin, _ = made[0]
        if prove(op.less_equal(reach, op.cast(origin.extent, reach.dtype))):
            return True
        return len(splits) == 1 and prove(op.less(1, splits[0].lower_factor))

    def predicate(self) -> PrimExpr:
        """The condition under which a value of the maps is padding."""
        found: PrimExpr = e.IntImm(e.BOOL, 0)
        simple = self._rewriter.simple
        for mark, (padded, left, multiple) in self.marks.items():
            value = normalize_iter_map_to_expr(padded.source)
            block, within = op.floordiv(value, multiple), op.floormod(value, multiple)
            if not op.is_zero(left):
                first = op.equal(block, op.const(0, value.dtype))
                found = op.logical_or(found, op.logical_and(first, op.less(within, left)))
            end = op.add(left, mark.extent)
            added = op.not_equal(op.floormod(op.negative(end), multiple), 0)
            last = op.equal(block, op.floordiv(end, multiple))
            behind = op.logical_and(last, op.greater_equal(within, op.floormod(end, multiple)))
            behind = op.logical_and(simple(added), behind)
            found = op.logical_or(found, behind)
        return found
