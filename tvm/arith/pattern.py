"""Patterns in expressions: linear equations, clipping conditions, repeated parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.compiled import mypyc_attr
from tvm.tir import expr as e
from tvm.tir.effects import has_stateful_call
from tvm.tir.functor import expr_children, uses_any, uses_var
from tvm.tir.op import arith as op

from .analyzer import Analyzer
from .constraint import facts_in
from .deep_equal import ExprNumbers


@mypyc_attr(native_class=False)
class _NotLinear(Exception):
    """A variable occurs other than times something free of it."""


Parts = tuple["PrimExpr | None", "PrimExpr | None"]  # (a, b) of a * var + b, None for nothing


def _one_linear(expr: PrimExpr, var: e.Var) -> tuple[PrimExpr, PrimExpr]:
    """(a, b) with expr = a * var + b, where neither holds the variable; b as it is written."""
    known: dict[int, Parts] = {}
    stack = [expr]
    while stack:
        node = stack[-1]
        if id(node) in known:
            stack.pop()
        elif node is var:
            known[id(node)] = op.const(1, var.dtype), None
        elif isinstance(node, (e.Add, e.Sub, e.Mul)):
            missing = [part for part in (node.b, node.a) if id(part) not in known]
            if missing:
                stack += missing
            else:
                known[id(node)] = _joined(node, known[id(node.a)], known[id(node.b)])
        elif not uses_var(node, var):
            known[id(node)] = None, node
        elif isinstance(node, e.Cast) and node.dtype.is_int and node.value.dtype.is_int:
            inner_coeff, inner_base = _one_linear(node.value, var)
            known[id(node)] = op.cast(inner_coeff, node.dtype), op.cast(inner_base, node.dtype)
        else:
            raise _NotLinear
    coeff, base = known[id(expr)]
    return (
        op.const(0, var.dtype) if coeff is None else coeff,
        op.const(0, expr.dtype) if base is None else base,
    )


def _joined(node: e.Add | e.Sub | e.Mul, a: Parts, b: Parts) -> Parts:
    """The parts of a sum, difference or product; one without the variable stays as it is."""
    if a[0] is None and b[0] is None:
        return None, node
    if isinstance(node, e.Mul):
        inside, other = (b, a[1]) if a[0] is None else (a, b[1])
        if a[0] is not None and b[0] is not None:
            raise _NotLinear
        assert other is not None, "what has no variable is all base"
        return (
            None if inside[0] is None else op.multiply(other, inside[0]),
            None if inside[1] is None else op.multiply(other, inside[1]),
        )
    return _added(node, a[0], b[0]), _added(node, a[1], b[1])


def _added(
    node: e.Add | e.Sub, a: PrimExpr | None, b: PrimExpr | None
) -> PrimExpr | None:
    if isinstance(node, e.Add):
        return b if a is None else a if b is None else op.add(a, b)
    return a if b is None else op.subtract(op.const(0, b.dtype) if a is None else a, b)


def _signed(coeff: PrimExpr) -> PrimExpr:
    """A coefficient of an unsigned variable that was subtracted, as a negative number."""
    dtype = coeff.dtype
    if isinstance(coeff, e.IntImm) and dtype.is_uint and coeff.value >> (dtype.bits - 1):
        return e.IntImm(e.INT32, coeff.value - (1 << dtype.bits))
    return coeff


def linear_equation(expr: PrimExpr, var_list: Sequence[e.Var]) -> list[PrimExpr]:
    """`detect_linear_equation`, simplified."""
    analyzer = Analyzer()
    return [analyzer.simplify(part) for part in detect_linear_equation(expr, var_list)]


@explained
def detect_linear_equation(expr: Any, var_list: Sequence[e.Var]) -> list[PrimExpr]:
    """[a1, ..., an, base] with expr = a1 * v1 + ... + an * vn + base; empty if there are none.

    The parts are joined as the operands are written, nothing is simplified.
    """
    base = e.as_expr(expr)
    if isinstance(var_list, PrimExpr):
        raise TypeError(
            f"detect_linear_equation: the variables are {var_list}; legal: a list of variables"
        )
    coeffs: list[PrimExpr] = []
    try:
        for var in var_list:
            coeff, base = _one_linear(base, var)
            coeffs.append(_signed(coeff))
    except _NotLinear:
        return []
    if any(uses_any(coeff, frozenset(var_list)) for coeff in coeffs):
        return []
    return [*coeffs, base]


@explained
def detect_clip_bound(expr: Any, var_list: Sequence[e.Var]) -> list[PrimExpr]:
    """[low1, high1, ...]: the bounds that a conjunction of comparisons sets to each variable.

    A bound that is not set is None; the list is empty if a comparison is not
    about one variable.
    """
    analyzer = Analyzer()
    lows: dict[e.Var, PrimExpr | None] = dict.fromkeys(var_list)
    highs: dict[e.Var, PrimExpr | None] = dict.fromkeys(var_list)
    found = [(c, analyzer.simplify(c)) for c in _comparisons(e.as_expr(expr), analyzer)]
    open_ones = [pair for pair in found if not op.is_one(pair[1])]  # the others say nothing
    if not open_ones:
        return []
    for condition, simpler in open_ones:  # x * 2 < 5 is x < 3
        if not any(_clip(c, var_list, lows, highs, analyzer) for c in (condition, simpler)):
            return []
    result: list[PrimExpr | None] = []
    for var in var_list:
        for table in (lows, highs):
            bound = table[var]
            result.append(None if bound is None else analyzer.simplify(bound))
    return result  # type: ignore[return-value]


def _comparisons(expr: PrimExpr, analyzer: Analyzer) -> list[PrimExpr]:
    """The terms of a conjunction; min(a, b) > c and max(a, b) < c are such, as are negations."""
    found: list[PrimExpr] = []
    pending = facts_in(expr)[::-1]
    while pending:
        term = pending.pop()
        if isinstance(term, e.Not):
            simple = analyzer.simplify(term)
            if not isinstance(simple, e.Not):
                pending += facts_in(simple)[::-1]
                continue
        parts = _limits_of_each(term)
        if parts:
            pending += parts[::-1]
        else:
            found.append(term)
    return found


def _limits_of_each(term: PrimExpr) -> list[PrimExpr]:
    """What a limit of a minimum, or of a maximum, says of each operand, if it is a conjunction."""
    if isinstance(term, (e.GT, e.GE)):
        small, large, swap = term.b, term.a, True
    elif isinstance(term, (e.LT, e.LE)):
        small, large, swap = term.a, term.b, False
    else:
        return []
    kind = type(term)
    if isinstance(large, e.Min):
        pairs = [(small, large.a), (small, large.b)]
    elif isinstance(small, e.Max):
        pairs = [(small.a, large), (small.b, large)]
    else:
        return []
    return [kind(b, a) if swap else kind(a, b) for a, b in pairs]


def _clip(
    condition: PrimExpr,
    var_list: Sequence[e.Var],
    lows: dict[e.Var, PrimExpr | None],
    highs: dict[e.Var, PrimExpr | None],
    analyzer: Analyzer,
) -> bool:
    """Note what one comparison says about its variable."""
    if not isinstance(condition, (e.LT, e.LE, e.GT, e.GE, e.EQ)):
        return False
    gap = op.subtract(condition.a, condition.b)  # gap <= 0, after the lines below
    if isinstance(condition, (e.GT, e.GE)):
        gap = op.subtract(condition.b, condition.a)
    if isinstance(condition, (e.LT, e.GT)):
        gap = op.add(gap, 1)
    used = [var for var in var_list if uses_var(gap, var)]
    if len(used) != 1:
        return False
    var = used[0]
    try:
        coeff, base = _one_linear(analyzer.simplify(gap), var)
    except _NotLinear:
        return False
    coeff, base = analyzer.simplify(coeff), analyzer.simplify(base)
    if isinstance(condition, e.EQ):
        if not (op.is_one(coeff) or op.is_const_value(coeff, -1)):
            return False
        value = op.negative(base) if op.is_one(coeff) else base
        _tighten(lows, var, value, op.max_of)
        _tighten(highs, var, value, op.min_of)
        return True
    if op.is_one(coeff):  # var + base <= 0
        _tighten(highs, var, op.negative(base), op.min_of)
    elif op.is_const_value(coeff, -1):  # base - var <= 0
        _tighten(lows, var, base, op.max_of)
    else:
        return False
    return True


def _tighten(
    bounds: dict[e.Var, PrimExpr | None], var: e.Var, value: PrimExpr, join: object
) -> None:
    known = bounds[var]
    bounds[var] = value if known is None else join(known, value)  # type: ignore[operator]


def detect_common_subexpr(expr: Any, threshold: int) -> dict[PrimExpr, int]:
    """The parts that occur at least `threshold` times, each with its count, the largest first.

    What lies within a part that is reported is counted no more: of (x*2 + y) * (x*2 + y) + x*2
    the part x*2 + y occurs twice, and x*2 once besides.
    """
    numbers = ExprNumbers()
    whole = e.as_expr(expr)
    parts: dict[int, PrimExpr] = {}
    counts = _part_counts(whole, numbers, parts)
    sizes: dict[int, int] = {}
    for key in sorted(parts):  # operands have lower numbers
        below = [numbers.number(part) for part in expr_children(parts[key])]
        sizes[key] = 1 + sum(sizes.get(one, 0) for one in below)
    result: dict[PrimExpr, int] = {}
    for key in sorted(parts, key=lambda one: -sizes[one]):
        count = counts[key]
        if count < max(threshold, 1) or has_stateful_call(parts[key]):
            continue
        result[parts[key]] = count
        for inner, times in _part_counts(parts[key], numbers, {}).items():
            counts[inner] -= count * times
    return result


def _part_counts(
    expr: PrimExpr, numbers: ExprNumbers, parts: dict[int, PrimExpr]
) -> dict[int, int]:
    """How often each part that has parts of its own occurs, by its number."""
    counts: dict[int, int] = {}
    stack = [expr]
    while stack:
        node = stack.pop()
        below = expr_children(node)
        if below:
            key = numbers.number(node)
            counts[key] = counts.get(key, 0) + 1
            parts.setdefault(key, node)
            stack.extend(reversed(below))
    return counts
