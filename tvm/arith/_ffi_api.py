"""Functions that TVM's scripts reach under this name."""

from .domain_touched import domain_touched as DomainTouched
from .narrow_predicate import narrow_predicate_expression as NarrowPredicateExpression

__all__ = ["DomainTouched", "NarrowPredicateExpression"]
