"""Sets of integers with symbolic ends: intervals of expressions over sets of variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import Any, ClassVar, Final, final

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.support.arguments import explained
from tvm.support.compiled import Given
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import scalar
from tvm.tir.functor import expr_children, uses_any
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .scalable import vscale_values

POS_INF: Final = e.Var("pos_inf", "handle")
NEG_INF: Final = e.Var("neg_inf", "handle")


def pos_inf() -> e.Var:
    """The end of a set without an upper bound."""
    return POS_INF


def neg_inf() -> e.Var:
    """The end of a set without a lower bound."""
    return NEG_INF


class IntSet(Node):
    """The root of sets of integers."""

    __slots__ = ()
    TYPE_KEY = "arith.IntSet"

    def is_nothing(self) -> bool:
        """The set is empty."""
        return False

    def is_everything(self) -> bool:
        """The set has no bounds."""
        return False

    @staticmethod
    def vector(vec: PrimExpr) -> IntSet:
        """The values of the lanes of a vector."""
        return eval_set(vec, {})

    @staticmethod
    def single_point(point: PrimExpr | int) -> IntSet:
        """One value."""
        return IntervalSet(point, point)


@final
class IntervalSet(IntSet):
    """All integers from min_value to max_value, both included; the ends may be infinite."""

    __slots__ = ("max_value", "min_value")
    TYPE_KEY = "arith.IntervalSet"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("min_value", "max_value")

    def __init__(self, min_value: Any, max_value: Any) -> None:
        low, high = e.as_expr(min_value), e.as_expr(max_value)
        self.min_value: Final = low
        self.max_value: Final = high

    @staticmethod
    def of_range(dom: Range) -> IntervalSet:
        """The values of a range."""
        if op.is_one(dom.extent):
            return IntervalSet(dom.min, dom.min)
        last = op.subtract(op.add(dom.min, dom.extent), 1)
        return IntervalSet(dom.min, last)

    def has_lower_bound(self) -> bool:
        """The lower end is finite."""
        return self.min_value is not NEG_INF and self.min_value is not POS_INF

    def has_upper_bound(self) -> bool:
        """The upper end is finite."""
        return self.max_value is not POS_INF and self.max_value is not NEG_INF

    def is_single_point(self) -> bool:
        """Both ends are one expression."""
        if self.min_value is self.max_value:
            return True
        a, b = self.min_value, self.max_value
        return isinstance(a, e.IntImm) and isinstance(b, e.IntImm) and a.value == b.value

    def is_everything(self) -> bool:
        return self.min_value is NEG_INF and self.max_value is POS_INF

    def is_nothing(self) -> bool:
        return self.min_value is POS_INF or self.max_value is NEG_INF

    def __repr__(self) -> str:
        return f"IntervalSet[{self.min_value}, {self.max_value}]"

    def __str__(self) -> str:
        return self.__repr__()

    def as_range(self, analyzer: Analyzer) -> Range:
        """The set as a range; its ends must be finite."""
        extent = op.add(op.subtract(self.max_value, self.min_value), 1)
        return Range.from_min_extent(self.min_value, analyzer.simplify(extent))


@final
class PresburgerSet(IntSet):
    """The points where one of several conditions holds, each a conjunction of comparisons."""

    __slots__ = ("constraints", "variables")
    TYPE_KEY = "arith.PresburgerSet"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("variables", "constraints")

    def __init__(
        self, variables: Sequence[e.Var] = (), constraints: Sequence[PrimExpr] = ()
    ) -> None:
        self.variables: Final = tuple(variables)
        self.constraints: Final = tuple(constraints)

    def is_nothing(self) -> bool:
        analyzer = Analyzer()
        return bool(self.constraints) and all(
            analyzer.can_prove(op.logical_not(c)) for c in self.constraints
        )


register_nodes(IntervalSet, PresburgerSet)

EVERYTHING: Final = IntervalSet(NEG_INF, POS_INF)
NOTHING: Final = IntervalSet(POS_INF, NEG_INF)


def as_int_set(dom: Given[Range | IntSet]) -> IntSet:
    """A range or a set as a set."""
    if not isinstance(dom, (Range, IntSet)):
        raise TypeError(
            f"a set of values is a {type(dom).__name__}; legal: a Range or an IntSet for each "
            "variable"
        )
    return IntervalSet.of_range(dom) if isinstance(dom, Range) else dom


def _add_ends(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if a is NEG_INF or b is NEG_INF:
        return NEG_INF
    if a is POS_INF or b is POS_INF:
        return POS_INF
    return op.add(a, b)


def _sub_ends(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if a is NEG_INF or b is POS_INF:
        return NEG_INF
    if a is POS_INF or b is NEG_INF:
        return POS_INF
    return op.subtract(a, b)


def min_end(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """The smaller of two ends."""
    if a is NEG_INF or b is NEG_INF:
        return NEG_INF
    if a is POS_INF:
        return b
    return a if b is POS_INF else op.min_of(a, b)


def max_end(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    """The larger of two ends."""
    if a is POS_INF or b is POS_INF:
        return POS_INF
    if a is NEG_INF:
        return b
    return a if b is NEG_INF else op.max_of(a, b)


def _is_finite(end: PrimExpr) -> bool:
    return end is not POS_INF and end is not NEG_INF


class SetEvaluator:
    """The interval of an expression, given the sets of some of its variables."""

    __slots__ = ("_active", "_known", "_sets", "analyzer")

    def __init__(self, sets: Mapping[e.Var, IntSet | Range], analyzer: Analyzer) -> None:
        self._sets: Final = sets
        self._known: dict[int, tuple[PrimExpr, IntervalSet]] = {}
        self._active: set[e.Var] = set()
        self.analyzer: Final = analyzer

    def of(self, expr: PrimExpr) -> IntervalSet:
        """The interval around all values of `expr`."""
        known = self._known.get(id(expr))
        if known is not None:
            return known[1]
        rule = _RULES.get(type(expr))
        result = self._opaque(expr) if rule is None else rule(self, expr)
        self._known[id(expr)] = (expr, result)
        return result

    def made(self, low: PrimExpr, high: PrimExpr) -> IntervalSet:
        """The interval with simplified ends."""
        if low is high and _is_finite(low):
            end = self.analyzer.simplify(low)
            return IntervalSet(end, end)
        low = self.analyzer.simplify(low) if _is_finite(low) else low
        high = self.analyzer.simplify(high) if _is_finite(high) else high
        return IntervalSet(low, high)

    def variable(self, var: e.Var) -> IntervalSet:
        """The set of a variable; its ends may name further variables that have sets."""
        found = self._sets.get(var)
        if found is None:
            return IntervalSet(var, var)
        interval = as_int_set(found)
        if not isinstance(interval, IntervalSet):
            return EVERYTHING
        if var in self._active:
            return IntervalSet(var, var)
        self._active.add(var)
        low = interval.min_value
        high = interval.max_value
        if _is_finite(low) and not isinstance(low, e.IntImm):
            low = self.of(low).min_value
        if _is_finite(high) and not isinstance(high, e.IntImm):
            high = self.of(high).max_value
        self._active.discard(var)
        return IntervalSet(low, high)

    def _opaque(self, expr: PrimExpr) -> IntervalSet:
        """An expression without a rule is one value, unless it depends on a variable with a set."""
        if self.depends(expr):
            return EVERYTHING
        return IntervalSet(expr, expr)

    def depends(self, expr: PrimExpr) -> bool:
        """A variable that has a set occurs in the expression."""
        return uses_any(expr, self._sets)

    def non_negative(self, expr: PrimExpr) -> bool:
        """The value is never negative."""
        return self.analyzer.can_prove_greater_equal(expr, 0)

    def non_positive(self, expr: PrimExpr) -> bool:
        """The value is never positive."""
        return self.analyzer.can_prove_less(expr, 1)

    def union(self, a: IntervalSet, b: IntervalSet) -> IntervalSet:
        """The smallest interval around both."""
        if a.is_nothing() or b.is_nothing():
            return b if a.is_nothing() else a
        return self.made(
            min_end(a.min_value, b.min_value), max_end(a.max_value, b.max_value)
        )


def _literal(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    return IntervalSet(x, x)


def _var(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Var)
    return self.variable(x)


def _sum(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    """A chain of additions and subtractions, without recursion over its length."""
    low = high = None
    points = True
    stack: list[tuple[PrimExpr, bool]] = [(x, True)]
    while stack:
        node, plus = stack.pop()
        if isinstance(node, (e.Add, e.Sub)):
            stack.append((node.b, plus == isinstance(node, e.Add)))
            stack.append((node.a, plus))
            continue
        part = self.of(node)
        if part.is_nothing():
            return NOTHING
        points = points and part.is_single_point()
        if low is None or high is None:
            zero = op.const(0, x.dtype)
            low = part.min_value if plus else _sub_ends(zero, part.max_value)
            high = part.max_value if plus else _sub_ends(zero, part.min_value)
        elif plus:
            low, high = _add_ends(low, part.min_value), _add_ends(high, part.max_value)
        else:
            low, high = _sub_ends(low, part.max_value), _sub_ends(high, part.min_value)
    assert low is not None, "a sum has terms"
    assert high is not None, "a sum has terms"
    if points and not self.depends(x):
        return IntervalSet(x, x)
    return self.made(low, high)


def _mul(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Mul)
    a, b = self.of(x.a), self.of(x.b)
    if a.is_single_point() and not b.is_single_point():
        a, b = b, a
    if a.is_nothing() or b.is_nothing():
        return NOTHING
    if b.is_single_point():
        return _scaled(self, a, b.min_value)
    if self_non_negative(self, a) and self_non_negative(self, b):
        high: PrimExpr = POS_INF
        if _is_finite(a.max_value) and _is_finite(b.max_value):
            if _overflows(a.max_value, b.max_value):
                return EVERYTHING
            high = op.multiply(a.max_value, b.max_value)
        return self.made(op.multiply(a.min_value, b.min_value), high)
    return EVERYTHING


def _overflows(a: PrimExpr, b: PrimExpr) -> bool:
    """The product of two numbers is no number of their type."""
    if not (isinstance(a, e.IntImm) and isinstance(b, e.IntImm)):
        return False
    signed = a.dtype.is_int
    return a.value * b.value >= 1 << (a.dtype.bits - signed)


def self_non_negative(self: SetEvaluator, a: IntervalSet) -> bool:
    """No value of the interval is negative."""
    return a.has_lower_bound() and self.non_negative(a.min_value)


def _scaled(self: SetEvaluator, a: IntervalSet, factor: PrimExpr) -> IntervalSet:
    if a.is_single_point():
        product = op.multiply(a.min_value, factor)
        return self.made(product, product)
    if op.is_zero(factor):
        return IntervalSet(factor, factor)
    low, high = a.min_value, a.max_value
    if self.non_negative(factor):
        return self.made(_times(low, factor), _times(high, factor))
    if self.non_positive(factor):
        return self.made(_times(high, factor, True), _times(low, factor, True))
    if _is_finite(low) and _is_finite(high):
        return _either_way(self, factor, op.multiply(low, factor), op.multiply(high, factor))
    return EVERYTHING


def _times(end: PrimExpr, factor: PrimExpr, turned: bool = False) -> PrimExpr:
    if end is POS_INF or end is NEG_INF:
        return end if not turned else (NEG_INF if end is POS_INF else POS_INF)
    return op.multiply(end, factor)


def _quotient(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, (e.FloorDiv, e.Div))
    divide = op.floordiv if isinstance(x, e.FloorDiv) else op.truncdiv
    a, b = self.of(x.a), self.of(x.b)
    if a.is_nothing() or b.is_nothing():
        return NOTHING
    if not b.is_single_point() or x.dtype.is_floating:
        return EVERYTHING
    divisor = b.min_value
    if op.is_zero(divisor):
        return EVERYTHING
    if a.is_single_point():
        value = divide(a.min_value, divisor)
        return self.made(value, value)

    def part(end: PrimExpr, turned: bool) -> PrimExpr:
        if end is POS_INF or end is NEG_INF:
            return end if not turned else (NEG_INF if end is POS_INF else POS_INF)
        return divide(end, divisor)

    if self.non_negative(divisor):
        return self.made(part(a.min_value, False), part(a.max_value, False))
    if self.non_positive(divisor):
        return self.made(part(a.max_value, True), part(a.min_value, True))
    if not (_is_finite(a.min_value) and _is_finite(a.max_value)):
        return EVERYTHING
    first, last = divide(a.min_value, divisor), divide(a.max_value, divisor)
    return _either_way(self, divisor, first, last)


def _either_way(
    self: SetEvaluator, factor: PrimExpr, low: PrimExpr, high: PrimExpr
) -> IntervalSet:
    """The ends for a factor of unknown sign; a negative one turns them round."""
    positive = op.greater_equal(factor, op.const(0, factor.dtype))
    return self.made(e.Select(positive, low, high), e.Select(positive, high, low))


def _remainder(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, (e.FloorMod, e.Mod))
    floor = isinstance(x, e.FloorMod)
    a, b = self.of(x.a), self.of(x.b)
    if a.is_nothing() or b.is_nothing():
        return NOTHING
    if not b.is_single_point() or op.is_zero(b.min_value):
        return EVERYTHING
    divisor = b.min_value
    remainder = op.floormod if floor else op.truncmod
    if a.is_single_point():
        value = remainder(a.min_value, divisor)
        return self.made(value, value)
    if not self.non_negative(divisor):
        if floor and isinstance(divisor, e.IntImm):
            return self.made(op.const(divisor.value + 1, x.dtype), op.const(0, x.dtype))
        # whichever sign the divisor has, the remainder is nearer to zero than it
        zero = op.const(0, divisor.dtype)
        size = e.Select(op.greater_equal(divisor, zero), divisor, op.subtract(zero, divisor))
        most = op.subtract(size, op.const(1, divisor.dtype))
        return self.made(op.subtract(zero, most), most)
    if a.has_lower_bound() and a.has_upper_bound() and (floor or self.non_negative(a.min_value)):
        first = op.floordiv(a.min_value, divisor)
        last = op.floordiv(a.max_value, divisor)
        if self.analyzer.can_prove_equal(first, last):
            return self.made(remainder(a.min_value, divisor), remainder(a.max_value, divisor))
    top = op.subtract(divisor, 1)
    zero = op.const(0, x.dtype)
    if floor or self_non_negative(self, a):
        literal = isinstance(divisor, e.IntImm)
        if floor and isinstance(divisor, e.IntImm):  # x * 8 + 3 leaves 11 of 16 at most
            coeff, base = self.analyzer.residue(x.a)
            step = gcd(coeff, divisor.value)
            top = op.const(divisor.value - step + base % step, x.dtype)
        if literal and self_non_negative(self, a) and a.has_upper_bound():
            top = op.min_of(top, a.max_value) if isinstance(a.max_value, e.IntImm) else top
        return self.made(zero, top)
    return self.made(op.subtract(zero, top), top)


def _minimum(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Min)
    a, b = self.of(x.a), self.of(x.b)
    if a.is_single_point() and b.is_single_point():
        return IntervalSet(x, x) if not self.depends(x) else _extremum(self, x, a, b)
    return self.made(min_end(a.min_value, b.min_value), min_end(a.max_value, b.max_value))


def _extremum(
    self: SetEvaluator, x: e.Min | e.Max, a: IntervalSet, b: IntervalSet
) -> IntervalSet:
    join = op.min_of if isinstance(x, e.Min) else op.max_of
    value = join(a.min_value, b.min_value)
    return self.made(value, value)


def _maximum(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Max)
    a, b = self.of(x.a), self.of(x.b)
    if a.is_single_point() and b.is_single_point():
        return IntervalSet(x, x) if not self.depends(x) else _extremum(self, x, a, b)
    return self.made(max_end(a.min_value, b.min_value), max_end(a.max_value, b.max_value))


def _truth(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    """A condition: decided where its operands' intervals decide it."""
    if not self.depends(x) and not any(_is_open(self, part) for part in expr_children(x)):
        return IntervalSet(x, x)
    zero, one = e.IntImm(e.BOOL, 0), e.IntImm(e.BOOL, 1)
    if isinstance(x, (e.LT, e.LE, e.GT, e.GE)):
        a, b = (x.a, x.b) if isinstance(x, (e.LT, e.LE)) else (x.b, x.a)
        first, second = self.of(a), self.of(b)
        compare = op.less if isinstance(x, (e.LT, e.GT)) else op.less_equal
        prove = self.analyzer.can_prove
        always = first.has_upper_bound() and second.has_lower_bound()
        if always and prove(compare(first.max_value, second.min_value)):
            return IntervalSet(one, one)
        never = first.has_lower_bound() and second.has_upper_bound()
        if never and prove(op.logical_not(compare(first.min_value, second.max_value))):
            return IntervalSet(zero, zero)
    return IntervalSet(zero, one)


def _is_open(self: SetEvaluator, part: PrimExpr) -> bool:
    """The operand is not one value, even where no variable of a set is in it."""
    return not self.of(part).is_single_point()


def _load(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    """An index or flag that is read is one value; nothing is said of a float."""
    return self._opaque(x) if x.dtype.is_integer or x.dtype.is_bool else EVERYTHING


def _select(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Select)
    return self.union(self.of(x.false_value), self.of(x.true_value))


def _cast(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Cast)
    a = self.of(x.value)
    if a.is_single_point() and not self.depends(x):
        return IntervalSet(x, x)
    counts = x.value.dtype.is_integer or x.value.dtype.is_bool
    if not (x.dtype.is_integer and counts):
        return EVERYTHING
    if not all(_survives(end, x.value.dtype, x.dtype) for end in (a.min_value, a.max_value)):
        return EVERYTHING  # values wrap: the ends are not those of the values between
    low = op.cast(a.min_value, x.dtype) if _is_finite(a.min_value) else a.min_value
    high = op.cast(a.max_value, x.dtype) if _is_finite(a.max_value) else a.max_value
    return self.made(low, high)


def _survives(end: PrimExpr, source: DataType, target: DataType) -> bool:
    """The end is a value of the new type; those of indices are taken to be."""
    least, most = scalar.int_range(target)
    if isinstance(end, e.IntImm):
        return least <= end.value <= most
    lowest, highest = scalar.int_range(source)
    return target in (e.INT32, e.INT64) or (least <= lowest and highest <= most)


def _ramp(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Ramp)
    base = self.of(x.base)
    lanes: PrimExpr = x.lanes
    if not isinstance(lanes, e.IntImm):  # however many the machine has
        if self.non_negative(x.stride):
            return self.made(base.min_value, POS_INF)
        return self.made(NEG_INF, base.max_value) if self.non_positive(x.stride) else EVERYTHING
    reach = op.multiply(x.stride, op.subtract(op.cast(lanes, x.stride.dtype), 1))
    if self.non_negative(x.stride):
        return self.made(base.min_value, _add_ends(base.max_value, reach))
    if self.non_positive(x.stride):
        return self.made(_add_ends(base.min_value, reach), base.max_value)
    return EVERYTHING


def _broadcast(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Broadcast)
    return self.of(x.value)


def _call(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Call)
    name = e.op_name(x)
    if name == "tir.vscale":
        values = vscale_values()
        return EVERYTHING if values is None else IntervalSet(values[0], values[-1])
    if name == "tir.likely":
        return self.of(x.args[0])
    return EVERYTHING  # nothing tells what a call gives, even of a point


def _let(self: SetEvaluator, x: PrimExpr) -> IntervalSet:
    assert isinstance(x, e.Let)
    inner = SetEvaluator({**self._sets, x.var: self.of(x.value)}, self.analyzer)
    return inner.of(x.body)


_RULES: Final[dict[type, Callable[[SetEvaluator, PrimExpr], IntervalSet]]] = {
    e.IntImm: _literal,
    e.Var: _var,
    e.SizeVar: _var,
    e.Add: _sum,
    e.Sub: _sum,
    e.Mul: _mul,
    e.FloorDiv: _quotient,
    e.Div: _quotient,
    e.FloorMod: _remainder,
    e.Mod: _remainder,
    e.Min: _minimum,
    e.Max: _maximum,
    e.EQ: _truth,
    e.NE: _truth,
    e.LT: _truth,
    e.LE: _truth,
    e.GT: _truth,
    e.GE: _truth,
    e.And: _truth,
    e.Or: _truth,
    e.Not: _truth,
    e.Select: _select,
    e.Cast: _cast,
    e.Ramp: _ramp,
    e.Broadcast: _broadcast,
    e.BufferLoad: _load,
    e.Call: _call,
    e.Let: _let,
}


def eval_set(
    expr: Any,
    dom_map: Mapping[e.Var, IntSet | Range],
    analyzer: Analyzer | None = None,
) -> IntervalSet:
    """The interval around the values of an expression, or of a range with such ends."""
    evaluator = SetEvaluator(dom_map, analyzer or Analyzer())
    if not isinstance(expr, Range):
        return evaluator.of(e.as_expr(expr))
    low = evaluator.of(expr.min)
    if op.is_one(expr.extent):
        return low
    if low.is_single_point():
        last = op.subtract(op.add(expr.min, expr.extent), 1)
        return evaluator.made(low.min_value, evaluator.of(last).max_value)
    extent = evaluator.of(op.subtract(expr.extent, 1))
    return evaluator.made(low.min_value, _add_ends(low.max_value, extent.max_value))


def union(sets: Sequence[IntSet], analyzer: Analyzer | None = None) -> IntSet:
    """The smallest interval around all of the sets."""
    evaluator = SetEvaluator({}, analyzer or Analyzer())
    total = NOTHING
    for one in sets:
        total = evaluator.union(total, _interval(one))
    return total


@explained
def union_lower_bound(sets: Sequence[IntSet]) -> IntSet:
    """The interval that the sets surely cover together; they must overlap or touch."""
    analyzer = Analyzer()
    if not sets:
        return NOTHING
    first = _interval(sets[0])
    low, high = first.min_value, first.max_value
    for one in sets[1:]:
        part = _interval(one)
        if _reaches(analyzer, high, part.min_value) and _reaches(analyzer, part.max_value, low):
            low = min_end(low, part.min_value)
            high = max_end(high, part.max_value)
    low = analyzer.simplify(low) if _is_finite(low) else low
    high = analyzer.simplify(high) if _is_finite(high) else high
    return IntervalSet(low, high)


def _reaches(analyzer: Analyzer, end: PrimExpr, start: PrimExpr) -> bool:
    """No integer lies between `end` and `start`."""
    if end is POS_INF or start is NEG_INF:
        return True
    if end is NEG_INF or start is POS_INF:
        return False
    return analyzer.can_prove(op.greater_equal(op.add(end, 1), start))


def intersect(sets: Sequence[IntSet], analyzer: Analyzer | None = None) -> IntSet:
    """What all of the sets have in common."""
    evaluator = SetEvaluator({}, analyzer or Analyzer())
    low: PrimExpr = NEG_INF
    high: PrimExpr = POS_INF
    for one in sets:
        part = _interval(one)
        low, high = max_end(low, part.min_value), min_end(high, part.max_value)
    if _is_finite(low) and _is_finite(high) and evaluator.analyzer.can_prove(op.less(high, low)):
        return NOTHING
    return evaluator.made(low, high)


def _interval(one: IntSet) -> IntervalSet:
    if not isinstance(one, IntervalSet):
        raise CheckError(
            f"union of int sets: a {type(one).__name__} is given; legal: intervals, as eval_set "
            "and IntervalSet make them"
        )
    return one
