"""Simplification bottom-up: operands first, then the rules for the node that joins them.

The tables in `rules/` hold the algebra; here stands what needs more than a pattern: folding,
comparisons decided by bounds, conditions that hold in one branch only.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Final

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr
from tvm.ir.op import Op
from tvm.ir.span import Span
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import scalar
from tvm.tir.functor import StmtExprMutator, expr_children
from tvm.tir.op import arith as op

from .comparison import Order
from .conjunctive_form import as_and_of_ors
from .deep_equal import PAIRS, deep_equal
from .interval import NEG_INF, POS_INF
from .knowledge import MAX_DEPTH, MAX_KEPT, Results
from .linear import multiple_of
from .pattern_rule import (
    FALSE,
    FIRST_CONSTANT,
    SLOTS,
    TRUE,
    Builder,
    Env,
    LiteralOverflow,
    Rule,
    RuleTable,
    truth,
)
from .ramp_division import divided_ramp
from .reduction import reduced
from .rules import add, and_, div, eq, floordiv, floormod, lt, max, min, mod, mul, or_, sub, vector
from .scalable import has_vscale_of_target

if TYPE_CHECKING:
    from .analyzer import Analyzer

BRANCH_FACTS: Final = 4  # Extension.ApplyConstraintsToBooleanBranches
AND_OF_ORS: Final = 2  # Extension.ConvertBooleanToAndOfOrs
INT32: Final = e.INT32
INT64: Final = e.INT64
_FRESH: Final[Env] = [None] * SLOTS
Visit = Callable[[PrimExpr], PrimExpr]
SCALAR_TABLES: Final[dict[type, RuleTable]] = {
    e.Add: add.RULES,
    e.Sub: sub.RULES,
    e.Mul: mul.RULES,
    e.Div: div.RULES,
    e.Mod: mod.RULES,
    e.FloorDiv: floordiv.RULES,
    e.FloorMod: floormod.RULES,
    e.Min: min.RULES,
    e.Max: max.RULES,
    e.EQ: eq.RULES,
    e.LT: lt.RULES,
    e.And: and_.RULES,
    e.Or: or_.RULES,
}
_NAMES: Final[dict[type, str]] = {
    e.Add: "add", e.Sub: "sub", e.Mul: "mul", e.Div: "div", e.Mod: "mod",
    e.FloorDiv: "floordiv", e.FloorMod: "floormod", e.Min: "min", e.Max: "max", e.EQ: "eq",
    e.NE: "ne", e.LT: "lt", e.LE: "le", e.GT: "gt", e.GE: "ge",
}  # fmt: skip
_COMPARISONS: Final[frozenset[type]] = frozenset((e.EQ, e.NE, e.LT, e.LE, e.GT, e.GE))
_ORDERS: Final[frozenset[type]] = frozenset((e.LT, e.LE, e.GT, e.GE))
_ORDERED: Final[frozenset[type]] = frozenset((e.LT, e.Min, e.Max))
# not (a < b) is b <= a: the operands are turned
_OPPOSITES: Final[dict[type, type]] = {e.LT: e.LE, e.LE: e.LT, e.GT: e.GE, e.GE: e.GT}
_DIVISIONS: Final[frozenset[type]] = frozenset((e.Div, e.Mod, e.FloorDiv, e.FloorMod))


def is_index(dtype: DataType) -> bool:
    """The types whose arithmetic is taken not to overflow."""
    return dtype is INT32 or dtype is INT64


class RewriteSimplifier(Builder):
    """Applies the rule tables under the facts that the analyzer holds."""

    __slots__ = ("_depth", "_generic", "_known", "_span", "analyzer", "attempts", "deepest",
                 "in_form", "keeps_nan", "maximum", "options", "proving", "steps_taken",
                 "values", "visited", "_aside")  # fmt: skip

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__(analyzer.bounds)
        self.analyzer: Final = analyzer
        self.values: dict[PrimExpr, PrimExpr] = {}  # variables that stand for an expression
        self.steps_taken = 0
        self.attempts = 0  # rules that were tried
        self.visited = 0  # nodes that were not known yet
        self.deepest = 0
        self.maximum = 0  # steps after which an error is raised; zero for none
        self.options = 0  # the bits of the analyzer's extensions
        # For programs that run: a float that is taken from itself, or compared, may be NaN.
        self.keeps_nan = False
        self.in_form = False  # within a condition that is brought into conjunctive form
        self.proving = False  # the rules for proofs are used too
        self._known: Results = {}
        self._aside: Results = {}  # known in the other mode
        self._depth = 0
        self._span: Span | None = None
        self._generic: Final = _Children(self)

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
        """Begin to use the rules for proofs, or end it."""
        self.proving = not self.proving
        self._known, self._aside = self._aside, self._known

    # --- walking ---

    def visit(self, expr: PrimExpr) -> PrimExpr:
        """`expr` simplified."""
        kind = type(expr)
        if kind is e.IntImm:
            return expr
        if kind is e.Var or kind is e.SizeVar:
            if self.values:
                return self.values.get(expr, expr)
            return self.decided(expr) if expr.dtype is e.BOOL else expr
        found = self._known.get(id(expr))
        if found is not None:
            return found[1]
        if self._depth >= MAX_DEPTH:
            self._visit_deep(expr)
        self.visited += 1
        self._depth += 1
        result = self._simplified(expr, kind)
        self._depth -= 1
        if len(self._known) > MAX_KEPT:
            self._known = {}
        self._known[id(expr)] = (expr, result)
        return result

    def _visit_deep(self, expr: PrimExpr) -> None:
        """Simplify what lies below, children first, so that no recursion is needed."""
        order: list[PrimExpr] = []
        stack = [expr]
        while stack:
            node = stack.pop()
            if type(node) in PAIRS and id(node) not in self._known:
                order.append(node)
                stack.extend(expr_children(node))
        for node in reversed(order[1:]):
            if id(node) not in self._known:
                self._known[id(node)] = (node, self._simplified(node, type(node)))

    @property
    def is_deep(self) -> bool:
        """So far down that facts of conditions are no longer passed on."""
        return self._depth >= MAX_DEPTH

    def _simplified(self, expr: PrimExpr, kind: type) -> PrimExpr:
        special = _VISITS.get(kind)
        if special is not None:
            return special(self, expr)
        if kind not in _NAMES:
            return self.generic(expr)
        a, b = self.visit(expr.a), self.visit(expr.b)  # type: ignore[attr-defined]
        outer, self._span = self._span, expr.span
        result = self.make(kind, a, b)
        self._span = outer
        if kind in _COMPARISONS and type(result) in _COMPARISONS and is_index(a.dtype):
            decided = _DECISIONS[kind](self.analyzer.comparisons.by_range(a, b))
            result = result if not decided else truth(decided > 0)
        if type(result) is kind and result is not expr:
            same = result.a is expr.a and result.b is expr.b  # type: ignore[attr-defined]
            result = expr if same else result
        return result if kind not in _COMPARISONS else self.decided(result)

    def generic(self, expr: PrimExpr) -> PrimExpr:
        """`expr` with its operands simplified."""
        result = expr.accept(self._generic)
        assert isinstance(result, PrimExpr)
        return result

    def decided(self, condition: PrimExpr) -> PrimExpr:
        """True or false where the condition, or its opposite, is among the known facts."""
        known = self.analyzer.literals
        if known and type(condition) is not e.IntImm:
            value = known.get(self.analyzer.numbers.number(condition))
            if value is not None:
                return truth(value)
        return condition

    # --- making simplified nodes of simplified operands ---

    def make(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """The simplified node `kind` over two simplified operands."""
        dtype = a.dtype
        if kind is e.And or kind is e.Or:
            return self._logic(kind, a, b)
        if isinstance(a, e.ConstExpr) and isinstance(b, e.ConstExpr):
            folded = _fold(kind, a, b)
            if folded is not None:
                return folded
        if dtype is INT32 or dtype is INT64:
            return _MAKERS[kind](self, a, b)
        if dtype.lanes > 1 or dtype.is_scalable:
            return self._vector(kind, a, b)
        return self._other(kind, a, b)

    def apply(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        """The result of the first rule that fits, None if there is none."""
        further = self.proving or (self.in_form and bool(self.options & BRANCH_FACTS))
        if kind in _ORDERED and not further:
            further = has_vscale_of_target(a, b)
        for one in SCALAR_TABLES[kind].candidates(a, b, further):
            result = self._try(one, a, b)
            if result is not None:
                return result
        return None

    def rewritten(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """The result of the first rule that fits, else the plain node."""
        found = self.apply(kind, a, b)
        return self.node(kind, a, b) if found is None else found

    def _try(self, one: Rule, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        self.attempts += 1
        env = _FRESH.copy()
        if not (one.a.match(a, env) and one.b.match(b, env)):
            return None
        try:
            if one.guard is not None and not one.guard.number(env, self):
                return None
            self._count_step()
            # conditions joined by and, or: literals are of the type of what is compared
            literal = env[FIRST_CONSTANT]
            dtype = a.dtype.element_of() if literal is None else literal.dtype
            return one.rhs.build(env, self, dtype)
        except LiteralOverflow:
            return None

    def _count_step(self) -> None:
        self.steps_taken += 1
        if self._depth > self.deepest:
            self.deepest = self._depth
        if 0 < self.maximum < self.steps_taken:
            raise CheckError(
                f"RewriteSimplifier: more than {self.maximum} rewriting steps; legal: a higher "
                "maximum, or 0 for none"
            )

    def dtype_of(self, env: Env) -> DataType:
        """The type of the literals in a guard: that of the expressions matched."""
        literal = env[FIRST_CONSTANT]
        if literal is not None:
            return literal.dtype
        for expr in env:
            if expr is not None:
                return expr.dtype
        raise AssertionError("a guard is looked at only after a match")

    def node(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """The plain node, with the span of what it replaces."""
        made = kind(a, b, self._span)
        assert isinstance(made, PrimExpr)
        return made

    def _add(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if type(a) is e.IntImm:
            if a.value == 0:
                return b
            if self.proving:  # a literal stays where it was written, proofs look to the right
                a, b = b, a
        if type(b) is e.IntImm and b.value == 0:
            return a
        return self.rewritten(e.Add, a, b)

    def _sub(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if type(b) is e.IntImm and b.value == 0:
            return a
        return self.rewritten(e.Sub, a, b)

    def _mul(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if type(a) is e.IntImm:
            a, b = b, a
        if type(b) is e.IntImm:
            if b.value == 0:
                return b
            if b.value == 1:
                return a
        return self.rewritten(e.Mul, a, b)

    def _divide(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Any of the four divisions; floor and truncation differ in what rounding does."""
        literal = b.value if type(b) is e.IntImm else None
        if literal == 0:
            return self.node(kind, a, b)
        quotient = kind is e.FloorDiv or kind is e.Div
        if literal == 1:
            return a if quotient else e.IntImm(a.dtype, 0, self._span)
        if type(a) is e.IntImm and a.value == 0:
            return a
        found = self.apply(kind, a, b)
        if found is not None:
            return found
        if literal is not None:
            known = self._by_bounds(kind, a, literal)
            if known is not None:
                return known
        elif not self.proving:
            pass
        elif self._smaller(a, b):
            return e.IntImm(a.dtype, 0, self._span) if quotient else a
        else:
            times = multiple_of(a, b, self.analyzer)
            if times is not None:
                return e.IntImm(a.dtype, times if quotient else 0, self._span)
        return self.node(kind, a, b)

    def _by_bounds(self, kind: type, a: PrimExpr, divisor: int) -> PrimExpr | None:
        """A quotient that is the same for all values of the dividend, or a known remainder."""
        low, high = self.analyzer.bounds.of(a)
        if not self.proving:
            if kind is e.FloorMod and low >= 0 and high < divisor:
                return a
        elif low != NEG_INF and high != POS_INF:
            floor = kind is e.FloorDiv or kind is e.FloorMod
            first = low // divisor if floor else scalar.trunc_div(low, divisor)
            last = high // divisor if floor else scalar.trunc_div(high, divisor)
            if first == last and (kind is e.FloorDiv or kind is e.Div):
                return e.IntImm(a.dtype, first, self._span)
            if first == last:
                return a if first == 0 else self._sub_literal(a, first * divisor)
        signless = kind is e.Mod and low >= 0 and divisor > 0
        if (kind is e.FloorMod and (divisor > 0 or self.proving)) or (signless and self.proving):
            coeff, base = self.analyzer.modular.of(a)
            if coeff % divisor == 0:
                return e.IntImm(a.dtype, base % divisor, self._span)
        return None

    def _sub_literal(self, a: PrimExpr, value: int) -> PrimExpr | None:
        low, high = scalar.int_range(a.dtype)
        return self._add(a, e.IntImm(a.dtype, -value)) if low <= -value <= high else None

    def _smaller(self, a: PrimExpr, b: PrimExpr) -> bool:
        """0 <= a < b, so the quotient is 0 and the remainder is a."""
        bounds = self.analyzer.bounds
        if bounds.of(b)[1] <= 0 or bounds.of(a)[0] < 0:
            return False
        return self.compare(a, b) is Order.LESS

    def _floor_div(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self._divide(e.FloorDiv, a, b)

    def _floor_mod(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self._divide(e.FloorMod, a, b)

    def _div(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self._divide(e.Div, a, b)

    def _mod(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self._divide(e.Mod, a, b)

    def _min(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if type(a) is e.Max and type(b) is e.Min:
            found = self.apply(e.Min, a, b)
            if found is not None:
                return found
        return self._extremum(e.Min, a, b)

    def _max(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if type(a) is e.Min and type(b) is e.Max:  # the operands keep the order of the first
            found = self.apply(e.Max, a, b)
            if found is not None:
                return found
        return self._extremum(e.Max, a, b)

    def _extremum(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """One of both where bounds decide; what else is known counts in proofs only."""
        if self.proving or has_vscale_of_target(a, b):
            order = self.compare(a, b)
            at_most, at_least = order.at_most, order.at_least
        else:
            first, second = self.analyzer.bounds.of(a), self.analyzer.bounds.of(b)
            at_most, at_least = first[1] <= second[0], second[1] <= first[0]
        if at_most or at_least:
            return a if at_most is (kind is e.Min) else b
        return self.rewritten(kind, a, b)

    def compare(self, a: PrimExpr, b: PrimExpr) -> Order:
        """What is known about how `a` stands to `b`."""
        return self.analyzer.comparisons.order(a, b)

    def compare_whole(self, a: PrimExpr, b: PrimExpr) -> Order:
        """What is known about how `a` stands to `b`, by their difference as one expression too.

        x and x // 4 * 4 + 4 differ by x % 4 - 4, whose bounds decide; as a sum they are unrelated.
        """
        order = self.compare(a, b)
        if type(b) is e.IntImm or type(a) is e.IntImm or not (
            order is Order.UNKNOWN and (_has_quotient(a) or _has_quotient(b))
        ):
            return order
        return self.compare(self.make(e.Sub, a, b), e.IntImm(a.dtype, 0))

    def _eq(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        if type(a) is e.IntImm:
            a, b = b, a
        order = self.compare_whole(a, b)
        if order is Order.EQUAL:
            return TRUE
        if order.differs:
            return FALSE
        return self.decided(self.rewritten(e.EQ, a, b))

    def _ne(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self.make_not(self.make(e.EQ, a, b))

    def _lt(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        order = self.compare_whole(a, b)
        if order is Order.LESS:
            return TRUE
        if order.at_least:
            return FALSE
        found = self.apply(e.LT, a, b)
        if found is None:
            found = self._less_by_factor(a, b)
        return self.decided(self.node(e.LT, a, b) if found is None else found)

    def _less_by_factor(self, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
        """x * 4 + 2 < y * 2   ->   x * 2 + 1 < y: both sides are multiples of a number."""
        for one, other in ((a, b), (b, a)):
            # of a lone term a rule would make x // 4 < 2 into x < 8 again
            if isinstance(one, e.IntImm) and not isinstance(other, (e.Add, e.Sub)):
                return None
        residues = self.analyzer.modular
        factor = gcd(*residues.of(a), *residues.of(b))
        if factor < 2:
            return None
        literal = e.IntImm(a.dtype, factor)
        left, right = (self.make(e.FloorDiv, side, literal) for side in (a, b))
        if type(left) is e.FloorDiv and type(right) is e.IntImm:
            return None  # nor of a sum that is a lone term then
        if type(right) is e.FloorDiv and type(left) is e.IntImm:
            return None
        return self.make(e.LT, left, right)

    def _le(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self.make_not(self.make(e.LT, b, a))

    def _gt(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self.make(e.LT, b, a)

    def _ge(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return self.make(e.LE, b, a)

    def _less_equal_node(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """a <= b that no rule decides; x + 1 <= y and x <= y - 1 are x < y."""
        if type(a) is e.Add and type(a.b) is e.IntImm and a.b.value == 1:
            return self.decided(self.node(e.LT, a.a, b))
        if type(b) is e.Add and type(b.b) is e.IntImm and b.b.value == -1:
            return self.decided(self.node(e.LT, a, b.a))
        order = self.order_with_facts(a, b)
        if order is Order.AT_LEAST:
            return self.make(e.EQ, a, b)
        if order is Order.DIFFERS:
            return self.make(e.LT, a, b)
        if type(a) is e.FloorMod and type(b) is e.IntImm and b.value == 0 and self._positive(a.b):
            return self.make(e.EQ, a, b)
        return self.decided(self.node(e.LE, a, b))

    def _differs(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """a != b that no rule decides; at the end of a range it is a side."""
        order = self.compare(a, b)
        if order is Order.AT_MOST:
            return self.make(e.LT, a, b)
        if order is Order.AT_LEAST:
            return self.make(e.LT, b, a)
        return self.decided(self.node(e.NE, a, b))

    def order_with_facts(self, a: PrimExpr, b: PrimExpr) -> Order:
        """What is known about how `a` stands to `b`, the fact that they differ included."""
        order = self.compare(a, b)
        if order is Order.UNKNOWN and self.analyzer.literals:
            same = self.analyzer.literals.get(self.analyzer.numbers.number(e.EQ(a, b)))
            if same is False:
                return Order.DIFFERS
        return order

    def _positive(self, expr: PrimExpr) -> bool:
        return self.analyzer.bounds.of(expr)[0] > 0

    def make_not(self, a: PrimExpr) -> PrimExpr:
        """The simplified opposite of a simplified condition."""
        kind = type(a)
        if kind is e.IntImm:
            return truth(not a.value)  # type: ignore[attr-defined]
        if kind is e.Not:
            return a.a  # type: ignore[attr-defined,no-any-return]
        if kind is e.And or kind is e.Or:
            first, second = self.make_not(a.a), self.make_not(a.b)  # type: ignore[attr-defined]
            return self.make(e.Or if kind is e.And else e.And, first, second)
        if kind is e.Broadcast:
            return e.Broadcast(self.make_not(a.value), a.lanes, self._span)  # type: ignore[attr-defined]
        if kind is e.EQ or kind is e.NE:
            # also right for floats: nothing equals NaN, everything differs from it
            other = e.NE if kind is e.EQ else e.EQ
            if kind is e.EQ and is_index(a.a.dtype):  # type: ignore[attr-defined]
                return self._differs(a.a, a.b)  # type: ignore[attr-defined]
            return self.decided(self.node(other, a.a, a.b))  # type: ignore[attr-defined]
        if kind in _COMPARISONS and a.a.dtype.is_integer:  # type: ignore[attr-defined]
            left, right = a.a, a.b  # type: ignore[attr-defined]
            if kind is e.LT:
                scalar_index = is_index(left.dtype)
                if scalar_index:
                    return self._less_equal_node(right, left)
                return self.node(e.LE, right, left)
            if kind is e.LE:
                return self.make(e.LT, right, left)
        if kind in _ORDERS and a.a.dtype.is_floating and not self.keeps_nan:  # type: ignore[attr-defined]
            return self.decided(self.node(_OPPOSITES[kind], a.b, a.a))  # type: ignore[attr-defined]
        return self.decided(e.Not(a, self._span))

    def make_select(self, condition: PrimExpr, yes: PrimExpr, no: PrimExpr) -> PrimExpr:
        """The simplified choice between two simplified values."""
        if type(condition) is e.IntImm:
            return yes if condition.value else no
        if deep_equal(yes, no):
            return yes
        return e.Select(condition, yes, no, self._span)

    def choice(self, expr: e.Select, visit: Visit) -> PrimExpr:
        """A Select with each value simplified under its condition, by `visit`."""
        condition = visit(expr.condition)
        if type(condition) is e.IntImm:
            return visit(expr.true_value if condition.value else expr.false_value)
        if condition.dtype.is_scalar:
            yes = _speculated(self, condition, expr.true_value, visit)
            no = _speculated(self, self.make_not(condition), expr.false_value, visit)
        else:
            yes, no = visit(expr.true_value), visit(expr.false_value)
        if deep_equal(yes, no):
            return yes
        same = condition is expr.condition and yes is expr.true_value and no is expr.false_value
        return expr if same else e.Select(condition, yes, no, expr.span)

    def special_call(self, expr: e.Call, visit: Visit) -> PrimExpr | None:
        """A call whose operands depend on one another, simplified; None for any other."""
        special = _CALLS.get(expr.op.name) if isinstance(expr.op, Op) else None
        return None if special is None else special(self, expr, visit)

    def make_ramp(self, base: PrimExpr, stride: PrimExpr, lanes: PrimExpr) -> PrimExpr:
        """A ramp, or the broadcast that it is without a step."""
        if type(stride) is e.IntImm and stride.value == 0:
            return e.Broadcast(base, lanes, self._span)
        return e.Ramp(base, stride, lanes, self._span)

    def _logic(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        stop = kind is e.Or  # the truth value that decides alone
        for one, other in ((a, b), (b, a)):
            value = op.literal(one)
            if value is not None and one.dtype is other.dtype:
                return one if bool(value) is stop else other
        if self.keeps_nan and stop and _orders_floats(a) and _orders_floats(b):
            return self.node(kind, a, b)  # neither x < y nor y <= x where one is NaN
        if a.dtype.is_vector:
            return self._vector(kind, a, b)
        return self.decided(self.rewritten(kind, a, b))

    def _vector(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        known = _vector_identity(kind, a, b)
        if known is not None:
            return known
        if kind in _DIVISIONS and a.dtype.is_integer:
            divided = divided_ramp(self, kind, a, b)
            if divided is not None:
                return divided
        table = _VECTOR_TABLES.get(kind)
        if table is not None:
            for one in table.candidates(a, b):
                found = self._try(one, a, b)
                if found is not None:
                    return found
        if kind is e.NE and a.dtype.is_integer:
            return self.make_not(self.make(e.EQ, a, b))
        if kind is e.LE and a.dtype.is_integer:
            return self.make_not(self.make(e.LT, b, a))
        if kind is e.GT or kind is e.GE:
            return self.make(e.LT if kind is e.GT else e.LE, b, a)
        return self.node(kind, a, b)

    def _other(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Types that wrap: only what is exact for every value. Floats: see `_of_floats`."""
        if (kind is e.Min or kind is e.Max) and deep_equal(a, b):
            return a
        if kind is e.GT or kind is e.GE:
            return self.make(e.LT if kind is e.GT else e.LE, b, a)
        if a.dtype is e.BOOL and kind is e.NE:
            for one, other in ((a, b), (b, a)):
                if type(one) is e.IntImm:  # a comparison with a truth value
                    return self.make_not(other) if one.value else other
        known = _vector_identity(kind, a, b)
        if known is not None:
            return known
        may_be_nan = self.keeps_nan and a.dtype.is_floating
        if not may_be_nan and (kind is e.Sub or kind is e.EQ or kind is e.NE) and deep_equal(a, b):
            # of floats too, as if none were infinite or NaN: scripts are compared by this form
            return truth(kind is e.EQ) if kind is not e.Sub else e.make_const(0, a.dtype)
        if not may_be_nan and kind is e.Sub:
            rest = _without_operand(a, b)
            if rest is not None:
                return rest
        if a.dtype.is_integer and (kind in _COMPARISONS or kind is e.Min or kind is e.Max):
            return self._other_order(kind, a, b)
        return self.node(kind, a, b)

    def _other_order(self, kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Comparisons of integers that wrap: decided by the bounds of both sides."""
        first, second = self.analyzer.bounds.of(a), self.analyzer.bounds.of(b)
        same = deep_equal(a, b)
        below = first[1] < second[0]
        above = second[1] < first[0]
        at_most, at_least = same or first[1] <= second[0], same or second[1] <= first[0]
        if kind is e.Min or kind is e.Max:
            if at_most:
                return a if kind is e.Min else b
            if at_least:
                return b if kind is e.Min else a
        elif kind is e.LT and (below or at_least):
            return truth(below)
        elif kind is e.LE and (at_most or above):
            return truth(at_most)
        elif (kind is e.EQ or kind is e.NE) and (same or below or above):
            return truth(same is (kind is e.EQ))
        made = self.node(kind, a, b)
        return self.decided(made) if kind in _COMPARISONS else made


class _Children(StmtExprMutator):
    """Rebuilds a node of a kind that has no algebra of its own, with simplified operands."""

    def __init__(self, simplifier: RewriteSimplifier) -> None:
        super().__init__()
        self._simplifier = simplifier

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return self._simplifier.visit(expr)


_VECTOR_TABLES: Final[dict[type, RuleTable]] = vector.RULES


def _vector_identity(kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """x + 0, x - 0, x * 1, x * 0, x // 1, x % 1, for any number of lanes."""
    if not a.dtype.is_integer:
        return _of_floats(kind, a, b)
    right = op.literal(b)
    if right == 0 and (kind is e.Add or kind is e.Sub):
        return a
    if right == 1 and kind in (e.Mul, e.Div, e.FloorDiv):
        return a
    if right == 1 and kind in (e.Mod, e.FloorMod):
        return e.make_const(0, a.dtype)
    if right == 0 and kind is e.Mul:
        return b
    left = op.literal(a)
    if (left == 0 and kind is e.Add) or (left == 1 and kind is e.Mul):
        return b
    return a if left == 0 and kind is e.Mul else None


def _without_operand(a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """(x + y) - y   ->   x;      x - (x + y)   ->   0 - y"""
    if isinstance(a, e.Add):
        for one, other in ((a.a, a.b), (a.b, a.a)):
            if deep_equal(one, b):
                return other
    if isinstance(b, e.Add):
        for one, other in ((b.a, b.b), (b.b, b.a)):
            if deep_equal(one, a):
                return e.Sub(e.make_const(0, a.dtype), other)
    return None


def _of_floats(kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """x * 1, 1 * x, x / 1, x + 0, 0 + x, x - 0; a product with zero in all of several lanes."""
    if not a.dtype.is_floating:
        return None
    left, right = op.literal(a), op.literal(b)
    if kind is e.Mul or kind is e.Div:
        if right == 1:
            return a
        if kind is e.Mul and left == 1:
            return b
        if kind is e.Mul and isinstance(a, e.Broadcast) and isinstance(b, e.Broadcast):
            return a if left == 0 else b if right == 0 else None
    elif kind is e.Add or kind is e.Sub:
        if right == 0:
            return a
        if kind is e.Add and left == 0:
            return b
    return None


def _has_quotient(expr: PrimExpr) -> bool:
    """A term of the sum is a quotient, or a multiple of one."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, (e.FloorDiv, e.Div)):
            return True
        if isinstance(node, (e.Add, e.Sub, e.Mul)):
            stack += [node.a, node.b]
    return False


_SUMS_AND_PRODUCTS: Final = (e.Add, e.Sub, e.Mul, e.Div)


def _fold(kind: type, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    if isinstance(a, e.StringImm) or isinstance(b, e.StringImm) or a.dtype.is_custom:
        return None
    narrow = a.dtype.is_floating and a.dtype.bits < 32 and kind in _SUMS_AND_PRODUCTS
    if narrow and a.value and b.value:  # type: ignore[attr-defined]
        return None  # like those that operators make: what rounds them is the machine
    value = scalar.binary(_NAMES[kind], a.value, b.value, a.dtype)  # type: ignore[attr-defined]
    if value is None:
        return None
    return truth(bool(value)) if kind in _COMPARISONS else e.make_const(value, a.dtype)


def _sign(yes: bool, no: bool) -> int:
    return yes - no


# 1 where the order says that a comparison holds, -1 where it says that it does not
_DECISIONS: Final[dict[type, Callable[[Order], int]]] = {
    e.LT: lambda order: _sign(order is Order.LESS, order.at_least),
    e.LE: lambda order: _sign(order.at_most, order is Order.GREATER),
    e.GT: lambda order: _sign(order is Order.GREATER, order.at_most),
    e.GE: lambda order: _sign(order.at_least, order is Order.LESS),
    e.EQ: lambda order: _sign(order is Order.EQUAL, order.differs),
    e.NE: lambda order: _sign(order.differs, order is Order.EQUAL),
}
Maker = Callable[[RewriteSimplifier, PrimExpr, PrimExpr], PrimExpr]
_MAKERS: Final[dict[type, Maker]] = {
    e.Add: RewriteSimplifier._add,
    e.Sub: RewriteSimplifier._sub,
    e.Mul: RewriteSimplifier._mul,
    e.Div: RewriteSimplifier._div,
    e.Mod: RewriteSimplifier._mod,
    e.FloorDiv: RewriteSimplifier._floor_div,
    e.FloorMod: RewriteSimplifier._floor_mod,
    e.Min: RewriteSimplifier._min,
    e.Max: RewriteSimplifier._max,
    e.EQ: RewriteSimplifier._eq,
    e.NE: RewriteSimplifier._ne,
    e.LT: RewriteSimplifier._lt,
    e.LE: RewriteSimplifier._le,
    e.GT: RewriteSimplifier._gt,
    e.GE: RewriteSimplifier._ge,
}


def _visit_not(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    assert isinstance(expr, e.Not)
    a = self.visit(expr.a)
    result = self.make_not(a)
    return expr if type(result) is e.Not and result.a is expr.a else self.decided(result)


def _visit_logic(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    assert isinstance(expr, (e.And, e.Or))
    as_form = self.options & AND_OF_ORS and not self.in_form
    if not as_form:
        return _logic_visited(self, expr)
    self.in_form = True
    result = as_and_of_ors(_logic_visited(self, expr), self)
    self.in_form = False
    return expr if deep_equal(result, expr) else result


def _orders_floats(expr: PrimExpr) -> bool:
    return type(expr) in _ORDERS and expr.a.dtype.is_floating  # type: ignore[attr-defined]


def _logic_visited(self: RewriteSimplifier, expr: e.And | e.Or) -> PrimExpr:
    kind = type(expr)
    a = self.visit(expr.a)
    if type(a) is e.IntImm:
        return a if bool(a.value) is (kind is e.Or) else self.visit(expr.b)
    if self.options & BRANCH_FACTS and expr.dtype.is_scalar and not self.is_deep:
        # what the one side says is known while the other is looked at, and the other way round
        b = _under(self, a if kind is e.And else self.make_not(a), expr.b, self.visit)
        if type(b) is not e.IntImm:
            a = _under(self, b if kind is e.And else self.make_not(b), a, self.visit)
    else:
        b = self.visit(expr.b)
    result = self.make(kind, a, b)
    if type(result) is kind and result.a is expr.a and result.b is expr.b:
        return expr
    return self.decided(result)


def _under(self: RewriteSimplifier, fact: PrimExpr, expr: PrimExpr, visit: Visit) -> PrimExpr:
    """`expr` simplified where `fact` is known to hold."""
    if isinstance(expr, (e.ConstExpr, e.Var)) and expr.dtype is not e.BOOL and not self.values:
        return expr
    with self.analyzer.constraint_scope(fact):
        return visit(expr)


def _speculated(
    self: RewriteSimplifier, fact: PrimExpr, expr: PrimExpr, visit: Visit
) -> PrimExpr:
    """`_under` for a value that is computed even where `fact` does not hold: it must not trap."""
    result = _under(self, fact, expr, visit)
    return visit(expr) if result is not expr and may_trap(result) else result


def may_trap(expr: PrimExpr) -> bool:
    """A division by something that might be zero."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if type(node) in _DIVISIONS:
            divisor = node.b  # type: ignore[attr-defined]
            if type(divisor) is not e.IntImm or divisor.value == 0:
                return True
        stack.extend(expr_children(node))
    return False


def _visit_select(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    assert isinstance(expr, e.Select)
    return self.choice(expr, self.visit)


def _visit_if_then_else(self: RewriteSimplifier, expr: e.Call, visit: Visit) -> PrimExpr:
    condition = visit(expr.args[0])
    if type(condition) is e.IntImm:
        return visit(expr.args[1] if condition.value else expr.args[2])
    yes = _under(self, condition, expr.args[1], visit)
    no = _under(self, self.make_not(condition), expr.args[2], visit)
    if self.proving and deep_equal(yes, no):
        return yes
    same = condition is expr.args[0] and yes is expr.args[1] and no is expr.args[2]
    return expr if same else e.Call(expr.dtype, expr.op, (condition, yes, no), expr.span)


def _visit_likely(self: RewriteSimplifier, expr: e.Call, visit: Visit) -> PrimExpr:
    condition = visit(expr.args[0])
    if type(condition) is e.IntImm:
        return condition
    same = condition is expr.args[0]
    return expr if same else e.Call(expr.dtype, expr.op, (condition,), expr.span)


def _visit_call(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    assert isinstance(expr, e.Call)
    chosen = self.special_call(expr, self.visit)
    if chosen is not None:
        return chosen
    return folded_call(self, self.generic(expr))


def folded_call(self: RewriteSimplifier, result: PrimExpr) -> PrimExpr:
    """A call whose simplified operands decide its value as that value."""
    if not isinstance(result, e.Call):
        return result
    name, span = e.op_name(result), result.span
    if name in _BITWISE and name:
        a, b = result.args
        if isinstance(a, e.IntImm) and isinstance(b, e.IntImm):
            value = scalar.binary(name.removeprefix("tir."), a.value, b.value, a.dtype)
            return result if value is None else e.make_const(value, a.dtype, span)
        if name in ("tir.shift_left", "tir.shift_right") and op.is_zero(b):
            return a  # type: ignore[no-any-return]
    if name == "tir.clz":
        low, high = self.analyzer.bounds.of(result)
        if low == high:
            return e.IntImm(result.dtype, low, span)
    if name == "tir.ceil" and isinstance(result.args[0], e.Call):
        low, high = self.analyzer.bounds.of(result)
        if low == high:
            return e.FloatImm(result.dtype, low, span)
    return result


_BITWISE: Final = (
    "tir.bitwise_and", "tir.bitwise_or", "tir.bitwise_xor", "tir.shift_left", "tir.shift_right",
)  # fmt: skip
_CALLS: Final[dict[str, Callable[[RewriteSimplifier, e.Call, Visit], PrimExpr]]] = {
    "tir.if_then_else": _visit_if_then_else,
    "tir.likely": _visit_likely,
}


def _visit_cast(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    assert isinstance(expr, e.Cast)
    value = self.visit(expr.value)
    if value is expr.value and not isinstance(value, (e.ConstExpr, e.Broadcast)):
        return expr
    return op.cast(value, expr.dtype, expr.span)


def _visit_let(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    """A name for a literal or another variable disappears; any other value stays written once."""
    assert isinstance(expr, e.Let)
    value = self.visit(expr.value)
    if isinstance(value, (e.ConstExpr, e.Var)):
        outer = self.values.get(expr.var)
        self.values[expr.var] = value
        self.forget()
        body = self.visit(expr.body)
        if outer is None:
            del self.values[expr.var]
        else:
            self.values[expr.var] = outer
        self.forget()
        return body
    body = self.visit(expr.body)
    same = value is expr.value and body is expr.body
    return expr if same else e.Let(expr.var, value, body, expr.span)


def _visit_ramp(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    result = self.generic(expr)
    if isinstance(result, e.Ramp) and op.is_zero(result.stride):
        return e.Broadcast(result.base, result.lanes, expr.span)
    return result


def _visit_reduce(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    assert isinstance(expr, e.Reduce)
    return reduced(self.analyzer, expr, self.visit)


def _visit_load(self: RewriteSimplifier, expr: PrimExpr) -> PrimExpr:
    return self.generic(expr)


_VISITS: Final[dict[type, Callable[[RewriteSimplifier, PrimExpr], PrimExpr]]] = {
    e.Not: _visit_not,
    e.And: _visit_logic,
    e.Or: _visit_logic,
    e.Select: _visit_select,
    e.Call: _visit_call,
    e.Cast: _visit_cast,
    e.Let: _visit_let,
    e.Ramp: _visit_ramp,
    e.Reduce: _visit_reduce,
    e.BufferLoad: _visit_load,
}
