"""Systems of linear equations and inequalities over the integers.

Equations are solved by the Smith normal form of their coefficients (H. J. S. Smith, On systems of
linear indeterminate equations and congruences, 1861); inequalities by eliminating one variable
after another (Fourier and Motzkin).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import Any, ClassVar, Final, final

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.support.arguments import explained
from tvm.support.frozen import FrozenMap
from tvm.tir import expr as e
from tvm.tir.functor import substitute
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .const_int_bound import ConstIntBound
from .constraint import facts_in
from .interval_set import eval_set
from .pattern import linear_equation

Matrix = list[list[int]]
Ranges = Mapping[e.Var, Range]


@final
class IntGroupBounds(Node):
    """coef * x is at least all of `lower`, at most all of `upper`, equal to all of `equal`."""

    __slots__ = ("coef", "equal", "lower", "upper")
    TYPE_KEY = "arith.IntGroupBounds"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("coef", "lower", "equal", "upper")

    def __init__(
        self,
        coef: Any,
        lower: Sequence[PrimExpr],
        equal: Sequence[PrimExpr],
        upper: Sequence[PrimExpr],
    ) -> None:
        self.coef: Final = e.as_expr(coef)
        self.lower: Final = tuple([e.as_expr(x) for x in lower])
        self.equal: Final = tuple([e.as_expr(x) for x in equal])
        self.upper: Final = tuple([e.as_expr(x) for x in upper])

    @staticmethod
    def from_range(rng: Range) -> IntGroupBounds:
        """The bounds that a range sets."""
        one = op.const(1, rng.min.dtype)
        if op.is_one(rng.extent):
            return IntGroupBounds(one, [], [rng.min], [])
        last = Analyzer().simplify(op.subtract(op.add(rng.min, rng.extent), 1))
        return IntGroupBounds(one, [rng.min], [], [last])

    def find_best_range(self, vranges_addl: Ranges | None = None) -> Range | None:
        """The tightest range that the bounds give, with one of the lower bounds as its start."""
        return best_range(self, vranges_addl or {}, Analyzer())


@final
class IntConstraints(Node):
    """Variables with their ranges, and conditions that hold between them."""

    __slots__ = ("ranges", "relations", "variables")
    TYPE_KEY = "arith.IntConstraints"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("variables", "ranges", "relations")

    def __init__(
        self,
        variables: Sequence[e.Var] | None = None,
        ranges: Ranges | None = None,
        relations: Sequence[PrimExpr] | None = None,
    ) -> None:
        self.variables: Final = tuple(variables or ())
        self.ranges: Final[FrozenMap[e.Var, Range]] = FrozenMap(ranges or {})
        self.relations: Final = tuple([e.as_expr(r) for r in relations or ()])

    def __repr__(self) -> str:
        return (
            f"IntConstraints({_listed(self.variables)}, {_mapped(self.ranges)}, "
            f"{_listed(self.relations)})"
        )

    def __str__(self) -> str:
        return repr(self)


@final
class IntConstraintsTransform(Node):
    """One system in terms of another: old variables from new ones, and back."""

    __slots__ = ("dst", "dst_to_src", "src", "src_to_dst")
    TYPE_KEY = "arith.IntConstraintsTransform"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("src", "dst", "src_to_dst", "dst_to_src")

    def __init__(
        self,
        src: IntConstraints,
        dst: IntConstraints,
        src_to_dst: Mapping[e.Var, PrimExpr],
        dst_to_src: Mapping[e.Var, PrimExpr],
    ) -> None:
        self.src: Final = src
        self.dst: Final = dst
        self.src_to_dst: Final[FrozenMap[e.Var, PrimExpr]] = FrozenMap(src_to_dst)
        self.dst_to_src: Final[FrozenMap[e.Var, PrimExpr]] = FrozenMap(dst_to_src)

    def __repr__(self) -> str:
        parts = (self.src, self.dst, _mapped(self.src_to_dst), _mapped(self.dst_to_src))
        lines = "".join([f"\n\t{part}" for part in parts])
        return f"IntConstraintsTransform({lines}\n)"

    def __str__(self) -> str:
        return repr(self)


def _listed(parts: Sequence[PrimExpr]) -> str:
    return f"[{', '.join([str(part) for part in parts])}]"


def _mapped(parts: Mapping[e.Var, Any]) -> str:
    return f"{{{', '.join([f'{var}: {part}' for var, part in parts.items()])}}}"


register_nodes(IntGroupBounds, IntConstraints, IntConstraintsTransform)


def _problem(
    equations: Sequence[PrimExpr] | PrimExpr | IntConstraints,
    variables: Sequence[e.Var] | None,
    ranges: Ranges | Sequence[Range] | None,
) -> IntConstraints:
    if isinstance(equations, IntConstraints):
        return equations
    listed = [equations] if isinstance(equations, PrimExpr) else list(equations)
    known = list(variables or ())
    if isinstance(ranges, Sequence):
        ranges = dict(zip(known, ranges))
    return IntConstraints(known, ranges, listed)


# --- equations ---


@explained
def solve_linear_equations(
    equations: Sequence[PrimExpr] | PrimExpr | IntConstraints,
    variables: Sequence[e.Var] | None = None,
    ranges: Ranges | None = None,
) -> IntConstraintsTransform:
    """All integer solutions of linear equations, in terms of as few new variables as possible.

    `dst.relations` holds what else must be true: divisibility, and the ranges of the old variables.
    """
    src = _problem(equations, variables, ranges)
    if not src.variables:
        return IntConstraintsTransform(src, src, {}, {})
    matrix, values, others = _coefficients(src)
    if not matrix:  # 0 = 0 binds nothing: each variable has a new one of its own
        matrix, values = [[0] * len(src.variables)], [op.const(0, src.variables[0].dtype)]
    return _Solution(src, matrix, values, others).transform()


def _coefficients(src: IntConstraints) -> tuple[Matrix, list[PrimExpr], list[PrimExpr]]:
    """A and b of A x = b, and the relations that are no linear equations with literal factors."""
    matrix: Matrix = []
    values: list[PrimExpr] = []
    others: list[PrimExpr] = []
    for relation in [part for r in src.relations for part in facts_in(r)]:
        row = _linear_row(relation, src.variables) if isinstance(relation, e.EQ) else None
        if row is None:
            others.append(relation)
        else:
            matrix.append(row[0])
            values.append(op.negative(row[1]))
    return matrix, values, others


def _linear_row(
    relation: e.CmpExpr, variables: Sequence[e.Var]
) -> tuple[list[int], PrimExpr] | None:
    """(coefficients, base) of a - b."""
    found = linear_equation(op.subtract(relation.a, relation.b), variables)
    if not found:
        return None
    counts = [part.value for part in found[:-1] if isinstance(part, e.IntImm)]
    return (counts, found[-1]) if len(counts) == len(variables) else None


class SmithForm:
    """u * a * v is diagonal. (The entries need not divide one another, as solving needs no order.)

    Columns are taken in their order and cleared as multiple of the pivot - column, so that of
    x + y == 0 the first variable is the new one: x = n0, y = -n0.
    """

    def __init__(self, a: Matrix) -> None:
        self.diagonal = [list(row) for row in a]
        rows, columns = len(a), len(a[0])
        self.u = _identity(rows)
        self.v = _identity(columns)
        self.v_inverse = _identity(columns)
        for k in range(min(rows, columns)):
            if not self._bring_pivot(k):
                break
            self._clear(k)

    @property
    def rank(self) -> int:
        """How many entries of the diagonal are not zero."""
        size = min(len(self.diagonal), len(self.diagonal[0]))
        return sum([self.diagonal[i][i] != 0 for i in range(size)])

    def _bring_pivot(self, k: int) -> bool:
        """The first column with an entry, and its least one, go to the diagonal."""
        d = self.diagonal
        for j in range(k, len(d[0])):
            found = [(abs(d[i][j]), i) for i in range(k, len(d)) if d[i][j]]
            if found:
                self._swap_rows(k, min(found)[1])
                self._swap_columns(k, j)
                return True
        return False

    def _clear(self, k: int) -> None:
        """Clear the other elements of row and column; their common divisor becomes the pivot."""
        d = self.diagonal
        while any(d[i][k] for i in range(k + 1, len(d))) or any(d[k][k + 1 :]):
            for i in range(k + 1, len(d)):
                while d[i][k]:
                    self._add_row(i, k, -(d[i][k] // d[k][k]))
                    if d[i][k]:
                        self._swap_rows(k, i)
            for j in range(k + 1, len(d[0])):
                if d[k][j]:
                    self._merge_columns(k, j)
        if d[k][k] < 0:
            self._negate_row(k)

    def _swap_rows(self, i: int, k: int) -> None:
        for m in (self.diagonal, self.u):
            m[i], m[k] = m[k], m[i]

    def _swap_columns(self, j: int, k: int) -> None:
        for m in (self.diagonal, self.v):
            for row in m:
                row[j], row[k] = row[k], row[j]
        self.v_inverse[j], self.v_inverse[k] = self.v_inverse[k], self.v_inverse[j]

    def _add_row(self, target: int, source: int, times: int) -> None:
        for m in (self.diagonal, self.u):
            m[target] = [a + times * b for a, b in zip(m[target], m[source])]

    def _merge_columns(self, k: int, j: int) -> None:
        """The divisor of both entries of row k goes to column k, zero to column j."""
        pivot, other = self.diagonal[k][k], self.diagonal[k][j]
        common, a, b = _divisor(pivot, other) if other % pivot else (pivot, 1, 0)
        p, q = pivot // common, other // common
        for m in (self.diagonal, self.v):
            for row in m:
                row[k], row[j] = a * row[k] + b * row[j], q * row[k] - p * row[j]
        rows = list(zip(self.v_inverse[k], self.v_inverse[j]))
        self.v_inverse[k] = [p * x + q * y for x, y in rows]
        self.v_inverse[j] = [b * x - a * y for x, y in rows]

    def _negate_row(self, k: int) -> None:
        for m in (self.diagonal, self.u):
            m[k] = [-a for a in m[k]]


def _divisor(m: int, n: int) -> tuple[int, int, int]:
    """(g, a, b) with g = a * m + b * n the greatest common divisor (Euclid)."""
    a, b, c, d = 1, 0, 0, 1
    while n:
        times = m // n
        m, n = n, m - times * n
        a, b, c, d = c, d, a - times * c, b - times * d
    return (m, a, b) if m > 0 else (-m, -a, -b)


def _identity(size: int) -> Matrix:
    return [[int(i == j) for j in range(size)] for i in range(size)]


class _Solution:
    """x = v y with y given by the diagonal where it is not zero, and free elsewhere."""

    def __init__(
        self,
        src: IntConstraints,
        matrix: Matrix,
        values: list[PrimExpr],
        others: list[PrimExpr],
    ) -> None:
        self._src: Final = src
        self._form: Final = SmithForm(matrix)
        self._others: Final = others
        self._analyzer: Final = Analyzer()
        self._sides: Final = [self._combined(row, values) for row in self._form.u]
        for var, dom in src.ranges.items():
            self._analyzer.bind(var, dom, allow_override=True)

    def _combined(
        self, factors: Sequence[int], exprs: Sequence[PrimExpr], from_zero: bool = False
    ) -> PrimExpr:
        """The sum of the products; one that begins with zero subtracts what is times -1."""
        total: PrimExpr | None = None
        for factor, expr in zip(factors, exprs):
            if factor and not op.is_zero(expr):
                term = op.multiply(expr, op.const(factor, expr.dtype))
                if total is None and from_zero:
                    total = e.Add(op.const(0, expr.dtype), term)
                else:
                    total = term if total is None else op.add(total, term)
        if total is None:
            return op.const(0, exprs[0].dtype)
        return self._analyzer.simplify(total)

    def transform(self) -> IntConstraintsTransform:
        """Old variables from new ones, with what must hold besides."""
        form, variables = self._form, self._src.variables
        rank = form.rank
        relations = self._consistency(rank)
        if relations is None:
            never = IntConstraints((), {}, [e.IntImm(e.BOOL, 0)])
            return IntConstraintsTransform(self._src, never, {}, {})
        solved: list[PrimExpr] = []
        for i in range(rank):
            pivot = form.diagonal[i][i]
            side = self._sides[i]
            solved.append(side if pivot == 1 else op.floordiv(side, op.const(pivot, side.dtype)))
        olds = [self._combined(row, variables, from_zero=True) for row in form.v_inverse[rank:]]
        to_src = {e.Var(_new_name(i, old), old.dtype): old for i, old in enumerate(olds)}
        free = list(to_src)
        parts = [*solved, *free]
        to_dst = {var: self._combined(row, parts) for var, row in zip(variables, form.v)}
        ranges = self._ranges(to_src)
        relations += self._old_ranges(to_dst, ranges)
        relations += [substitute(r, to_dst) for r in self._others]
        others = {var: dom for var, dom in self._src.ranges.items() if var not in to_dst}
        dst = IntConstraints(free, {**ranges, **others}, relations)
        return IntConstraintsTransform(self._src, dst, to_dst, to_src)

    def _consistency(self, rank: int) -> list[PrimExpr] | None:
        """Conditions under which there is a solution at all; None when they never hold."""
        found: list[PrimExpr] = []
        for i, side in enumerate(self._sides):
            if i < rank:
                pivot = op.const(self._form.diagonal[i][i], side.dtype)
                condition = op.equal(op.floormod(side, pivot), op.const(0, side.dtype))
            else:
                condition = op.equal(side, op.const(0, side.dtype))
            simple = self._analyzer.simplify(condition)
            if isinstance(simple, e.IntImm):
                if not simple.value:
                    return None
            else:
                found.append(simple)
        return found

    def _ranges(self, to_src: Mapping[e.Var, PrimExpr]) -> dict[e.Var, Range]:
        """The ranges of the new variables, from those of the old ones they are made of."""
        found: dict[e.Var, Range] = {}
        for new, expr in to_src.items():
            interval = eval_set(expr, self._src.ranges, self._analyzer)
            if interval.has_lower_bound() and interval.has_upper_bound():
                found[new] = interval.as_range(self._analyzer)
        return found

    def _old_ranges(
        self, to_dst: Mapping[e.Var, PrimExpr], ranges: Mapping[e.Var, Range]
    ) -> list[PrimExpr]:
        """The old ranges as conditions on new variables, where they do not follow."""
        analyzer = Analyzer()
        for var, dom in {**ranges, **self._src.ranges}.items():
            analyzer.bind(var, dom)
        found: list[PrimExpr] = []
        for var, dom in self._src.ranges.items():
            value = to_dst.get(var)
            if value is None:
                continue
            low = op.greater_equal(value, dom.min)
            high = op.less(value, op.add(dom.min, dom.extent))
            for condition in (low, high):
                simple = analyzer.simplify(condition)
                if not (isinstance(simple, e.IntImm) and simple.value):
                    found.append(simple)
        return found


def _new_name(k: int, old: PrimExpr) -> str:
    """The name of a new variable; one that stands for a single old one shows its name."""
    return f"n{k}_{old.name}" if isinstance(old, e.Var) else f"n{k}"


# --- inequalities ---


@explained
def solve_linear_inequalities(
    equations: Sequence[PrimExpr] | PrimExpr | IntConstraints,
    variables: Sequence[e.Var] | None = None,
    ranges: Ranges | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """Ranges of the variables, each in terms of the variables after it.

    What the ranges do not say stays in `relations`; where nothing solves the inequalities, they
    are the one condition False. With `deskew_range` new variables start at zero.
    """
    src = _problem(equations, variables, ranges)
    return _deskewed(src) if deskew_range else _ranged(src)


def _ranged(src: IntConstraints) -> IntConstraints:
    bounds, others = _eliminated(src)
    found = _best_ranges(src, bounds)
    if found is None:
        return NEVER
    relations = _left_over(src, bounds, found, others)
    return IntConstraints(src.variables, found, relations)


def solve_inequalities_as_condition(
    variables: Sequence[e.Var], ranges: Ranges, inequalities: Sequence[PrimExpr]
) -> list[PrimExpr]:
    """The bounds of each variable as conditions on it, in terms of the variables after it."""
    src = _problem(inequalities, variables, ranges)
    bounds, others = _eliminated(src)
    return _conditions(src, bounds, others)


def _conditions(
    src: IntConstraints, bounds: Mapping[e.Var, IntGroupBounds], others: Sequence[PrimExpr]
) -> list[PrimExpr]:
    found: list[PrimExpr] = []
    for var in src.variables:
        group = bounds[var]
        left = op.multiply(var, group.coef)
        found += [op.equal(left, bound) for bound in group.equal]
        found += [op.greater_equal(left, bound) for bound in group.lower]
        found += [op.less_equal(left, bound) for bound in group.upper]
    return [*found, *others]


def solve_inequalities_to_range(
    variables: Sequence[e.Var], ranges: Ranges, inequalities: Sequence[PrimExpr]
) -> IntConstraints:
    """Ranges of the variables, as `solve_linear_inequalities` gives them."""
    return _ranged(_problem(inequalities, variables, ranges))


def solve_inequalities_deskewed(
    variables: Sequence[e.Var], ranges: Ranges, inequalities: Sequence[PrimExpr]
) -> IntConstraintsTransform:
    """The same with new variables that start at zero."""
    return _deskewed(_problem(inequalities, variables, ranges))


class _Row:
    """sum of factor * variable + base <= 0."""

    __slots__ = ("base", "factors")

    def __init__(self, factors: Sequence[int], base: PrimExpr) -> None:
        self.factors: Final = tuple(factors)
        self.base: Final = base


def _rows_of(src: IntConstraints) -> tuple[list[_Row], list[PrimExpr]]:
    rows: list[_Row] = []
    others: list[PrimExpr] = []
    conditions = [part for r in src.relations for part in facts_in(r)]
    for var, dom in src.ranges.items():
        if any(var is v for v in src.variables):
            conditions.append(e.GE(var, op.cast(dom.min, var.dtype)))
            conditions.append(e.LT(var, op.cast(op.add(dom.min, dom.extent), var.dtype)))
    for condition in conditions:
        made = _rows_of_condition(condition, src.variables)
        if made is None:
            others.append(condition)
        else:
            rows += made
    return rows, others


def _rows_of_condition(
    condition: PrimExpr, variables: Sequence[e.Var]
) -> list[_Row] | None:
    if not isinstance(condition, (e.LT, e.LE, e.GT, e.GE, e.EQ)):
        return None
    found = _linear_row(condition, variables)
    if found is None:
        return None
    factors, base = found
    opposite = [-f for f in factors]
    if isinstance(condition, e.EQ):
        return [_Row(factors, base), _Row(opposite, op.negative(base))]
    if isinstance(condition, (e.GT, e.GE)):
        factors, base = opposite, op.negative(base)
    if isinstance(condition, (e.LT, e.GT)):
        base = op.add(base, 1)
    return [_Row(factors, base)]


def _normal_row(row: _Row, analyzer: Analyzer) -> _Row:
    """Divided by the common factor of its variables; rounding the base up loses nothing."""
    common = gcd(*row.factors) if row.factors else 0
    if common <= 1:
        return _Row(row.factors, analyzer.simplify(row.base))
    base = op.ceildiv(row.base, op.const(common, row.base.dtype))
    return _Row([f // common for f in row.factors], analyzer.simplify(base))


def _eliminated(src: IntConstraints) -> tuple[dict[e.Var, IntGroupBounds], list[PrimExpr]]:
    """The bounds of each variable by later ones, and conditions without variables."""
    analyzer = Analyzer()
    rows, others = _rows_of(src)
    rows = _distinct([_normal_row(row, analyzer) for row in rows], analyzer)
    within = Analyzer()
    for var, dom in src.ranges.items():
        within.bind(var, dom)
    found: dict[e.Var, IntGroupBounds] = {}
    for k, var in enumerate(src.variables):
        upper = [row for row in rows if row.factors[k] > 0]
        lower = [row for row in rows if row.factors[k] < 0]
        found[var] = _group(src.variables, k, lower, upper, within)
        rows = [row for row in rows if row.factors[k] == 0]
        for low in lower:
            for high in upper:
                rows.append(_normal_row(_joined(low, high, k), analyzer))
        rows = _distinct(rows, analyzer)
    for row in rows:
        condition = analyzer.simplify(op.less_equal(row.base, op.const(0, row.base.dtype)))
        if not within.can_prove(condition):
            never = within.can_prove(op.logical_not(condition))
            others.append(e.IntImm(e.BOOL, 0) if never else condition)
    return found, others


def _joined(low: _Row, high: _Row, k: int) -> _Row:
    """A row without the variable, implied by one with a negative and one with a positive factor."""
    a, b = high.factors[k], -low.factors[k]
    common = gcd(a, b)
    m, n = b // common, a // common
    factors = [m * p + n * q for p, q in zip(high.factors, low.factors)]
    base = op.add(op.multiply(high.base, m), op.multiply(low.base, n))
    return _Row(factors, base)


def _distinct(rows: Sequence[_Row], analyzer: Analyzer) -> list[_Row]:
    """Rows without those that others with the same factors imply, nor those that always hold."""
    kept: list[_Row] = []
    for row in rows:
        if not any(row.factors) and analyzer.can_prove(op.less_equal(row.base, 0)):
            continue
        implied = False
        for other in list(kept):
            if other.factors != row.factors:
                continue
            if analyzer.can_prove(op.less_equal(row.base, other.base)):
                implied = True
            elif analyzer.can_prove(op.less_equal(other.base, row.base)):
                kept.remove(other)
        if not implied:
            kept.append(row)
    return kept


def _group(
    variables: Sequence[e.Var],
    k: int,
    lower: Sequence[_Row],
    upper: Sequence[_Row],
    analyzer: Analyzer,
) -> IntGroupBounds:
    """The rows about one variable with one factor for all."""
    dtype = variables[k].dtype
    coef = 1
    for row in (*lower, *upper):
        coef = coef * abs(row.factors[k]) // gcd(coef, abs(row.factors[k]))

    def side(row: _Row) -> PrimExpr:
        factor = row.factors[k]
        total = row.base
        for other, times in enumerate(row.factors):
            if other != k and times:
                total = op.add(total, op.multiply(variables[other], op.const(times, dtype)))
        scale = coef // abs(factor)
        total = op.multiply(total, op.const(-scale if factor > 0 else scale, dtype))
        return analyzer.simplify(total)

    lows, highs = [side(row) for row in lower], [side(row) for row in upper]
    equal = [low for low in lows if any(analyzer.can_prove_equal(low, high) for high in highs)]
    lows = [x for x in lows if not any(x is y for y in equal)]
    highs = [x for x in highs if not any(analyzer.can_prove_equal(x, y) for y in equal)]
    lows = _strongest(lows, lambda a, b: analyzer.can_prove(op.greater_equal(a, b)))
    highs = _strongest(highs, lambda a, b: analyzer.can_prove(op.less_equal(a, b)))
    return IntGroupBounds(op.const(coef, dtype), lows, equal, highs)


def _strongest(
    bounds: Sequence[PrimExpr], implies: Callable[[PrimExpr, PrimExpr], bool]
) -> list[PrimExpr]:
    """The bounds that no other one implies; of equal ones the first."""
    kept: list[PrimExpr] = []
    for bound in bounds:
        if not any(implies(other, bound) for other in kept):
            kept = [other for other in kept if not implies(bound, other)]
            kept.append(bound)
    return kept


def best_range(
    group: IntGroupBounds, known: Mapping[e.Var, Range], analyzer: Analyzer
) -> Range | None:
    """The range with the smallest extent among those that start at one of the lower bounds.

    The extent is the largest for any values of the variables whose ranges are known; between one
    bound on either side it is their distance as it is.
    """
    coef = group.coef
    if group.equal:
        literal = [bound for bound in group.equal if isinstance(bound, e.IntImm)]
        start = analyzer.simplify(op.floordiv([*literal, *group.equal][0], coef))
        return Range.from_min_extent(start, op.const(1, start.dtype))
    if not group.lower or not group.upper:
        return None
    if op.is_one(coef) and len(group.lower) == len(group.upper) == 1:  # nothing to choose
        [low], [high] = group.lower, group.upper
        end = analyzer.simplify(op.add(high, 1))
        return Range.from_min_extent(low, op.subtract(end, low))
    best: tuple[PrimExpr, PrimExpr] | None = None
    for low in group.lower:
        start = analyzer.simplify(op.ceildiv(low, coef))
        for high in group.upper:
            reach = op.add(op.subtract(op.floordiv(high, coef), start), 1)
            extent = _largest(analyzer.simplify(reach), known, analyzer)
            if best is None or analyzer.can_prove(op.less(extent, best[1])):
                best = (start, extent)
    assert best is not None, "there are bounds on both sides"
    return Range.from_min_extent(*best)


def _largest(
    value: PrimExpr, known: Mapping[e.Var, Range], analyzer: Analyzer
) -> PrimExpr:
    """The value at its largest, as the known variables run; itself where there is no limit."""
    interval = eval_set(value, known, analyzer)
    return analyzer.simplify(interval.max_value) if interval.has_upper_bound() else value


def _with_own(group: IntGroupBounds, own: Range | None) -> IntGroupBounds:
    """The bounds with the given range first, so that it wins among equally tight ones."""
    if own is None or group.equal:
        return group
    given = IntGroupBounds.from_range(own)
    coef = group.coef

    def scaled(bounds: Sequence[PrimExpr]) -> list[PrimExpr]:
        return [op.multiply(bound, coef) for bound in bounds]

    if given.equal:
        return IntGroupBounds(coef, [], scaled(given.equal), [])
    return IntGroupBounds(
        coef, [*scaled(given.lower), *group.lower], [], [*scaled(given.upper), *group.upper]
    )


def _best_ranges(
    src: IntConstraints, bounds: Mapping[e.Var, IntGroupBounds]
) -> dict[e.Var, Range] | None:
    """The range of each variable that has one, the last first; None if one of them is empty."""
    found: dict[e.Var, Range] = {}
    analyzer = Analyzer()
    for var in reversed(src.variables):
        group = _with_own(bounds[var], src.ranges.get(var))
        best = best_range(group, {**src.ranges, **found}, analyzer)
        if best is None:
            continue
        if analyzer.can_prove(op.less_equal(best.extent, 0)):
            return None
        found[var] = best
        analyzer.bind(var, best, allow_override=True)
    return found


def _bind_literally(analyzer: Analyzer, var: e.Var, dom: Range) -> None:
    """The variable lies between the literals around its range; ends in other variables are lost."""
    last = analyzer.const_int_bound(op.subtract(op.add(dom.min, dom.extent), 1)).max_value
    first = analyzer.const_int_bound(dom.min).min_value
    analyzer.update(var, ConstIntBound(min(first, last), last), True)


def _left_over(
    src: IntConstraints,
    bounds: Mapping[e.Var, IntGroupBounds],
    found: Mapping[e.Var, Range],
    others: Sequence[PrimExpr],
) -> list[PrimExpr]:
    """The conditions that the chosen ranges do not hold."""
    analyzer = Analyzer()
    for var, dom in found.items():
        _bind_literally(analyzer, var, dom)
    return [
        one
        for one in _conditions(src, bounds, others)
        if not (_is_start(one, found, analyzer) or analyzer.can_prove(one))
    ]


def _is_start(
    condition: PrimExpr, found: Mapping[e.Var, Range], analyzer: Analyzer
) -> bool:
    """That a variable is at least what its range begins with."""
    if not (isinstance(condition, e.GE) and isinstance(condition.a, e.Var)):
        return False
    dom = found.get(condition.a)
    return dom is not None and analyzer.can_prove_equal(dom.min, condition.b)


NEVER: Final = IntConstraints((), {}, [e.IntImm(e.BOOL, 0)])


def _deskewed(src: IntConstraints) -> IntConstraintsTransform:
    """New variables that start at zero: each old one minus its lower bound."""
    bounds, others = _eliminated(src)
    old_ranges = _best_ranges(src, bounds)
    if old_ranges is None:
        return IntConstraintsTransform(src, NEVER, {}, {})
    analyzer = Analyzer()
    to_dst: dict[e.Var, PrimExpr] = {}
    to_src: dict[e.Var, PrimExpr] = {}
    ranges: dict[e.Var, Range] = {}
    created: list[e.Var] = []
    for var in reversed(src.variables):
        best = old_ranges.get(var)
        if best is None:
            to_dst[var] = var
            to_src[var] = var
            created.append(var)
        elif op.is_one(best.extent):
            to_dst[var] = analyzer.simplify(substitute(best.min, to_dst))
        else:
            new = e.Var(f"{var.name}.shifted", var.dtype)
            start = analyzer.simplify(substitute(best.min, to_dst))
            extent = substitute(best.extent, to_dst)
            to_dst[var] = op.add(new, start)
            to_src[new] = analyzer.simplify(op.subtract(var, best.min))
            ranges[new] = Range.from_min_extent(op.const(0, var.dtype), extent)
            created.append(new)
            _bind_literally(analyzer, new, ranges[new])
    left = _left_over(src, bounds, old_ranges, others)
    relations = [analyzer.simplify(substitute(one, to_dst)) for one in left]
    relations = [one for one in relations if not (isinstance(one, e.IntImm) and one.value)]
    created.reverse()
    dst = IntConstraints(created, ranges, relations)
    ordered_to_dst = {var: to_dst[var] for var in src.variables}
    return IntConstraintsTransform(src, dst, ordered_to_dst, to_src)


__all__ = [
    "IntConstraints", "IntConstraintsTransform", "IntGroupBounds",
    "solve_inequalities_as_condition", "solve_linear_equations", "solve_linear_inequalities",
]  # fmt: skip
