"""Functions that TVM's scripts reach under this name."""

from .domain_touched import domain_touched as DomainTouched
from .int_solver import solve_inequalities_as_condition as SolveInequalitiesAsCondition
from .narrow_predicate import narrow_predicate_expression as NarrowPredicateExpression

__all__ = ["DomainTouched", "NarrowPredicateExpression", "SolveInequalitiesAsCondition"]
