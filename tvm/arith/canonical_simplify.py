"""Simplification of sums: like terms are gathered, quotients and remainders taken apart and joined.

A sum is base + sum of count * split; a split is ((index % upper) // lower). Splits of one index
whose parts meet join again:    (x // 3) * 3 + x % 3   ->   x
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import scalar
from tvm.tir.functor import StmtExprMutator, substitute
from tvm.tir.op import arith as op

from .canonical_product import Product, cancelled
from .comparison import Order
from .deep_equal import PAIRS, deep_equal
from .interval import NEG_INF, POS_INF, Bound
from .knowledge import MAX_DEPTH, MAX_KEPT, Results
from .pattern_rule import truth
from .reduction import reduced
from .rewrite_simplify import RewriteSimplifier, folded_call, is_index

if TYPE_CHECKING:
    from .analyzer import Analyzer

Key = tuple[int, int, int, bool]


class Split:
    """((index % upper) // lower); no upper stands for all of the index."""

    __slots__ = ("floor", "index", "key", "lower", "upper")

    def __init__(self, number: int, index: PrimExpr, lower: int, upper: int, floor: bool) -> None:
        self.index: Final = index
        self.lower: Final = lower
        self.upper: Final = upper  # zero stands for no limit
        self.floor: Final = floor or (lower == 1 and upper == 0)
        self.key: Final[Key] = (number, lower, upper, self.floor)

    def changed(self, lower: int, upper: int, floor: bool) -> Split:
        """Another part of the same index."""
        return Split(self.key[0], self.index, lower, upper, floor)

    @property
    def whole(self) -> bool:
        """The index itself."""
        return self.lower == 1 and self.upper == 0


class Sum:
    """base + sum of counts[key] * splits[key], in the order in which the terms came."""

    __slots__ = ("base", "counts", "dtype", "splits")

    def __init__(self, dtype: DataType, base: int = 0) -> None:
        self.dtype: Final = dtype
        self.base = base
        self.counts: Final[dict[Key, int]] = {}
        self.splits: Final[dict[Key, Split]] = {}

    def add_split(self, split: Split, count: int) -> None:
        """Add `count * split`."""
        total = self.counts.get(split.key, 0) + count
        self.counts[split.key] = total
        self.splits[split.key] = split

    def add(self, other: Sum, scale: int) -> None:
        """Add `scale * other`."""
        self.base += other.base * scale
        for key, count in other.counts.items():
            if count:
                self.add_split(other.splits[key], count * scale)

    def terms(self) -> list[tuple[Split, int]]:
        """The terms that are not zero."""
        return [(self.splits[key], count) for key, count in self.counts.items() if count]


class CanonicalSimplifier:
    """Turns index expressions into sums and back."""

    __slots__ = ("_aside", "_depth", "_generic", "_known", "analyzer")

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer: Final = analyzer
        self._known: Results = {}
        self._aside: Results = {}  # known in the other mode
        self._generic: Final = _Children(self)
        self._depth = 0

    def forget(self) -> None:
        """Drop remembered results; called when what is known changes."""
        if self._known:
            self._known = {}
        if self._aside:
            self._aside = {}

    def remembered(self) -> tuple[Results, Results]:
        """The results in both modes, which are no longer remembered from here on."""
        known = self._known, self._aside
        self._known, self._aside = {}, {}
        return known

    def remember(self, known: tuple[Results, Results]) -> None:
        """Results hold again."""
        self._known, self._aside = known

    def change_mode(self) -> None:
        """The rewriter begins to use the rules for proofs, or ends it."""
        self._known, self._aside = self._aside, self._known

    @property
    def rewriter(self) -> RewriteSimplifier:
        """The simplifier by rules, which makes the nodes."""
        return self.analyzer.rewriter

    def visit(self, expr: PrimExpr) -> PrimExpr:
        """`expr` with all its sums gathered; the same object when nothing changes."""
        kind = type(expr)
        if kind is e.IntImm or kind is e.FloatImm:
            return expr
        if kind is e.Var or kind is e.SizeVar:
            return self.rewriter.visit(expr)
        found = self._known.get(id(expr))
        if found is not None:
            return found[1]
        if self._depth >= MAX_DEPTH:
            return self._visit_deep(expr)
        self._depth += 1
        result = self._visited(expr, kind)
        self._depth -= 1
        if len(self._known) > MAX_KEPT:
            self._known = {}
        self._known[id(expr)] = (expr, result)
        return result

    def _visit_deep(self, expr: PrimExpr) -> PrimExpr:
        """Chains that are no sums (minima of minima, ...), children first."""
        order: list[PrimExpr] = []
        stack = [expr]
        while stack:
            node = stack.pop()
            if type(node) in PAIRS and id(node) not in self._known:
                order.append(node)
                stack.append(node.a)  # type: ignore[attr-defined]
                stack.append(node.b)  # type: ignore[attr-defined]
        depth, self._depth = self._depth, 0
        result = expr
        for node in reversed(order):
            if id(node) not in self._known:
                self._known[id(node)] = (node, self._visited(node, type(node)))
        if id(expr) in self._known:
            result = self._known[id(expr)][1]
        else:
            result = self._visited(expr, type(expr))
        self._depth = depth
        return result

    def _visited(self, expr: PrimExpr, kind: type) -> PrimExpr:
        if is_index(expr.dtype) and kind in _SUMS:
            if self._is_normal(expr):
                return expr
            result = self.normal(self.sum_of(expr))
            if type(result) is e.Sub and _is_product(expr):
                result = _as_product(result)
        elif kind in _COMPARISONS and is_index(expr.a.dtype):  # type: ignore[attr-defined]
            result = self._compared(expr, kind)
        else:
            result = self._rebuilt(expr, kind)
        return expr if result is not expr and deep_equal(expr, result) else result

    def _is_normal(self, expr: PrimExpr) -> bool:
        """A sum of multiples of different variables and their digits, the largest first.

        Most indices are such sums, and this is much quicker than taking them apart.
        """
        seen: set[int] = set()
        least = (0, 0, 0)
        node = expr
        if type(node) is e.Add and type(node.b) is e.IntImm:
            if node.b.value <= 0:
                return False
            node = node.a
        while True:
            last = node.b if type(node) is e.Add else node
            count, lower, upper = 1, 1, POS_INF
            if type(last) is e.Mul and type(last.b) is e.IntImm:
                last, count = last.a, last.b.value  # type: ignore[attr-defined]
                if count < 2:
                    return False
            kind = type(last)
            if (kind is e.FloorDiv or kind is e.FloorMod) and type(last.b) is e.IntImm:  # type: ignore[attr-defined]
                divisor = last.b.value  # type: ignore[attr-defined]
                last = last.a  # type: ignore[attr-defined]
                if type(last) is not e.Var or not self._is_open(last, divisor):
                    return False
                lower, upper = (divisor, POS_INF) if kind is e.FloorDiv else (1, divisor)
            bounds = (count, lower, upper)
            if type(last) is not e.Var or bounds < least or id(last) in seen:
                return False
            seen.add(id(last))
            if type(node) is not e.Add:
                return True
            least, node = bounds, node.a

    def _is_open(self, var: e.Var, divisor: int) -> bool:
        """Neither the quotient nor the remainder by this divisor is known."""
        if divisor < 2 or self.analyzer.modular.of(var)[0] != 1:
            return False
        low, high = self.analyzer.bounds.of(var)
        return low // divisor != high // divisor

    def _rebuilt(self, expr: PrimExpr, kind: type) -> PrimExpr:
        """The node over simplified operands, made by the rules."""
        if is_index(expr.dtype) and kind is e.Mul:
            return Product.of(expr, self.visit).expr(self.rewriter.make)
        if is_index(expr.dtype) and kind in _DIVISIONS:
            assert isinstance(expr, e.BinaryOpExpr)
            a, b = self.visit(expr.a), self.visit(expr.b)
            shorter = cancelled(kind, a, b, self.rewriter.make)
            return self.rewriter.make(kind, a, b) if shorter is None else shorter
        if isinstance(expr, (e.BinaryOpExpr, e.CmpExpr, e.And, e.Or)):
            return self.rewriter.make(kind, self.visit(expr.a), self.visit(expr.b))
        if isinstance(expr, e.Not):
            return self.rewriter.make_not(self.visit(expr.a))
        result = expr.accept(self._generic)
        assert isinstance(result, PrimExpr)
        return result

    # --- from expressions to sums ---

    def sum_of(self, expr: PrimExpr) -> Sum:
        """The sum that `expr` is."""
        total = Sum(expr.dtype)
        stack: list[tuple[PrimExpr, int]] = [(expr, 1)]
        while stack:
            node, scale = stack.pop()
            kind = type(node)
            if kind is e.IntImm:
                total.base += scale * node.value  # type: ignore[attr-defined]
            elif kind is e.Add:
                stack.append((node.b, scale))  # type: ignore[attr-defined]
                stack.append((node.a, scale))  # type: ignore[attr-defined]
            elif kind is e.Sub:
                stack.append((node.b, -scale))  # type: ignore[attr-defined]
                stack.append((node.a, scale))  # type: ignore[attr-defined]
            elif kind is e.Mul and type(node.b) is e.IntImm:  # type: ignore[attr-defined]
                stack.append((node.a, scale * node.b.value))  # type: ignore[attr-defined]
            elif kind is e.Mul and type(node.a) is e.IntImm:  # type: ignore[attr-defined]
                stack.append((node.b, scale * node.a.value))  # type: ignore[attr-defined]
            else:
                self._add_leaf(total, node, kind, scale)
        self._settle(total)
        return total

    def _settle(self, total: Sum) -> None:
        """c * (x // c)   ->   x - r   where x is known to be r modulo c; also of a remainder x."""
        for split, count in total.terms():
            nested = split.upper % split.lower == 0
            if split.lower == 1 or not nested or not split.floor or count % split.lower:
                continue
            coeff, remainder = self.analyzer.modular.of(split.index)
            if coeff % split.lower == 0:
                times = count // split.lower
                total.add_split(split, -count)
                total.add_split(split.changed(1, split.upper, True), times)
                total.base -= remainder % split.lower * times

    def _add_leaf(self, total: Sum, node: PrimExpr, kind: type, scale: int) -> None:
        if kind in _DIVISIONS and type(node.b) is e.IntImm and node.b.value > 0:  # type: ignore[attr-defined]
            total.add(self._divided(node, kind), scale)
            return
        if kind is e.Cast:
            inner = self._cast(node)
            if inner is not None:
                total.add(inner, scale)
                return
        simple = node if kind is e.Var else self._leaf(node, kind)
        if isinstance(simple, e.IntImm):
            total.base += scale * simple.value
        elif simple is node or type(simple) not in _SUMS:
            total.add_split(self.whole(simple), scale)
        else:
            total.add(self._as_sum(simple), scale)

    def _leaf(self, node: PrimExpr, kind: type) -> PrimExpr:
        if kind in _SUMS:  # a product or a division that is no sum itself
            return self._rebuilt(node, kind)
        return self.visit(node)

    def _as_sum(self, expr: PrimExpr) -> Sum:
        """The sum of an expression that is simplified already; anything else is a term."""
        total = Sum(expr.dtype)
        stack: list[tuple[PrimExpr, int]] = [(expr, 1)]
        while stack:
            node, scale = stack.pop()
            if isinstance(node, e.IntImm):
                total.base += scale * node.value
            elif isinstance(node, (e.Add, e.Sub)):
                stack.append((node.b, scale if isinstance(node, e.Add) else -scale))
                stack.append((node.a, scale))
            elif isinstance(node, e.Mul) and isinstance(node.b, e.IntImm):
                stack.append((node.a, scale * node.b.value))
            else:
                total.add_split(self.whole(node), scale)
        return total

    def whole(self, expr: PrimExpr) -> Split:
        """The split that is the expression itself."""
        return Split(self.analyzer.numbers.number(expr), expr, 1, 0, True)

    def _cast(self, node: PrimExpr) -> Sum | None:
        """A cast of a sum is the sum of casts, where no part can leave its type."""
        assert isinstance(node, e.Cast)
        source, target = node.value.dtype, node.dtype
        if not is_index(source) or not is_index(target):
            return None
        inner = self.sum_of(node.value)
        joined = self._joined(inner.terms())
        if target.bits < source.bits and not self._parts_fit(inner, joined, target):
            return None
        result = Sum(target, inner.base)
        for split, count in joined:
            index = op.cast(split.index, target)
            number = self.analyzer.numbers.number(index)
            result.add_split(Split(number, index, split.lower, split.upper, split.floor), count)
        return result

    def _parts_fit(self, inner: Sum, terms: list[tuple[Split, int]], target: DataType) -> bool:
        least, most = scalar.int_range(target)
        low, high = min(inner.base, 0), max(inner.base, 0)  # of any part of the sum
        if not (least <= low and high <= most):
            return False
        for split, count in terms:
            bound = self.analyzer.bounds.of(split.index)
            part = self._bound_of_terms([(split, count)], 0)
            if not (least <= bound[0] and bound[1] <= most):
                return False
            low, high = low + min(part[0], 0), high + max(part[1], 0)
            if not (least <= part[0] and part[1] <= most and split.upper <= most):
                return False
        return least <= low and high <= most

    # --- quotients and remainders ---

    def _divided(self, node: PrimExpr, kind: type) -> Sum:
        assert isinstance(node, e.BinaryOpExpr)
        assert isinstance(node.b, e.IntImm)
        joined = self._gathered(self.sum_of(node.a))
        divisor = node.b.value
        floor = kind is e.FloorDiv or kind is e.FloorMod
        quotient = kind is e.FloorDiv or kind is e.Div
        if kind is e.Mod:
            joined = self._less_shifted(joined, divisor)
        exact, remainder = _separated(joined, divisor)
        signed = quotient and type(node.a) in _LINEAR  # 0 - x stays the dividend
        apart = exact if quotient and not self.rewriter.proving else joined
        if not floor and not self._same_sign(apart, remainder):
            return self._of_one(joined, divisor, kind, signed)
        result = self._remainder_divided(remainder, divisor, kind, signed)
        if quotient:
            for split, count in exact.terms():
                result.add_split(split, count // divisor)
            result.base += exact.base // divisor
            ordered = Sum(result.dtype, result.base)
            ordered.add(exact_quotient(exact, divisor), 1)
            ordered.base -= exact.base // divisor
            for split, count in result.terms():
                missing = count - ordered.counts.get(split.key, 0)
                if missing:
                    ordered.add_split(split, missing)
            return ordered
        return result

    def _same_sign(self, rest: Sum, remainder: Sum) -> bool:
        """Truncation is rounding down: nothing is negative, or nothing is left over."""
        if not remainder.terms() and remainder.base == 0:
            return True
        return self._never_negative(rest) and self._never_negative(remainder)

    def _less_shifted(self, total: Sum, divisor: int) -> Sum:
        """(x - 27) truncmod 12 -> (x - 3) truncmod 12, where neither sum can be negative."""
        base = scalar.trunc_mod(total.base, divisor) if divisor > 0 else total.base
        if base == total.base or not total.terms() or not self._never_negative(total):
            return total
        shifted = _scaled_by(total, 1, base)
        return shifted if base > total.base or self._never_negative(shifted) else total

    def _never_negative(self, total: Sum) -> bool:
        """By the bounds of the terms, or by what is known of the whole."""
        if self._bound_of_terms(total.terms(), total.base)[0] >= 0:
            return True
        known = self.analyzer.const_int_bound(self.normal(total))
        return bool(total.terms()) and known.min_value >= 0

    def _of_one(self, whole: Sum, divisor: int, kind: type, signed: bool) -> Sum:
        """A truncating division whose sign is not known: parts of one split, or a term."""
        terms = whole.terms()
        if len(terms) == 1 and whole.base == 0 and not (signed and terms[0][1] < 0):
            found = self._split_divided(*terms[0], divisor, kind)
            if found is not None:
                return found
        return self._opaque(whole, divisor, kind, signed)

    def _remainder_divided(self, remainder: Sum, divisor: int, kind: type, signed: bool) -> Sum:
        """The part that the divisor does not divide, divided."""
        terms = remainder.terms()
        floor = kind is e.FloorDiv or kind is e.FloorMod
        quotient = kind is e.FloorDiv or kind is e.Div
        if not terms:
            base = remainder.base // divisor if quotient else remainder.base % divisor
            return Sum(remainder.dtype, base)
        low, high = self._bound_of_terms(terms, remainder.base)
        within = low != NEG_INF and high != POS_INF and low // divisor == high // divisor
        if not self.rewriter.proving:
            within = within and 0 <= low < divisor
        if within and (floor or quotient or 0 <= low < divisor):
            shift = low // divisor
            if quotient:
                return Sum(remainder.dtype, shift)
            if shift:
                remainder.base -= shift * divisor
            return remainder
        if len(terms) == 1 and remainder.base == 0 and not (signed and terms[0][1] < 0):
            found = self._split_divided(*terms[0], divisor, kind)
            if found is not None:
                return found
        if not quotient and floor:
            remainder.base %= divisor
        return self._opaque(remainder, divisor, kind, signed)

    def _split_divided(self, split: Split, count: int, divisor: int, kind: type) -> Sum | None:
        """count * split divided: its limits move. None if they do not fit the divisor."""
        floor = kind is e.FloorDiv or kind is e.FloorMod
        quotient = kind is e.FloorDiv or kind is e.Div
        if divisor % count or (split.floor != floor and not split.whole):
            return None
        if count < 0:
            if split.upper and not quotient:
                return None
            return self._by_negative(split, count, divisor, kind)
        factor = divisor // count
        lower, upper = split.lower, split.upper
        result = Sum(split.index.dtype)
        if quotient:
            if not upper or lower * factor < upper:
                result.add_split(split.changed(lower * factor, upper, floor), 1)
            return result
        limit = lower * factor
        if lower == 1 and upper and upper % limit == 0 and type(split.index) in _SUMS:
            # a remainder of a remainder is one of the sum itself, whose parts may fall away
            inner = kind(split.index, e.IntImm(split.index.dtype, limit))
            result.add(self._divided(inner, kind), count)
            return result
        if upper == 0 or upper % limit == 0:
            result.add_split(split.changed(lower, limit, floor), count)
            return result
        if limit % upper == 0:
            result.add_split(split, count)
            return result
        return None

    def _opaque(self, whole: Sum, divisor: int, kind: type, signed: bool) -> Sum:
        """The division of a sum that cannot be taken apart, as one split of that sum."""
        index = self.normal(whole)
        if type(index) is e.Sub and len(whole.terms()) == 1 and not signed:
            index = _as_product(index)
        literal = e.IntImm(whole.dtype, divisor)
        if kind is e.FloorMod:
            made: PrimExpr = e.FloorMod(index, literal)
        else:
            made = self.rewriter.make(kind, index, literal)
        if type(made) is kind and made.b.value == divisor:  # type: ignore[attr-defined]
            inner = made.a  # type: ignore[attr-defined]
            number = self.analyzer.numbers.number(inner)
            floor = kind is e.FloorDiv or kind is e.FloorMod
            quotient = kind is e.FloorDiv or kind is e.Div
            result = Sum(whole.dtype)
            limits = (divisor, 0) if quotient else (1, divisor)
            result.add_split(Split(number, inner, *limits, floor), 1)
            return result
        return self.sum_of(made) if type(made) in _SUMS else self._as_sum(made)

    def _by_negative(self, split: Split, count: int, divisor: int, kind: type) -> Sum:
        """(x * -2) // 6   ->   x // -3;      (x // 7 * -2) % 6   ->   x % -21 // 7 * -2"""
        result = Sum(split.index.dtype)
        quotient = kind is e.FloorDiv or kind is e.Div
        lower = 1 if split.upper else split.lower
        literal = e.IntImm(split.index.dtype, divisor // count * lower)
        index = self._split_expr(split) if split.upper else split.index
        made: PrimExpr = kind(index, literal)
        if not quotient and split.lower != 1:
            half = e.FloorDiv if split.floor else e.Div
            made = half(made, e.IntImm(made.dtype, split.lower))
        result.add_split(self.whole(made), 1 if quotient else count)
        return result

    def _bound_of_terms(self, terms: list[tuple[Split, int]], base: int) -> Bound:
        low = high = base
        for split, count in terms:
            bound = self._bound_of_split(split)
            ends = (bound[0], bound[1]) if count > 0 else (bound[1], bound[0])
            low = NEG_INF if abs(ends[0]) >= POS_INF or low == NEG_INF else low + ends[0] * count
            high = POS_INF if abs(ends[1]) >= POS_INF or high == POS_INF else high + ends[1] * count
        return low, high

    def _bound_of_split(self, split: Split) -> Bound:
        bounds = self.analyzer.bounds
        if split.whole:
            return bounds.of(split.index)
        return bounds.of(self._split_expr(split))

    # --- from sums to expressions ---

    def _joined(self, terms: list[tuple[Split, int]]) -> list[tuple[Split, int]]:
        """The terms with quotients and remainders of one index joined where they meet."""
        groups: dict[int, list[tuple[Split, int]]] = {}
        for split, count in terms:
            groups.setdefault(split.key[0], []).append((split, count))
        if len(groups) == len(terms):
            return terms
        result: list[tuple[Split, int]] = []
        for group in groups.values():
            result.extend(_join_group(group) if len(group) > 1 else group)
        return result

    def _gathered(self, total: Sum) -> Sum:
        """The sum with parts joined that belong together."""
        terms = self._joined(total.terms())
        across = self._joined_across(total, terms)
        if across is None:
            across = self._with_remainder(total, terms)
        if across is not None:
            return self._gathered(across)
        result = Sum(total.dtype, total.base)
        opened = False
        for split, count in terms:
            if split.whole and type(split.index) in _LINEAR:  # joined to a sum, whose terms count
                result.add(self.sum_of(split.index), count)
                opened = True
            else:
                result.add_split(split, count)
        return self._gathered(result) if opened else result

    def _joined_across(self, total: Sum, terms: list[tuple[Split, int]]) -> Sum | None:
        """(a // c) * c + b % c   ->   a   where a and b differ by a multiple of c.

        The same with b % c // d and c // d, and with a remainder instead of a.
        """
        for high, n in terms:
            step = high.lower
            if step == 1 or high.upper % step or not high.floor:
                continue
            for low, m in terms:
                fits = low.upper == step and low.floor and n * low.lower == m * step
                if not fits or step % low.lower or not self._congruent(high.index, low.index, step):
                    continue
                found = Sum(total.dtype, total.base)
                for split, count in terms:
                    if split is not high and split is not low:
                        found.add_split(split, count)
                if low.lower == 1 and not high.upper:
                    found.add(self.sum_of(high.index), m)
                else:
                    found.add_split(high.changed(low.lower, high.upper, True), m)
                return found
        return None

    def _with_remainder(self, total: Sum, terms: list[tuple[Split, int]]) -> Sum | None:
        """(a // c) * c + r   ->   a   where r is what a % c has become, in the same sum."""
        if len(terms) < 2:
            return None
        counts = {split.key: count for split, count in terms}
        for high, n in terms:
            if high.lower == 1 or n % high.lower or not high.floor or high.whole:
                continue
            literal = e.IntImm(total.dtype, high.lower)
            remainder = self._divided(e.FloorMod(high.index, literal), e.FloorMod)
            m, parts = n // high.lower, remainder.terms()
            if not parts or not all(
                split.key in counts and (split.whole or counts[split.key] == count * m)
                for split, count in parts
            ):
                continue
            found = Sum(total.dtype, total.base)
            for split, count in terms:
                if split is not high:
                    found.add_split(split, count)
            found.add(remainder, -m)
            if high.upper:
                found.add_split(high.changed(1, high.upper, True), m)
            else:
                found.add(self.sum_of(high.index), m)
            if _digits(found.terms()) < _digits(terms):
                return found
        return None

    def _congruent(self, a: PrimExpr, b: PrimExpr, step: int) -> bool:
        """a - b is a multiple of `step`, seen from its terms."""
        gap = self.sum_of(a)
        gap.add(self.sum_of(b), -1)
        whole = Sum(gap.dtype, gap.base)
        for split, count in gap.terms():
            if split.lower == 1 and split.upper and split.floor and split.upper * count % step == 0:
                whole.add(self.sum_of(split.index), count)  # i % u and i differ by multiples of u
            else:
                whole.add_split(split, count)
        return whole.base % step == 0 and not any(count % step for _, count in whole.terms())

    def normal(self, total: Sum) -> PrimExpr:
        """The sum as an expression: what is added, then the literal, then what is taken away."""
        total = self._gathered(total)
        dtype, base = total.dtype, total.base
        terms = sorted(total.terms(), key=_order)
        least, most = scalar.int_range(dtype)
        if base < least or base > most or any(not least < c <= most for _, c in terms):
            base = scalar.wrap(base, dtype)
            terms = [(split, scalar.wrap(count, dtype)) for split, count in terms]
        result: PrimExpr | None = None
        for split, count in terms:
            if count > 0:
                term = self._scaled(split, count)
                result = term if result is None else e.Add(result, term)
        if base > 0 or base == least:
            literal = e.IntImm(dtype, base)
            result = literal if result is None else e.Add(result, literal)
        for split, count in terms:
            if count < 0:
                if count == least:
                    term = self._scaled(split, count)
                    result = term if result is None else e.Add(result, term)
                    continue
                term = self._scaled(split, -count)
                result = e.Sub(e.IntImm(dtype, 0) if result is None else result, term)
        if least < base < 0:
            if result is None:
                return e.IntImm(dtype, base)
            result = e.Sub(result, e.IntImm(dtype, -base))
        return e.IntImm(dtype, 0) if result is None else result

    def _scaled(self, split: Split, count: int) -> PrimExpr:
        expr = self._split_expr(split)
        return expr if count == 1 else e.Mul(expr, e.IntImm(expr.dtype, count))

    def _split_expr(self, split: Split) -> PrimExpr:
        expr, dtype = split.index, split.index.dtype
        if split.upper:
            expr = (e.FloorMod if split.floor else e.Mod)(expr, e.IntImm(dtype, split.upper))
        if split.lower != 1:
            lower = e.IntImm(dtype, split.lower)
            expr = (e.FloorDiv if split.floor else e.Div)(expr, lower)
        return expr

    # --- comparisons ---

    def _compared(self, expr: PrimExpr, kind: type) -> PrimExpr:
        assert isinstance(expr, e.CmpExpr)
        a, b = self.visit(expr.a), self.visit(expr.b)
        if kind is e.LT:
            return self._less(a, b)
        if kind is e.GT:
            return self._less(b, a)
        if kind is e.LE:
            return self._at_most(a, b)
        if kind is e.GE:
            return self._at_most(b, a)
        if type(b) is e.IntImm:
            a = _with_added_literal(a)
        elif type(a) is e.IntImm:
            b = _with_added_literal(b)
        return self.rewriter.make(kind, a, b)

    def _at_most(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """a <= b: as one sum where literals move, else of the two sums as they are."""
        rewriter = self.rewriter
        if rewriter.proving:
            return rewriter.make_not(self._less(b, a))
        more, less = _with_added_literal(b), _with_added_literal(a)
        if not _literals_move(self.sum_of(b), self.sum_of(a)):
            return rewriter.make_not(rewriter.make(e.LT, more, less))
        order = rewriter.compare_whole(more, less)
        if order is Order.LESS or order.at_least:
            return truth(order.at_least)
        return rewriter.make_not(self._less(b, a))

    def _less(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """a < b; where a common factor can be taken out, as a sum on the left of a literal."""
        total = self.sum_of(a)
        total.add(self.sum_of(b), -1)
        shorter = self._without_small_terms(total)
        if shorter is None:
            return self.rewriter.make(e.LT, _with_added_literal(a), _with_added_literal(b))
        while shorter is not None:
            total, shorter = shorter, self._without_small_terms(shorter)
        right = min(total.base, 0)  # a literal below zero goes to the right
        limit = e.IntImm(total.dtype, -right)
        left = self.normal(_scaled_by(total, 1, total.base - right))
        if len({count > 0 for _, count in total.terms()}) < 2:
            return self.rewriter.make(e.LT, left, limit)
        order = self.rewriter.compare(left, limit)
        if order is Order.LESS or order.at_least:
            return truth(order is Order.LESS)
        return self.rewriter.decided(e.LT(left, limit))

    def _without_small_terms(self, total: Sum) -> Sum | None:
        """A sum that is negative where `total` is, with a common factor taken out.

        i * 64 + j - 1024   ->   i - 16   where 0 <= j < 64
        """
        terms = self._joined(total.terms())
        counts = [abs(count) for _, count in terms if abs(count) > 1]
        if not counts:
            return None
        step = gcd(total.base, *counts)
        exact = [(split, count // step) for split, count in terms if count % step == 0]
        low, high = self._bound_of_terms([term for term in terms if term[1] % step], 0)
        # total = step * (exact + base) + small; what is within one step decides nothing
        if step == 1 or low < 0 or high >= step:
            return None
        smaller = Sum(total.dtype, total.base // step)
        for split, count in exact:
            smaller.add_split(split, count)
        return smaller


def _literals_move(left: Sum, right: Sum) -> bool:
    """left < right brings its literals together, or takes a negative one to the other side."""
    if not (left.terms() and right.terms()):
        return False
    return left.base < 0 or right.base < 0 or (left.base != 0 and right.base != 0)


def _with_added_literal(expr: PrimExpr) -> PrimExpr:
    """x - c as x + (-c), the form that the rules of comparisons know."""
    if isinstance(expr, e.Sub) and isinstance(expr.b, e.IntImm) and expr.b.value > 0:
        return e.Add(expr.a, e.IntImm(expr.dtype, -expr.b.value), expr.span)
    return expr


def _scaled_by(total: Sum, scale: int, base: int) -> Sum:
    """The terms of a sum, with another literal."""
    result = Sum(total.dtype, base)
    for split, count in total.terms():
        result.add_split(split, count * scale)
    return result


def _is_product(expr: PrimExpr) -> bool:
    """A multiple of one term, or of a remainder; quotients of sums count as sums of their parts."""
    while isinstance(expr, e.Mul) and isinstance(expr.b, e.IntImm):
        expr = expr.a
    while isinstance(expr, e.FloorDiv):
        expr = expr.a
    return type(expr) not in _LINEAR


def _as_product(made: e.Sub) -> PrimExpr:
    """0 - x * c   ->   x * -c: a product stays one."""
    if type(made.a) is not e.IntImm or made.a.value != 0:
        return made
    part: PrimExpr = made.b
    count = 1
    if isinstance(part, e.Mul) and isinstance(part.b, e.IntImm):
        count = part.b.value
        part = part.a
    return e.Mul(part, e.IntImm(made.dtype, -count))


def exact_quotient(exact: Sum, divisor: int) -> Sum:
    """A sum whose counts the divisor divides, divided."""
    result = Sum(exact.dtype, exact.base // divisor)
    for split, count in exact.terms():
        result.add_split(split, count // divisor)
    return result


def _separated(total: Sum, divisor: int) -> tuple[Sum, Sum]:
    """The part of a sum that the divisor divides, and the remainder."""
    exact, remainder = Sum(total.dtype), Sum(total.dtype)
    for split, count in total.terms():
        (remainder if count % divisor else exact).add_split(split, count)
    if total.base % divisor == 0:
        exact.base = total.base
    else:
        remainder.base = total.base
    return exact, remainder


def _join_group(group: list[tuple[Split, int]]) -> list[tuple[Split, int]]:
    """Splits of one index: join pairs until none fits, the largest parts first."""
    terms = list(group)
    joined = True
    while joined and len(terms) > 1:
        joined = False
        for i in range(len(terms)):
            for j in range(len(terms)):
                if i != j:
                    found = _join(*terms[i], *terms[j])
                    if found is not None:
                        keep = [t for k, t in enumerate(terms) if k not in (i, j)]
                        terms = _gathered([*keep[: min(i, j)], found, *keep[min(i, j) :]])
                        joined = True
                        break
            if joined:
                break
    return terms


def _has_remainder(total: Sum, divisor: int) -> bool:
    """A term is a remainder by a multiple of the divisor."""
    return any(split.upper and split.upper % divisor == 0 for split, _ in total.terms())


def _digits(terms: list[tuple[Split, int]]) -> int:
    """How many terms are quotients or remainders."""
    return sum([not split.whole for split, _ in terms])


def _order(term: tuple[Split, int]) -> tuple[int, int, int]:
    """Where a term stands: the largest counts first, of one count the highest digits first."""
    split, count = term
    return -count, -split.lower, -split.upper if split.upper else NEG_INF


def _gathered(terms: list[tuple[Split, int]]) -> list[tuple[Split, int]]:
    counts: dict[Key, int] = {}
    splits: dict[Key, Split] = {}
    for split, count in terms:
        counts[split.key] = counts.get(split.key, 0) + count
        splits[split.key] = split
    return [(splits[key], count) for key, count in counts.items() if count]


def _join(low: Split, m: int, high: Split, n: int) -> tuple[Split, int] | None:
    """m * low + n * high as one term, if the two meet; else None."""
    if not (low.floor == high.floor or low.whole or high.whole) or high.lower % low.lower:
        return None
    floor = low.floor and high.floor
    ratio = high.lower // low.lower
    nested = high.upper == 0 or high.upper % high.lower == 0
    if nested and low.upper == high.lower and n == m * ratio:
        # (i % u) // l + ratio * ((i % v) // u)   ->   (i % v) // l
        return low.changed(low.lower, high.upper, floor), m
    if nested and low.upper == high.upper and n == -m * ratio and ratio > 1:
        # (i % v) // l - ratio * ((i % v) // u)   ->   (i % u) // l
        return low.changed(low.lower, high.lower, floor), m
    return None


class _Children(StmtExprMutator):
    """Rebuilds a node of a kind that is no sum, with simplified operands."""

    def __init__(self, simplifier: CanonicalSimplifier) -> None:
        super().__init__()
        self._simplifier = simplifier

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return self._simplifier.visit(expr)

    def visit_select_(self, op: e.Select) -> PrimExpr:
        return self._simplifier.rewriter.choice(op, self.visit_expr)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        rewriter = self._simplifier.rewriter
        special = rewriter.special_call(op, self.visit_expr)
        return folded_call(rewriter, super().visit_call_(op)) if special is None else special

    def visit_cast_(self, node: e.Cast) -> PrimExpr:
        value = self.visit_expr(node.value)
        if value is node.value and not isinstance(value, e.ConstExpr):
            return node
        return op.cast(value, node.dtype, node.span)

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        if isinstance(value, (e.ConstExpr, e.Var)):
            return self.visit_expr(substitute(op.body, {op.var: value}))
        return super().visit_let_(op)

    def visit_reduce_(self, op: e.Reduce) -> PrimExpr:
        return reduced(self._simplifier.analyzer, op, self.visit_expr)


_SUMS: Final[frozenset[type]] = frozenset(
    (e.Add, e.Sub, e.Mul, e.FloorDiv, e.FloorMod, e.Div, e.Mod, e.Cast)
)
_LINEAR: Final[frozenset[type]] = frozenset((e.Add, e.Sub))
_DIVISIONS: Final[frozenset[type]] = frozenset((e.FloorDiv, e.FloorMod, e.Div, e.Mod))
_COMPARISONS: Final[frozenset[type]] = frozenset((e.EQ, e.NE, e.LT, e.LE, e.GT, e.GE))
