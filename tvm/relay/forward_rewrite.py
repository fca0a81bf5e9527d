"""Rewrites that go from operands to results, by rules that hang on the operators.

A rule `f(ref_call, new_args, context)` sees a call with types and what its operands became. It
gives the new value, which may be a `TempExpr` that only the next rules understand, or None: then
operands are made expressions again (`realize`) and the call stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op

from .expr import Call, TempExpr, Tuple, TupleGetItem
from .function import Function
from .traverse import children, post_order, rebuild


def realized(value: RelaxExpr) -> RelaxExpr:
    """What stands for a value in a program."""
    if isinstance(value, TempExpr):
        return realized(value.realize())
    if isinstance(value, Tuple):
        return rebuild(value, [realized(field) for field in value.fields])
    return value


def forward_rewrite(
    func: Function,
    rule_attr: str,
    context: Callable[[Call], Any] | None = None,
    shared: Callable[[RelaxExpr], RelaxExpr] | None = None,
) -> Function:
    """A function after the rules `rule_attr`; `shared` changes values that have several users."""
    uses = Counter(id(part) for expr in post_order(func) for part in children(expr))
    made: dict[int, RelaxExpr] = {}
    known: dict[int, RelaxExpr] = {}  # what temporary values stand for where no rule asks

    def operand(old: RelaxExpr) -> RelaxExpr:
        value = made[id(old)]
        return shared(value) if shared is not None and uses[id(old)] > 1 else value

    for expr in post_order(func):
        parts = [operand(part) for part in children(expr)]
        made[id(expr)] = _rewritten(expr, parts, rule_attr, context, known)
    result = made[id(func)]
    assert isinstance(result, Function), "a function stays one"
    return result


def _rewritten(
    expr: RelaxExpr, parts: list[RelaxExpr], rule_attr: str, context: Any,
    known: dict[int, RelaxExpr],
) -> RelaxExpr:  # fmt: skip
    if isinstance(expr, Tuple):
        return rebuild(expr, parts)  # its fields may be temporary
    if isinstance(expr, TupleGetItem) and isinstance(parts[0], Tuple):
        return parts[0].fields[expr.index]
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        rule = expr.op.get_attr(rule_attr)
        if rule is not None:
            found = rule(expr, parts[1:], None if context is None else context(expr))
            if found is not None:
                return found  # type: ignore[no-any-return]
    return rebuild(expr, [_realized_once(part, known) for part in parts]) if parts else expr


def _realized_once(value: RelaxExpr, known: dict[int, RelaxExpr]) -> RelaxExpr:
    """As `realized`, the same for all who ask."""
    if isinstance(value, Tuple):
        return rebuild(value, [_realized_once(field, known) for field in value.fields])
    if id(value) not in known:
        known[id(value)] = realized(value)
    return known[id(value)]
