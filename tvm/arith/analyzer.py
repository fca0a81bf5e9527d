"""The analyzer: what is known about integer expressions, and how they are simplified.

It knows ranges and values of variables (`bind`), conditions that hold here (`constraint_scope`),
and answers with bounds, remainders, simpler expressions and proofs.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, IntEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import number, of_type
from tvm.support.checkpoint import checkpoint
from tvm.support.compiled import Given
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir.functor import StmtExprMutator
from tvm.tir.op import arith as op

from .canonical_simplify import CanonicalSimplifier
from .comparison import Comparisons
from .const_int_bound import BoundAnalyzer, ConstIntBound, range_bound
from .constraint import Constraint, enter_constraint
from .interval import NEG_INF, POS_INF, Bound, intersect_bounds
from .knowledge import Knowledge, Remembered, Results
from .modular_set import ModularAnalyzer, ModularSet, Residue
from .rewrite_simplify import RewriteSimplifier, is_index
from .scalable import is_vscale, uses_vscale, vscale_values, warn_without_values
from .simplified_before import question_of

if TYPE_CHECKING:
    from .interval_set import IntSet

MAX_NUMBERS = 200_000


class ProofStrength(IntEnum):
    """How hard `can_prove` tries."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(Flag):
    """Rewritings that are costly or change the form of conditions, and so are off at first."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1 << 0
    ConvertBooleanToAndOfOrs = 1 << 1
    ApplyConstraintsToBooleanBranches = 1 << 2
    ComparisonOfProductAndSum = 1 << 3


class ConstraintScope:
    """A condition holds within the `with` block."""

    def __init__(self, fenter: Any) -> None:
        self._enter: Final = fenter
        self._exit: Any = None

    def __enter__(self) -> None:
        self._exit = self._enter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exit()


class _Open(NamedTuple):
    """A condition that holds, and what was remembered before."""

    entered: Constraint
    changes: int
    outer: tuple[Remembered, Remembered, tuple[Results, Results]]
    canonical: tuple[Results, Results] | None


class RewriteStats:
    """How much work the rewriting did."""

    __slots__ = ("constraints_entered", "max_recursive_depth", "nodes_visited",
                 "num_recursive_rewrites", "rewrites_attempted", "rewrites_performed")  # fmt: skip

    def __init__(self, rewriter: RewriteSimplifier, entered: int) -> None:
        self.nodes_visited: Final = rewriter.visited
        self.constraints_entered: Final = entered
        self.rewrites_attempted: Final = rewriter.attempts
        self.rewrites_performed: Final = rewriter.steps_taken
        self.max_recursive_depth: Final = rewriter.deepest
        # results are made of simplified parts by the rules, each step within the one before
        self.num_recursive_rewrites: Final = rewriter.steps_taken

    def __repr__(self) -> str:
        names = ("nodes_visited", "constraints_entered", "rewrites_attempted",
                 "rewrites_performed", "max_recursive_depth", "num_recursive_rewrites")  # fmt: skip
        counts = ", ".join([f"{name} = {getattr(self, name)}" for name in names])
        return f"RewriteSimplifierStats({counts})"


class Analyzer(Knowledge):
    """Facts about variables, and answers about expressions."""

    __slots__ = ("_canonical", "_changes", "_entered", "_extensions", "_open", "comparisons",
                 "literals", "ranges", "rewriter")  # fmt: skip
    NONE: ClassVar[Extension] = Extension.NoExtensions

    def __init__(self) -> None:
        super().__init__()
        self.bounds = BoundAnalyzer(self)
        self.modular = ModularAnalyzer(self)
        self.comparisons: Final = Comparisons(self)
        self.rewriter: Final = RewriteSimplifier(self)
        self.literals: dict[int, bool] = {}  # conditions known to hold, or not to
        self.ranges: dict[e.Var, Range] = {}  # what `bind` said, for symbolic bounds
        self._canonical: CanonicalSimplifier | None = None
        self._extensions = Extension.NoExtensions
        self._entered = 0
        self._changes = 0
        self._open: list[_Open] = []

    def forget(self) -> None:
        """Drop remembered results; called when what is known changes."""
        self._changes += 1
        self.forget_in_scope()

    def forget_in_scope(self) -> None:
        """Drop remembered results where a condition begins or ends to hold."""
        self.bounds.forget()
        self.modular.forget()
        self.rewriter.forget()
        if self._canonical is not None:
            self._canonical.forget()

    @property
    def canonical(self) -> CanonicalSimplifier:
        """The simplifier of sums."""
        if self._canonical is None:
            self._canonical = CanonicalSimplifier(self)
        return self._canonical

    # --- what is known ---

    def bind(self, var: Given[e.Var], expr: Any, *, allow_override: bool = False) -> None:
        """The variable has this value, or runs over this range."""
        of_type(var, e.Var, "Analyzer.bind: the variable")
        if isinstance(expr, Range):
            if op.is_one(expr.extent):
                self._bind_value(var, expr.min, allow_override)
            else:
                self._bind_range(var, expr, allow_override)
        else:
            self._bind_value(var, e.as_expr(expr), allow_override)
        self.forget()

    def bind_domain(
        self, var: Given[e.Var], dom: Given[Range], *, allow_override: bool = False
    ) -> None:
        """The variable runs over this range; a single value does not replace it."""
        of_type(var, e.Var, "Analyzer.bind_domain: the variable")
        of_type(dom, Range, "Analyzer.bind_domain: the range")
        self._bind_range(var, dom, allow_override)
        self.forget()

    def _bind_range(self, var: e.Var, dom: Range, allow_override: bool) -> None:
        self._set_bound(var, range_bound(self.bounds, dom), allow_override)
        self.ranges[var] = dom
        self.rewriter.values.pop(var, None)
        self.comparisons.bind_range(var, dom)

    def _bind_value(self, var: e.Var, value: PrimExpr, allow_override: bool) -> None:
        if value.dtype is not var.dtype:
            if value.dtype.is_handle:
                raise TypeError(
                    f"Analyzer.bind: the value of {var.name} ({var.dtype}) is {value!r} "
                    f"({value.dtype}); legal: a number"
                )
            value = op.cast(value, var.dtype)
        simple = self.simplify(value)
        if var.dtype.is_integer:
            self._set_bound(var, self.bounds.of(simple), allow_override)
            self.modular.variables[var] = self.modular.of(simple)
            if var.dtype.is_scalar:
                self.ranges[var] = Range.from_min_extent(simple, e.IntImm(var.dtype, 1))
        self.rewriter.values[var] = simple

    def _set_bound(self, var: e.Var, bound: Bound, allow_override: bool) -> None:
        known = self.bounds.variables.get(var)
        if known is not None and known != bound and not allow_override:
            raise CheckError(
                f"Analyzer.bind: {var.name} is bound already to [{known[0]}, {known[1]}], now it "
                f"should be [{bound[0]}, {bound[1]}]; legal: one binding a variable, or "
                "allow_override=True"
            )
        self.bounds.variables[var] = bound

    def update(
        self, var: Given[e.Var], info: Given[ConstIntBound | ModularSet], override: bool = False
    ) -> None:
        """Set what is known of the bounds, or of the remainders, of a variable."""
        of_type(var, e.Var, "Analyzer.update: the variable")
        if isinstance(info, ConstIntBound):
            self._set_bound(var, (info.min_value, info.max_value), override)
        elif isinstance(info, ModularSet):
            self.modular.variables[var] = (info.coeff, info.base)
        else:
            raise TypeError(
                f"Analyzer.update: Do not know how to handle type {type(info)}; "
                "legal: ConstIntBound, ModularSet"
            )
        self.forget()

    def bind_all(self, variables: Mapping[e.Var, Range]) -> None:
        """Bind each variable to its range."""
        ranges: Any = Mapping  # abstract, which a type parameter may not be
        of_type(variables, ranges, "Analyzer.bind_all: the variables")
        for var, dom in variables.items():
            self.bind(var, dom)

    def const_int_bound_is_bound(self, var: Given[e.Var]) -> bool:
        """Bounds of the variable are known."""
        return of_type(var, e.Var, "Analyzer: the variable") in self.bounds.variables

    def constraint_scope(self, constraint: Any) -> ConstraintScope:
        """The condition holds within `with analyzer.constraint_scope(condition):`."""

        def enter() -> Any:
            entered = self.enter(e.as_expr(constraint))
            return lambda: self.leave(entered)

        return ConstraintScope(enter)

    def enter(self, constraint: PrimExpr) -> Constraint:
        """The condition holds from now on, until `leave`."""
        self._entered += 1
        condition = self.rewriter.visit(constraint)
        canonical = None if self._canonical is None else self._canonical.remembered()
        outer = self.bounds.remembered(), self.modular.remembered(), self.rewriter.remembered()
        entered = enter_constraint(self, condition)
        self._open.append(_Open(entered, self._changes, outer, canonical))
        return entered

    def leave(self, entered: Constraint) -> None:
        """Undo `enter`; what was remembered before it holds again, unless more has changed since.

        Conditions stand in conditions, and both sides of each are looked at.
        """
        entered.undo(self)
        scope = self._open.pop()
        if scope.entered is not entered:  # scopes that end in another order
            self._changes += 1
        elif scope.changes == self._changes:
            (bounds, residues, rules), sums = scope.outer, scope.canonical
            self.bounds.remember(bounds)
            self.modular.remember(residues)
            self.rewriter.remember(rules)
            if self._canonical is not None and sums is not None:
                self._canonical.remember(sums)

    # --- questions ---

    def const_int_bound(self, expr: Any) -> ConstIntBound:
        """The constant bounds of an integer expression."""
        low, high = self.bound(e.as_expr(expr))
        return ConstIntBound(low, high)

    def bound(self, expr: PrimExpr) -> Bound:
        """`const_int_bound` as a plain pair."""
        found = self.bounds.of(expr)
        if is_index(expr.dtype) and isinstance(expr, (e.Add, e.Sub)):
            return self.comparisons.narrowed(expr, found)
        return found

    def modular_set(self, expr: Any) -> ModularSet:
        """The remainders of an integer expression; casts around it are taken to lose nothing."""
        value = e.as_expr(expr)
        while isinstance(value, e.Cast):
            value = value.value
        coeff, base = self.modular.of(value)
        return ModularSet(coeff, base)

    def residue(self, expr: PrimExpr) -> Residue:
        """`modular_set` as a plain pair."""
        return self.modular.of(expr)

    def simplify(self, expr: Any, steps: Given[int] = 2) -> PrimExpr:
        """The expression simplified: as a sum, then alternately by rules and as a sum."""
        result = e.as_expr(expr)
        of_type(steps, int, "Analyzer.simplify: the number of steps")
        asked = question_of(self, result, "simplify") if steps == 2 else None
        known = asked.answer() if asked is not None else None
        if known is not None:
            return known
        if steps > 0 and not isinstance(result, e.IntImm):
            # sums come first: rules may take apart what terms have in common
            result = self.canonical.visit(result)
        result = self._alternately(result, steps)
        if asked is not None:
            asked.note(result)
        return result

    def knows_variables_only(self) -> bool:
        """All that is known is said of single variables, and the rules are the usual ones."""
        comparisons, rewriter = self.comparisons, self.rewriter
        return not (
            self.literals or self.bounds.facts or self.modular.facts or comparisons.has_facts
            or comparisons.symbolic or comparisons.products or rewriter.options or rewriter.maximum
        )  # fmt: skip

    def symbolic_range(self, var: Given[e.Var]) -> Range | None:
        """The range that a variable runs over, where its ends are no constants."""
        return self.ranges[var] if self.comparisons.is_bound(var) else None

    def _alternately(self, result: PrimExpr, steps: int = 2) -> PrimExpr:
        checkpoint("arithmetic")  # what takes long in a pass is made of this
        if len(self.numbers) > MAX_NUMBERS and self._is_free_of_facts():
            self.numbers.clear()
            self.forget()
        for step in range(steps):
            if isinstance(result, e.IntImm):
                break
            before = result
            if step % 2 == 0:
                result = self.rewriter.visit(result)
            else:
                result = self.canonical.visit(result)
            if step and result is before:
                break
        return result

    def _is_free_of_facts(self) -> bool:
        """No fact refers to an expression by its number."""
        noted = self.literals or self.bounds.facts or self.modular.facts
        return not noted and self.comparisons.is_empty

    def rewrite_simplify(self, expr: Any) -> PrimExpr:
        """The expression simplified by rules."""
        return self.rewriter.visit(e.as_expr(expr))

    def canonical_simplify(self, expr: Any) -> PrimExpr:
        """The expression with like terms of its sums gathered."""
        return self.canonical.visit(e.as_expr(expr))

    @property
    def rewrite_simplify_stats(self) -> RewriteStats:
        """How much work the rewriting did."""
        return RewriteStats(self.rewriter, self._entered)

    def reset_rewrite_simplify_stats(self) -> None:
        """Count from zero."""
        rewriter = self.rewriter
        rewriter.steps_taken = rewriter.attempts = rewriter.visited = rewriter.deepest = 0
        self._entered = 0

    def set_maximum_rewrite_steps(self, maximum: Given[int]) -> None:
        """More steps than this are a TVMError; zero is no limit."""
        self.rewriter.maximum = maximum

    def can_prove(
        self, expr: Any, strength: Given[ProofStrength | int] = ProofStrength.DEFAULT
    ) -> bool:
        """The condition holds for all values that the variables may have."""
        condition = e.as_expr(expr)
        of_type(strength, int, "Analyzer.can_prove: the strength")
        if isinstance(condition, e.IntImm):
            return condition.value != 0
        simple = self._proved(condition)
        if isinstance(simple, e.IntImm):
            return simple.value != 0
        if strength >= ProofStrength.SYMBOLIC_BOUND and self._prove_with_ranges(simple):
            return True
        return uses_vscale(simple) and self._prove_for_each_vscale(simple)

    def _proved(self, condition: PrimExpr) -> PrimExpr:
        """A condition simplified as it stands."""
        asked = question_of(self, condition, "prove")
        known = asked.answer() if asked is not None else None
        if known is None:
            known = self.simplify(condition)
            if not (isinstance(known, e.IntImm) or self.rewriter.proving):
                known = self._by_further_rules(condition, known)
            if asked is not None:
                asked.note(known)
        return known

    def _by_further_rules(self, condition: PrimExpr, known: PrimExpr) -> PrimExpr:
        """True or false by the rules that only proofs use; what is known already where not."""
        canonical = self.canonical
        self.rewriter.change_mode()
        canonical.change_mode()
        result = self._alternately(condition)
        self.rewriter.change_mode()
        canonical.change_mode()
        return result if isinstance(result, e.IntImm) else known

    def _prove_for_each_vscale(self, condition: PrimExpr) -> bool:
        """The condition holds for each value that vscale has on the current target."""
        values = vscale_values()
        if values is None:
            target = Target.current()
            assert target is not None, "without a target the values are known"
            warn_without_values(target)
            return False
        replaced = [_ScaleMutator(value).visit_expr(condition) for value in values]
        return all(self.can_prove(one) for one in replaced)

    def _prove_with_ranges(self, condition: PrimExpr) -> bool:
        """Prove a simplified condition, the symbolic ranges of variables being facts too."""
        if not self.comparisons.symbolic:
            self.comparisons.symbolic = True
            self.forget()
            simple = self._alternately(condition)
            self.comparisons.symbolic = False
            self.forget()
            if isinstance(simple, e.IntImm):
                return simple.value != 0
        return prove_by_symbolic_bounds(self, condition)

    def can_prove_equal(self, lhs: Any, rhs: Any) -> bool:
        """Both have the same value."""
        a, b = e.as_expr(lhs), e.as_expr(rhs)
        if isinstance(a, e.IntImm) and isinstance(b, e.IntImm):
            return a.value == b.value
        if a.dtype.is_handle or b.dtype.is_handle:
            return a is b
        if a is b and a.dtype.is_integer:
            return True
        if not (a.dtype.is_integer and b.dtype.is_integer):
            return self.can_prove(op.equal(a, b))
        return self.can_prove(op.equal(op.subtract(a, b), 0)) or self.can_prove(op.equal(a, b))

    def can_prove_greater_equal(self, expr: Any, lower_bound: Given[int]) -> bool:
        """The value is never less than the bound."""
        value = e.as_expr(expr)
        bound = number(int, lower_bound, "Analyzer.can_prove_greater_equal: the bound")
        if isinstance(value, e.IntImm):
            return value.value >= bound
        if self.bounds.of(value)[0] >= bound:
            return True
        return self.bounds.of(self.simplify(value))[0] >= bound

    def can_prove_less(self, expr: Any, upper_bound: Given[int]) -> bool:
        """The value is always below the bound."""
        value = e.as_expr(expr)
        bound = number(int, upper_bound, "Analyzer.can_prove_less: the bound")
        if isinstance(value, e.IntImm):
            return value.value < bound
        if self.bounds.of(value)[1] < bound:
            return True
        return self.bounds.of(self.simplify(value))[1] < bound

    def can_prove_less_equal_than_symbolic_shape_value(self, lhs: Any, shape: Any) -> bool:
        """lhs <= shape, where the shape is at least one as shapes of real tensors are."""
        if self.can_prove(op.less_equal(lhs, shape), ProofStrength.SYMBOLIC_BOUND):
            return True
        least = e.as_expr(lhs)
        coeff, base = self.residue(e.as_expr(shape))
        return isinstance(least, e.IntImm) and base == 0 and least.value == coeff

    def int_set(self, expr: Any, dom_map: Given[Mapping[e.Var, IntSet]] | None = None) -> IntSet:
        """The set of values of `expr` when the variables of `dom_map` run over their sets."""
        from .interval_set import IntervalSet, eval_set  # int sets are built on the analyzer

        if dom_map is None:
            sets: dict[e.Var, IntSet] = {
                var: IntervalSet.of_range(dom) for var, dom in self.ranges.items()
            }
            return eval_set(e.as_expr(expr), sets, self)
        domains: Any = Mapping  # abstract, which a type parameter may not be
        of_type(dom_map, domains, "Analyzer.int_set: the domains")
        return eval_set(e.as_expr(expr), dom_map, self)

    @property
    def enabled_extensions(self) -> Extension:
        """The extensions in use."""
        return self._extensions

    @enabled_extensions.setter
    def enabled_extensions(self, flags: Given[int | Extension]) -> None:
        self._extensions = Extension(flags)
        self.rewriter.options = self._extensions.value
        transitive = Extension.TransitivelyProveInequalities
        self.comparisons.symbolic = bool(self._extensions & transitive)
        products = Extension.ComparisonOfProductAndSum
        self.comparisons.products = bool(self._extensions & products)
        self.forget()


class _ScaleMutator(StmtExprMutator):
    """Replaces vscale by one value."""

    def __init__(self, value: int) -> None:
        super().__init__()
        self._value = value

    def visit_call_(self, op: e.Call) -> PrimExpr:
        return e.IntImm(op.dtype, self._value) if is_vscale(op) else super().visit_call_(op)


def prove_by_symbolic_bounds(analyzer: Analyzer, condition: PrimExpr) -> bool:
    """Prove a comparison by replacing variables by the ends of their symbolic ranges."""
    if isinstance(condition, e.And):
        return prove_by_symbolic_bounds(analyzer, condition.a) and prove_by_symbolic_bounds(
            analyzer, condition.b
        )
    if isinstance(condition, e.LT):
        gap = op.subtract(op.subtract(condition.b, condition.a), 1)
    elif isinstance(condition, e.LE):
        gap = op.subtract(condition.b, condition.a)
    else:
        return False
    if not gap.dtype.is_int or not gap.dtype.is_scalar:
        return False
    from .interval_set import IntervalSet  # int sets are built on the analyzer

    low = analyzer.int_set(analyzer.simplify(gap))
    if not isinstance(low, IntervalSet) or not low.has_lower_bound():
        return False
    return analyzer.can_prove(op.greater_equal(analyzer.simplify(low.min_value), 0))


def narrowed(bound: Bound, other: Bound) -> Bound:
    """Both bounds hold."""
    return intersect_bounds(bound, other)


def simplify(expr: PrimExpr) -> PrimExpr:
    """The expression simplified, with nothing known about its variables."""
    return Analyzer().simplify(expr)


op.SIMPLIFIERS.register("analyzer", simplify)

__all__ = [
    "NEG_INF", "POS_INF", "Analyzer", "ConstIntBound", "ConstraintScope", "Extension",
    "ModularSet", "ProofStrength",
]  # fmt: skip
