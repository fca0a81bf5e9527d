"""Reading index expressions as sums of digits of loop variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir.functor import uses_any, vars_in, walk
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .const_int_bound import ConstIntBound
from .constraint import facts_in
from .iter_map_expr import IterMapFailure, as_text
from .iter_map_nodes import IterMapLevel, IterMark, IterSplitExpr, IterSumExpr
from .iter_map_padding import Padding

Key = tuple[tuple[int, int, int, int], ...]
MAX_ROUNDS: Final = 3  # how often padding may ask for more padding


class _Limit:
    """A constrained sum: the mark that stands for it, and what is added to the mark."""

    __slots__ = ("base", "mark", "predicate", "splits", "used")

    def __init__(
        self,
        splits: tuple[IterSplitExpr, ...],
        mark: IterMark,
        base: PrimExpr,
        predicate: PrimExpr,
    ) -> None:
        self.splits: Final = splits
        self.mark: Final = mark
        self.base: Final = base
        self.predicate: Final = predicate
        self.used = False


class IterMapRewriter:
    """Turns expressions into sums of splits, fuses sums into marks, and checks coverage."""

    def __init__(
        self,
        input_iters: Mapping[e.Var, Range],
        analyzer: Analyzer,
        simplify_trivial: bool,
        whole_sums: bool = False,
    ) -> None:
        self.analyzer: Final = analyzer
        self._whole_sums = whole_sums  # a sum that is one number is divided as a whole
        self.padding_predicate: PrimExpr = e.IntImm(e.BOOL, 0)
        self._simplify_trivial = simplify_trivial
        self._lenient = False
        self._overlaps = False  # digits of a number may run over one another
        self._may_pad = True
        self._vars: dict[e.Var, IterSumExpr] = {}
        self._marks: dict[e.Var, IterMark] = {}
        self._fused: dict[Key, IterMark] = {}
        self._limits: list[_Limit] = []
        self._padding = Padding(self)
        self._cache: dict[int, tuple[PrimExpr, IterSumExpr]] = {}
        for var, dom in input_iters.items():
            self._enter_var(var, dom)
        for size in _sizes(input_iters):
            low, high = analyzer.bounds.of(size)
            analyzer.update(size, ConstIntBound(max(low, 1), max(high, 1)), True)
        for var, dom in input_iters.items():
            if var in self._marks:  # of the others only what no map is, as `z // 4`, is left
                analyzer.bind(var, dom, allow_override=True)

    def _enter_var(self, var: e.Var, dom: Range) -> None:
        dtype = var.dtype
        extent, low = op.cast(dom.extent, dtype), op.cast(dom.min, dtype)
        if self._simplify_trivial and self._is(extent, 1):
            self._vars[var] = IterSumExpr((), low)
            return
        if op.is_zero(low):
            mark = IterMark(var, extent)
        else:
            mark = IterMark(op.subtract(var, low), extent)
        self._marks[var] = mark
        self._vars[var] = IterSumExpr((IterSplitExpr(mark),), low)

    def _variable(self, var: e.Var) -> IterSumExpr:
        """A loop variable as a sum; with its padding, once that is known."""
        made = self._vars.get(var)
        if made is None:
            return IterSumExpr((), var)
        return self._padding.applied(made) if self._padding.marks else made

    # --- small arithmetic ---

    def simple(self, expr: PrimExpr) -> PrimExpr:
        """The expression simplified."""
        return expr if isinstance(expr, e.IntImm) else self.analyzer.simplify(expr)

    def same(self, a: PrimExpr, b: PrimExpr) -> bool:
        """Both are equal."""
        if isinstance(a, e.IntImm) and isinstance(b, e.IntImm):
            return a.value == b.value
        return a is b or self.analyzer.can_prove_equal(a, op.cast(b, a.dtype))

    def _is(self, expr: PrimExpr, value: int) -> bool:
        if isinstance(expr, e.IntImm):
            return expr.value == value
        return self.analyzer.can_prove_equal(expr, e.IntImm(expr.dtype, value))

    def divides(self, divisor: PrimExpr, value: PrimExpr) -> bool:
        """`divisor` divides `value` without a remainder."""
        if isinstance(divisor, e.IntImm) and isinstance(value, e.IntImm):
            return divisor.value != 0 and value.value % divisor.value == 0
        if self._is(divisor, 1) or self._factors_within(divisor, value):
            return True
        remainder = self.simple(op.floormod(value, op.cast(divisor, value.dtype)))
        return op.is_zero(remainder)

    def _factors_within(self, divisor: PrimExpr, value: PrimExpr) -> bool:
        """The factors of the divisor are among those of the value, in whatever order."""
        count, factors = self._factors(divisor)
        total, others = self._factors(value)
        if count == 0 or total % count:
            return False
        for factor in factors:
            if factor not in others:
                return False
            others.remove(factor)
        return True

    def _factors(self, expr: PrimExpr) -> tuple[int, list[int]]:
        """The literal factor of a product, and the numbers of its other factors."""
        literal, found, stack = 1, [], [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, e.Mul):
                stack += [node.a, node.b]
            elif isinstance(node, e.IntImm):
                literal *= node.value
            else:
                found.append(self.analyzer.numbers.number(node))
        return literal, found

    def quotient(self, value: PrimExpr, divisor: PrimExpr) -> PrimExpr:
        """value // divisor, simplified."""
        if op.is_one(divisor):
            return value  # a product of symbols keeps its order
        return self.simple(op.floordiv(value, op.cast(divisor, value.dtype)))

    # --- from expressions to sums ---

    def to_sum(self, expr: PrimExpr) -> IterSumExpr:
        """The expression as a sum of splits and a base free of the loop variables."""
        known = self._cache.get(id(expr))
        if known is not None:
            return known[1]
        try:
            result = self._to_sum(expr)
        except IterMapFailure:
            if not self._lenient:
                raise
            result = IterSumExpr((), expr)  # what is no map of the variables is added as it is
        self._cache[id(expr)] = (expr, result)
        return result

    def _to_sum(self, expr: PrimExpr) -> IterSumExpr:
        if isinstance(expr, IterSumExpr):
            return expr
        if isinstance(expr, IterSplitExpr):
            return IterSumExpr((expr,), op.const(0, expr.dtype))
        if isinstance(expr, e.Var):
            return self._variable(expr)
        if not uses_any(expr, self._vars):
            return IterSumExpr((), expr)
        if isinstance(expr, (e.Add, e.Sub)):
            return self._linear(expr)
        if isinstance(expr, e.Mul):
            return self._product(self.to_sum(expr.a), self.to_sum(expr.b), expr)
        if isinstance(expr, (e.FloorDiv, e.FloorMod)):
            return self._division(expr)
        if isinstance(expr, e.Cast) and expr.dtype.is_int and expr.value.dtype.is_int:
            return self._cast(expr)
        raise IterMapFailure(f"{as_text(expr)} is no affine map of the loop variables")

    def _linear(self, expr: PrimExpr) -> IterSumExpr:
        """A chain of additions and subtractions, without recursion over its length."""
        total = _Builder(self, expr.dtype)
        stack: list[tuple[PrimExpr, int]] = [(expr, 1)]
        while stack:
            node, sign = stack.pop()
            if isinstance(node, (e.Add, e.Sub)):
                stack.append((node.b, sign if isinstance(node, e.Add) else -sign))
                stack.append((node.a, sign))
            else:
                total.add(self.to_sum(node), sign)
        return total.done()

    def _product(self, a: IterSumExpr, b: IterSumExpr, expr: PrimExpr) -> IterSumExpr:
        if a.args and b.args:
            raise IterMapFailure(f"{as_text(expr)} is a product of two loop variables")
        if b.args:
            a, b = b, a
        return self.scaled(a, b.base)

    def scaled(self, made: IterSumExpr, factor: PrimExpr) -> IterSumExpr:
        """factor * sum."""
        if op.is_one(factor):
            return made
        if op.is_zero(factor):
            return IterSumExpr((), factor)
        args = [
            IterSplitExpr(a.source, a.lower_factor, a.extent, op.multiply(a.scale, factor))
            for a in made.args
        ]
        return IterSumExpr(args, op.multiply(made.base, factor))

    def _cast(self, expr: e.Cast) -> IterSumExpr:
        inner, dtype = self.to_sum(expr.value), expr.dtype
        args = []
        for arg in inner.args:
            mark = arg.source
            if isinstance(mark.source, IterSumExpr):
                raise IterMapFailure(f"{as_text(expr)}: a cast of fused loop variables")
            cast_mark = self._cast_mark(mark, dtype)
            lower, extent = op.cast(arg.lower_factor, dtype), op.cast(arg.extent, dtype)
            args.append(IterSplitExpr(cast_mark, lower, extent, op.cast(arg.scale, dtype)))
        return IterSumExpr(args, op.cast(inner.base, dtype))

    def _cast_mark(self, mark: IterMark, dtype: str) -> IterMark:
        key: Key = ((id(mark), hash(dtype), 0, 0),)
        known = self._fused.get(key)
        if known is None:
            known = IterMark(op.cast(mark.source, dtype), op.cast(mark.extent, dtype))
            self._fused[key] = known
        return known

    def _division(self, expr: e.FloorDiv | e.FloorMod) -> IterSumExpr:
        inner = self.to_sum(expr.a)
        divisor = self.to_sum(expr.b)
        if divisor.args:
            raise IterMapFailure(f"{as_text(expr)} divides by a loop variable")
        if not inner.args:  # variables of one iteration, or none
            return IterSumExpr((), expr)
        quotient = isinstance(expr, e.FloorDiv)
        # a divisor of zero has no meaning, so a size that may be zero is positive here
        known = self.analyzer.can_prove_greater_equal(divisor.base, 0)
        if not known and not self.analyzer.can_prove(op.greater_equal(divisor.base, 0)):
            raise IterMapFailure(f"{as_text(expr)}: the divisor may be negative")
        return self._divided(inner, divisor.base, quotient, expr)

    def _divided(
        self, inner: IterSumExpr, divisor: PrimExpr, quotient: bool, expr: PrimExpr
    ) -> IterSumExpr:
        inner = self._limited(inner)
        if self._whole_sums:
            whole = self._whole_divided(inner, divisor, quotient)
            if whole is not None:
                return whole
        exact, remainder = self._separated(inner, divisor)
        if not quotient:
            exact = IterSumExpr((), op.const(0, inner.dtype))
        else:
            exact = self._exact_quotient(exact, divisor)
        if not remainder.args:
            value = (op.floordiv if quotient else op.floormod)(remainder.base, divisor)
            return self.added(exact, IterSumExpr((), self.simple(value)))
        small = self._small_sum(remainder, divisor, quotient)
        if small is not None:
            return self.added(exact, small)
        if not all(self.analyzer.can_prove_greater_equal(a.scale, 0) for a in remainder.args):
            raise IterMapFailure(f"{as_text(expr)} divides a sum whose scales may be negative")
        if len(remainder.args) > 1:
            digits = self._digits_divided(remainder, divisor, quotient)
            if digits is not None:
                return self.added(exact, digits)
        split, base = self.fused(remainder)
        return self.added(exact, self._split_divided(split, base, divisor, quotient, expr))

    def _whole_divided(
        self, inner: IterSumExpr, divisor: PrimExpr, quotient: bool
    ) -> IterSumExpr | None:
        """Several splits that are one number, divided without a remainder: its digits."""
        if len(inner.args) < 2 or not op.is_zero(inner.base) or self._chain(inner.args) is None:
            return None
        split, base = self.fused(inner)
        if not op.is_zero(base) or not self.divides(split.scale, divisor):
            return None
        factor = self.quotient(divisor, split.scale)
        if self.same(factor, split.extent):
            return IterSumExpr((), op.const(0, inner.dtype)) if quotient else inner
        if not self.divides(factor, split.extent):
            return None
        high, low = self._cut(split, factor)
        return high if quotient else low

    def _separated(
        self, inner: IterSumExpr, divisor: PrimExpr
    ) -> tuple[IterSumExpr, IterSumExpr]:
        """The splits whose scale the divisor divides, and the remainder with the base."""
        exact = [self.divides(divisor, a.scale) for a in inner.args]
        zero = op.const(0, inner.dtype)
        whole = IterSumExpr([a for a, yes in zip(inner.args, exact) if yes], zero)
        return whole, IterSumExpr([a for a, yes in zip(inner.args, exact) if not yes], inner.base)

    def _digits_divided(
        self, remainder: IterSumExpr, divisor: PrimExpr, quotient: bool
    ) -> IterSumExpr | None:
        """Digits of one number divided digit by digit: at most one lies across the divisor."""
        order = self._chain(remainder.args)
        if order is None or not self.divides(divisor, remainder.base):
            return None
        total = _Builder(self, remainder.dtype)
        if quotient:
            total.add(IterSumExpr((), self.quotient(remainder.base, divisor)), 1)
        for split in order:
            if not self.divides(split.scale, divisor):
                return None
            factor = self.quotient(divisor, split.scale)
            if not self.analyzer.can_prove(op.less_equal(split.extent, factor)):
                if not self.divides(factor, split.extent):
                    return None
                high, low = self._cut(split, factor)
                total.add(high if quotient else low, 1)
            elif not quotient:
                total.add(IterSumExpr((split,), op.const(0, remainder.dtype)), 1)
        return total.done()

    def _small_sum(
        self, remainder: IterSumExpr, divisor: PrimExpr, quotient: bool
    ) -> IterSumExpr | None:
        """A sum that always lies in [0, divisor), whether or not it is a number.

        Remainders are left out where they may be padded: they stand for all below the divisor.
        """
        if not quotient and (self._may_pad or len(remainder.args) == 1):
            return None
        total = remainder.base
        if not self.analyzer.can_prove_greater_equal(total, 0):
            return None
        for split in remainder.args:
            if not self.analyzer.can_prove_greater_equal(split.scale, 0):
                return None
            total = op.add(total, op.multiply(op.subtract(split.extent, 1), split.scale))
        if not self.analyzer.can_prove(op.less(total, op.cast(divisor, total.dtype))):
            return None
        return IterSumExpr((), op.const(0, remainder.dtype)) if quotient else remainder

    def _cut(self, split: IterSplitExpr, factor: PrimExpr) -> tuple[IterSumExpr, IterSumExpr]:
        """A digit cut in two: (digit // factor) with scale one, (digit % factor) with its scale."""
        zero, one = op.const(0, split.dtype), op.const(1, split.dtype)
        lower = op.multiply(split.lower_factor, factor)
        if self.divides(factor, split.extent):
            count = self.quotient(split.extent, factor)
        else:
            count = self.simple(op.ceildiv(split.extent, op.cast(factor, split.dtype)))
        high = IterSplitExpr(split.source, lower, count, one)
        low = IterSplitExpr(split.source, split.lower_factor, factor, split.scale)
        return IterSumExpr((high,), zero), IterSumExpr((low,), zero)

    def _exact_quotient(self, made: IterSumExpr, divisor: PrimExpr) -> IterSumExpr:
        args = [
            IterSplitExpr(a.source, a.lower_factor, a.extent, self.quotient(a.scale, divisor))
            for a in made.args
        ]
        return IterSumExpr(args, made.base)

    def _split_divided(
        self,
        split: IterSplitExpr,
        base: PrimExpr,
        divisor: PrimExpr,
        quotient: bool,
        expr: PrimExpr,
    ) -> IterSumExpr:
        """(scale * digit + base) divided, where that is a digit again."""
        zero, scale = op.const(0, split.dtype), split.scale
        if self.divides(divisor, scale) and self.divides(divisor, base):
            if not quotient:
                return IterSumExpr((), zero)
            made = IterSumExpr((split,), zero)
            moved = self._exact_quotient(made, divisor)
            return IterSumExpr(moved.args, self.quotient(base, divisor))
        if not self.divides(scale, divisor) or not self.divides(scale, base):
            raise IterMapFailure(
                f"{as_text(expr)}: the scale {as_text(scale)} does not fit the divisor "
                f"{as_text(divisor)}"
            )
        factor, shift = self.quotient(divisor, scale), self.quotient(base, scale)
        if not self.divides(factor, shift):
            self._pad(split, factor, shift, expr)
            shift = op.const(0, split.dtype)  # the sum is read again with the padding in place
        return self._digit_divided(split, shift, factor, quotient, expr)

    def _digit_divided(
        self,
        split: IterSplitExpr,
        shift: PrimExpr,
        factor: PrimExpr,
        quotient: bool,
        expr: PrimExpr,
    ) -> IterSumExpr:
        """scale * (digit + shift) by scale * factor; factor divides shift."""
        base = self.quotient(shift, factor) if quotient else op.const(0, split.dtype)
        if self.analyzer.can_prove(op.less_equal(split.extent, op.cast(factor, split.dtype))):
            if quotient:
                return IterSumExpr((), base)
            if not isinstance(split.extent, e.IntImm) or self.same(split.extent, factor):
                return IterSumExpr((split,), base)
        if not self.divides(factor, split.extent):
            self._pad(split, factor, shift, expr)
        high, low = self._cut(split, factor)
        return IterSumExpr((high if quotient else low).args, base)

    def _pad(
        self, split: IterSplitExpr, factor: PrimExpr, shift: PrimExpr, expr: PrimExpr
    ) -> None:
        """Note that a number needs padding: its extent, or what is added, is no multiple."""
        if not self.divides(factor, shift):
            reason = f"the offset {as_text(shift)} is no multiple of {as_text(factor)}"
        else:
            reason = f"the extent {as_text(split.extent)} is no multiple of {as_text(factor)}"
        self._padding.note(split, factor, shift, f"{as_text(expr)}: {reason}")

    # --- sums ---

    def added(self, a: IterSumExpr, b: IterSumExpr) -> IterSumExpr:
        """a + b."""
        if not a.args and op.is_zero(a.base):
            return b
        total = _Builder(self, a.dtype)
        total.add(a, 1)
        total.add(b, 1)
        return total.done()

    def key_of(self, split: IterSplitExpr) -> tuple[int, int, int]:
        """What tells splits apart, whatever their scale."""
        number = self.analyzer.numbers.number
        return id(split.source), number(split.lower_factor), number(split.extent)

    # --- fusing a sum into one number ---

    def fused(self, made: IterSumExpr) -> tuple[IterSplitExpr, PrimExpr]:
        """The sum as one digit and a base; fails where the splits are no digits of one number."""
        made = self._limited(made)
        args = list(made.args)
        if len(args) == 1:
            return args[0], made.base
        order = self._chain(args)
        if order is None and self._overlaps:
            number = self._overlapping(args)
            if number is not None:
                return self._with_padding(IterSplitExpr(number), made.base)
        if order is None:
            raise IterMapFailure(
                f"{as_text(made)}: the loop variables do not follow one another without gaps or "
                "overlaps"
            )
        order = self._recombined(order)
        if len(order) == 1:
            return order[0], made.base
        base_scale = order[-1].scale
        inner = [
            IterSplitExpr(a.source, a.lower_factor, a.extent, self.quotient(a.scale, base_scale))
            for a in order
        ]
        extent = self.simple(op.multiply(order[0].extent, inner[0].scale))
        split = IterSplitExpr(self._mark_of(inner, extent), scale=base_scale)
        return self._with_padding(split, made.base)

    def _with_padding(
        self, split: IterSplitExpr, base: PrimExpr
    ) -> tuple[IterSplitExpr, PrimExpr]:
        if not self._padding.marks:
            return split, base
        padded = self._padding.applied(IterSumExpr((split,), base))
        return padded.args[0], padded.base

    def _recombined(self, order: Sequence[IterSplitExpr]) -> list[IterSplitExpr]:
        """Digits of one number that stand side by side are one: x // 4 * 4 + x % 4 is x."""
        found: list[IterSplitExpr] = []
        for low in order:
            high = found[-1] if found else None
            if high is not None and high.source is low.source:
                reach = self.simple(op.multiply(low.lower_factor, low.extent))
                if self.same(high.lower_factor, reach):
                    extent = self.simple(op.multiply(high.extent, low.extent))
                    low = IterSplitExpr(low.source, low.lower_factor, extent, low.scale)
                    found.pop()
            found.append(low)
        return found

    def _rejoined(self, made: IterSumExpr) -> IterSumExpr:
        """The sum with neighbouring digits of one number as one, whatever stands beside them."""
        found: list[IterSplitExpr] = []
        for split in made.args:
            joined = split
            for other in list(found):
                one = self._joined(joined, other) or self._joined(other, joined)
                if one is not None:
                    found.remove(other)
                    joined = one
            found.append(joined)
        return IterSumExpr(found, made.base)

    def _joined(self, high: IterSplitExpr, low: IterSplitExpr) -> IterSplitExpr | None:
        """high * (x // 4) + low * (x % 4) as one digit of x, where both scales fit."""
        if high.source is not low.source:
            return None
        reach = self.simple(op.multiply(low.lower_factor, low.extent))
        scale = self.simple(op.multiply(low.scale, low.extent))
        if not (self.same(high.lower_factor, reach) and self.same(high.scale, scale)):
            return None
        extent = self.simple(op.multiply(high.extent, low.extent))
        return IterSplitExpr(low.source, low.lower_factor, extent, low.scale)

    def _overlapping(self, args: Sequence[IterSplitExpr]) -> IterMark | None:
        """A number whose digits run over one another, as x * 7 + y with y < 8: it has no gaps."""
        if not all(isinstance(a.scale, e.IntImm) for a in args):
            return None
        args = self._rejoined(IterSumExpr(args, op.const(0, args[0].scale.dtype))).args
        ones = [a for a in args if self._is(a.scale, 1)]
        if not ones or any(a.scale.value < 1 for a in args):  # type: ignore[attr-defined]
            return None
        order = [ones[-1]]
        waiting = sorted(  # the last of those with one scale comes lowest
            [a for a in reversed(args) if a is not ones[-1]],
            key=lambda a: -a.scale.value,  # type: ignore[attr-defined]
        )
        last: PrimExpr = op.subtract(order[0].extent, 1)
        reach = order[0].extent  # of the digit that goes farthest alone
        while waiting:
            reached = (a for a in waiting if self.analyzer.can_prove(op.less_equal(a.scale, reach)))
            split = next(reached, None)
            if split is None:
                return None
            waiting = [a for a in waiting if a is not split]
            order.append(split)
            reach = op.max_of(reach, op.multiply(split.scale, split.extent))
            last = op.add(last, op.multiply(op.subtract(split.extent, 1), split.scale))
        return self._mark_of(order[::-1], self.simple(op.add(last, 1)))

    def _mark_of(self, inner: Sequence[IterSplitExpr], extent: PrimExpr) -> IterMark:
        number = self.analyzer.numbers.number
        key = tuple([(*self.key_of(a), number(a.scale)) for a in inner])
        mark = self._fused.get(key)
        if mark is None:
            zero = op.const(0, extent.dtype)
            mark = IterMark(IterSumExpr(tuple(inner), zero), extent)
            self._fused[key] = mark
        return mark

    def _chain(self, args: Sequence[IterSplitExpr]) -> list[IterSplitExpr] | None:
        """The splits from the largest scale to the smallest, each scale the next one's reach."""
        for start in self._smallest_first(args):
            found = self._chain_from(start, args)
            if found is not None:
                return found
        return None

    def _smallest_first(self, args: Sequence[IterSplitExpr]) -> list[IterSplitExpr]:
        """Candidates for the last digit: the smallest literal scale, else any symbolic one."""
        literals = [a for a in args if isinstance(a.scale, e.IntImm)]
        if not literals:
            return list(args)
        least = min(int(a.scale.value) for a in literals)  # type: ignore[attr-defined]
        return [self._units_first([a for a in literals if self._is(a.scale, least)])]

    def _units_first(self, args: Sequence[IterSplitExpr]) -> IterSplitExpr:
        """Of splits of one scale the one to come lower: those of one iteration, the last first."""
        units = [a for a in args if self._is(a.extent, 1)]
        return units[-1] if units else args[0]

    def _chain_from(
        self, start: IterSplitExpr, args: Sequence[IterSplitExpr]
    ) -> list[IterSplitExpr] | None:
        found = [start]
        waiting = [a for a in args if a is not start]
        while waiting:
            reach = self.simple(op.multiply(found[-1].scale, found[-1].extent))
            following = [a for a in waiting if self.same(a.scale, reach)]
            if not following:
                return None
            found.append(self._units_first(following))
            waiting = [a for a in waiting if a is not found[-1]]
        found.reverse()
        return found

    # --- predicates ---

    def enter_predicate(self, predicate: PrimExpr) -> None:
        """Note each comparison of the predicate as a limit of a sum, those of fewest words first.

        So x * 4 + y < 15 is known when (x * 4 + y) % 3 * 16 + z < 40 is read.
        """
        waiting = []
        for condition in facts_in(predicate):
            simple = self.analyzer.rewrite_simplify(condition)
            if not isinstance(simple, e.IntImm):
                # as written if that can be read: 3 <= x // 8 limits x // 8, and 24 <= x does not
                waiting.append((_as_less(condition, simple), simple))
            elif not simple.value:
                raise IterMapFailure(f"the predicate {as_text(condition)} never holds")
        waiting.sort(key=lambda entry: len(list(walk(entry[0]))))
        for condition, simple in waiting:
            total = self._limit_of(condition)
            if total.args:
                self._note_sum(total, simple)

    def _limit_of(self, condition: PrimExpr) -> IterSumExpr:
        """The sum that a comparison says is at most zero."""
        if not isinstance(condition, (e.LT, e.LE)):
            raise IterMapFailure(
                f"the predicate {as_text(condition)} is no comparison of a map with a bound"
            )
        total = self.to_sum(op.subtract(condition.a, condition.b))
        if isinstance(condition, e.LE):
            return total
        return IterSumExpr(total.args, self.simple(op.add(total.base, 1)))

    def _note_sum(self, total: IterSumExpr, predicate: PrimExpr) -> None:
        """sum + base <= 0: an upper limit, or a lower one if all scales are negative."""
        if all(self._is_negative(a.scale) for a in total.args):
            splits = self.scaled(total, op.const(-1, total.dtype))
            self._note_limit(splits, self.simple(total.base), None, predicate)
        else:
            high = self.simple(op.subtract(1, total.base))
            self._note_limit(total, None, high, predicate)

    def _is_negative(self, scale: PrimExpr) -> bool:
        return self.analyzer.can_prove_less(scale, 0)

    def _note_limit(
        self, total: IterSumExpr, low: PrimExpr | None, high: PrimExpr | None, predicate: PrimExpr
    ) -> None:
        """low <= sum < high: a mark of its own for the sum, with the narrower extent."""
        known = self._matching(total.args)
        zero = op.const(0, total.dtype)
        if known is not None:
            mark, base, splits = known.mark, known.base, known.splits
            self._limits.remove(known)
        else:
            bare = self._limited(IterSumExpr(total.args, zero))
            low = None if low is None else self.simple(op.subtract(low, bare.base))
            high = None if high is None else self.simple(op.subtract(high, bare.base))
            bare = IterSumExpr(bare.args, zero)
            split, _ = self.fused(bare)
            if not self._is(split.scale, 1):
                factor = split.scale
                low = None if low is None else self.simple(_ceil_div(low, factor))
                high = None if high is None else self.simple(_ceil_div(high, factor))
                bare = self._exact_quotient(bare, factor)
                split, _ = self.fused(bare)
            order = self._chain(bare.args) if len(bare.args) > 1 else list(bare.args)
            if order is None and self._overlaps:
                number = self._overlapping(bare.args)
                if number is not None:
                    order = list(number.source.args)  # type: ignore[attr-defined]
            if order is None:
                raise IterMapFailure(
                    f"the predicate {as_text(predicate)} limits a sum that is no number"
                )
            mark, base, splits = IterMark(bare, split.extent), zero, tuple(order)
        self._limits.append(self._narrowed_limit(mark, base, splits, low, high, predicate))

    def _narrowed_limit(
        self,
        mark: IterMark,
        base: PrimExpr,
        splits: tuple[IterSplitExpr, ...],
        low: PrimExpr | None,
        high: PrimExpr | None,
        predicate: PrimExpr,
    ) -> _Limit:
        first = base if low is None else self.simple(op.max_of(low, base))
        end = self.simple(op.add(base, mark.extent))
        last = end if high is None else self.simple(op.min_of(high, end))
        extent = self.simple(op.subtract(last, first))
        whole = self._rejoined(IterSumExpr(splits, self.simple(op.negative(first))))
        return _Limit(splits, IterMark(whole, extent), first, predicate)

    def _matching(self, args: Sequence[IterSplitExpr]) -> _Limit | None:
        for limit in self._limits:
            if len(limit.splits) == len(args) and self._scale_within(limit, args) is not None:
                return limit
        return None

    def _scale_within(self, limit: _Limit, args: Sequence[IterSplitExpr]) -> PrimExpr | None:
        """k such that k times the limited sum is part of the given splits."""
        factor: PrimExpr | None = None
        by_key = {self.key_of(a): a for a in args}
        for split in limit.splits:
            found = by_key.get(self.key_of(split))
            if found is None or not self.divides(split.scale, found.scale):
                return None
            ratio = self.quotient(found.scale, split.scale)
            if factor is not None and not self.same(factor, ratio):
                return None
            factor = ratio
        return factor

    def _limited(self, made: IterSumExpr) -> IterSumExpr:
        """The sum with limited parts replaced by the marks that stand for them."""
        for limit in self._limits:
            factor = self._scale_within(limit, made.args)
            if factor is None:
                continue
            limit.used = True
            keys = {self.key_of(split) for split in limit.splits}
            args = [a for a in made.args if self.key_of(a) not in keys]
            args.append(IterSplitExpr(limit.mark, scale=factor))
            base = self.simple(op.add(made.base, op.multiply(limit.base, factor)))
            made = IterSumExpr(args, base)
        return self._padding.applied(made) if self._padding.marks else made

    # --- the whole ---

    def detect(
        self,
        indices: Sequence[PrimExpr],
        predicate: PrimExpr,
        level: IterMapLevel,
        allow_padding: bool = True,
        allow_overlaps: bool = True,
    ) -> list[IterSumExpr]:
        """Each index as one digit and a base, checked as the level asks."""
        self._overlaps = allow_overlaps and level is not IterMapLevel.Bijective
        self.enter_predicate(predicate)
        self._may_pad = allow_padding and level is not IterMapLevel.Bijective
        maps = self._padded(lambda: [self._normal(self.to_sum(i)) for i in indices])
        self.padding_predicate = self._padding.predicate()
        if level is not IterMapLevel.NoCheck:
            self._check_limits(indices)
        self._check_coverage(maps, level)
        return maps

    def _padded(self, read: Callable[[], list[IterSumExpr]]) -> list[IterSumExpr]:
        """What `read` gives once all the padding that it asks for is in place.

        What it gives before means something else: a quotient is read as if the variables began
        at a multiple of the divisor.
        """
        maps = read()
        rounds = 0
        while self._padding.waiting:
            if not self._may_pad or rounds == MAX_ROUNDS:
                raise IterMapFailure(self._padding.reason)
            rounds += 1
            self._padding.settle()
            self._cache.clear()
            maps = read()
        return maps

    def _normal(self, made: IterSumExpr) -> IterSumExpr:
        if not made.args:
            return made
        base = self.simple(made.base)
        split, base = self.fused(IterSumExpr(made.args, base))
        if self._simplify_trivial and self._is(split.extent, 1):
            return IterSumExpr((), base)
        return IterSumExpr((split,), base)

    def as_sorted_sum(self, index: PrimExpr) -> IterSumExpr:
        """The index as a sum, the largest scale first: multiples before what divides them.

        Parts that are no maps of the variables belong to the base.
        """
        self._lenient = True
        made = self.to_sum(index)
        if self._padding.shifts:  # of a number that ends too early nothing changes but its end
            try:
                (made,) = self._padded(lambda: [self.to_sum(index)])
            except IterMapFailure:
                return IterSumExpr((), index)
        made = self._rejoined(made)
        symbolic: list[IterSplitExpr] = []
        for arg in made.args:
            if not isinstance(arg.scale, e.IntImm):
                smaller = [
                    self.divides(a.scale, arg.scale) and not self.same(a.scale, arg.scale)
                    for a in symbolic
                ]
                symbolic.insert([*smaller, True].index(True), arg)
        literal = [a for a in made.args if isinstance(a.scale, e.IntImm)]
        literal.sort(key=lambda a: -a.scale.value)  # type: ignore[attr-defined]
        return IterSumExpr((*symbolic, *literal), self.simple(made.base))

    def _check_limits(self, indices: Sequence[PrimExpr]) -> None:
        """A limit that no index uses makes the space no box."""
        used = set(vars_in(*indices))
        for limit in self._limits:
            sources = self._variables_of(limit.splits)
            if not limit.used and sources & used:
                raise IterMapFailure(
                    f"the predicate {as_text(limit.predicate)} limits no index as a whole"
                )

    def _variables_of(self, splits: Sequence[IterSplitExpr]) -> set[e.Var]:
        found: set[e.Var] = set()
        stack = list(splits)
        while stack:
            source = stack.pop().source.source
            if isinstance(source, IterSumExpr):
                stack.extend(source.args)
            else:
                found.update(n for n in vars_in(source) if n in self._vars)
        return found

    def _check_coverage(self, maps: Sequence[IterSumExpr], level: IterMapLevel) -> None:
        splits = [arg for made in maps for arg in made.args]
        order, uses = self._marks_in_order(splits)
        for mark in order:
            self._check_digits(mark, uses[id(mark)], level)
        if level is IterMapLevel.Bijective:
            for var, mark in self._marks.items():
                if id(mark) not in uses and not self._is(mark.extent, 1):
                    raise IterMapFailure(f"the map is not bijective: {var.name} is not used")

    def _marks_in_order(
        self, splits: Sequence[IterSplitExpr]
    ) -> tuple[list[IterMark], dict[int, list[IterSplitExpr]]]:
        """All marks, and the splits of each that are used; a mark's source counts once."""
        uses: dict[int, list[IterSplitExpr]] = {}
        order: list[IterMark] = []
        waiting = list(splits)
        while waiting:
            split = waiting.pop()
            mark = split.source
            if id(mark) not in uses:
                uses[id(mark)] = []
                order.append(mark)
                if isinstance(mark.source, IterSumExpr):
                    waiting.extend(mark.source.args)
            uses[id(mark)].append(split)
        return order, uses

    def _check_digits(
        self, mark: IterMark, splits: list[IterSplitExpr], level: IterMapLevel
    ) -> None:
        """The digits of one mark follow one another; only a surjection may leave some out."""
        waiting = [s for s in splits if not self._is(s.extent, 1)]
        expected: PrimExpr = op.const(1, mark.extent.dtype)
        while waiting:
            candidates = range(len(waiting))
            found = [i for i in candidates if self.same(waiting[i].lower_factor, expected)]
            if not found and level is not IterMapLevel.Bijective:
                found = [i for i in candidates if self.divides(expected, waiting[i].lower_factor)]
                found.sort(key=lambda i: self._size_of_lower(waiting[i]))
            if not found:
                name = as_text(mark.source)  # only then: printing costs more than all else here
                raise IterMapFailure(f"the digits of {name} that are used overlap or leave a gap")
            split = waiting.pop(found[0])  # one use of the digit: a second one overlaps
            expected = self.simple(op.multiply(split.lower_factor, split.extent))
        if level is IterMapLevel.Bijective:
            if not self.same(expected, mark.extent):
                name = as_text(mark.source)
                raise IterMapFailure(f"the map is not bijective: digits of {name} are not used")
        elif not self.divides(expected, mark.extent):
            name = as_text(mark.source)
            raise IterMapFailure(f"the digits of {name} that are used do not divide its extent")
        elif level is IterMapLevel.Surjective and not self._padding.covered(
            mark, splits, expected
        ):
            name = as_text(mark.source)
            raise IterMapFailure(f"some digits of {name} are met by padding alone")

    def _size_of_lower(self, split: IterSplitExpr) -> int:
        return self.analyzer.bounds.of(split.lower_factor)[0]


class _Builder:
    """Adds sums, joining splits that differ in scale only."""

    def __init__(self, rewriter: IterMapRewriter, dtype: str) -> None:
        self._rewriter: Final = rewriter
        self._splits: dict[tuple[int, int, int], IterSplitExpr] = {}
        self._base = op.const(0, dtype)

    def add(self, made: IterSumExpr, sign: int) -> None:
        """Add the sum, or take it away."""
        join = op.add if sign > 0 else op.subtract
        self._base = join(self._base, made.base)
        for arg in made.args:
            key = self._rewriter.key_of(arg)
            known = self._splits.get(key)
            start = op.const(0, arg.dtype) if known is None else known.scale
            scale = join(start, arg.scale)
            self._splits[key] = IterSplitExpr(arg.source, arg.lower_factor, arg.extent, scale)

    def done(self) -> IterSumExpr:
        """The sum of all that was added."""
        simple = self._rewriter.simple
        made = []
        for split in self._splits.values():
            scale = simple(split.scale)
            if not op.is_zero(scale):
                made.append(IterSplitExpr(split.source, split.lower_factor, split.extent, scale))
        if not self._splits:  # variables of one iteration, or none: as it is written
            return IterSumExpr((), self._base)
        return IterSumExpr(made, simple(self._base))


def _sizes(input_iters: Mapping[e.Var, Range]) -> list[e.Var]:
    """The variables that are at least one where the loops run at all: factors of an extent.

    n, m of `range(n * m)` and of `range((n * m + 63) // 64)`; no more is known of n in `n + 8`.
    """
    found: dict[e.Var, None] = {}
    stack = [dom.extent for dom in input_iters.values()]
    while stack:
        node = stack.pop()
        if isinstance(node, e.Mul):
            stack += [node.a, node.b]
        elif isinstance(node, e.Cast):
            stack.append(node.value)
        elif isinstance(node, e.FloorDiv):
            stack.append(_rounded(node))
        elif isinstance(node, e.Var) and node not in input_iters:
            found[node] = None
    return list(found)


def _as_less(condition: PrimExpr, simple: PrimExpr) -> PrimExpr:
    """A comparison with the smaller side first; what is no such comparison in its simple form."""
    if isinstance(condition, e.GT):
        return e.LT(condition.b, condition.a)
    if isinstance(condition, e.GE):
        return e.LE(condition.b, condition.a)
    return condition if isinstance(condition, (e.LT, e.LE)) else simple


def _rounded(node: e.FloorDiv) -> PrimExpr:
    """What is positive where the quotient is: x of (x + c) // d for c < d."""
    match node:
        case e.FloorDiv(a=e.Add(a=x, b=e.IntImm(value=c)), b=e.IntImm(value=d)) if 0 <= c < d:
            return x
    return node.a


def _ceil_div(value: PrimExpr, divisor: PrimExpr) -> PrimExpr:
    return op.ceildiv(value, op.cast(divisor, value.dtype))
