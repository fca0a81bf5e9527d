"""Walks over Relay programs that need no stack of Python: chains of any length are normal.

`children` and `rebuild` say once what the parts of each kind of expression are; everything generic
(orders, searches, rewrites, functors) stands on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tvm.ir.expr import RelaxExpr

from .adt import Clause, Match
from .expr import (
    Call,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
)
from .function import Function

Parts = tuple[RelaxExpr, ...]

_CHILDREN: Final[dict[type, Callable[[Any], Parts]]] = {
    Tuple: lambda e: e.fields,
    Call: lambda e: (e.op, *e.args),
    Let: lambda e: (e.var, e.value, e.body),
    If: lambda e: (e.cond, e.true_branch, e.false_branch),
    TupleGetItem: lambda e: (e.tuple_value,),
    RefCreate: lambda e: (e.value,),
    RefRead: lambda e: (e.ref,),
    RefWrite: lambda e: (e.ref, e.value),
    Match: lambda e: (e.data, *[clause.rhs for clause in e.clauses]),
    Function: lambda e: (*e.params, e.body),
}


def children(expr: RelaxExpr) -> Parts:
    """The expressions directly inside, in the order of evaluation; variables that it binds too."""
    rule = _CHILDREN.get(type(expr))
    if rule is not None:
        return rule(expr)
    if not isinstance(expr, RelaxExpr):
        raise TypeError(f"a {type(expr).__name__} is no expression of Relay: {expr!r:.200}")
    return ()


def _same(new: Sequence[object], old: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(new, old))


_BUILD: Final[dict[type, Callable[[Any, Any], RelaxExpr]]] = {
    Tuple: lambda e, p: Tuple(p, e.span),
    Call: lambda e, p: Call(p[0], p[1:], e.attrs, e.type_args, e.span),
    Let: lambda e, p: Let(p[0], p[1], p[2], e.span),
    If: lambda e, p: If(p[0], p[1], p[2], e.span),
    TupleGetItem: lambda e, p: TupleGetItem(p[0], e.index, e.span),
    RefCreate: lambda e, p: RefCreate(p[0], e.span),
    RefRead: lambda e, p: RefRead(p[0], e.span),
    RefWrite: lambda e, p: RefWrite(p[0], p[1], e.span),
    Match: lambda e, p: Match(
        p[0], [Clause(c.lhs, rhs) for c, rhs in zip(e.clauses, p[1:])], e.complete
    ),
    Function: lambda e, p: Function(
        p[:-1], p[-1], e.ret_type, e.type_params, e.attrs, e.span
    ),
}


def rebuild(expr: RelaxExpr, parts: Sequence[RelaxExpr]) -> RelaxExpr:
    """`expr` with other parts, its type and its device; itself when the parts are its own."""
    if _same(parts, children(expr)):
        return expr
    made: Any = _BUILD[type(expr)](expr, parts)
    made.checked_type_ = expr.checked_type_
    made.virtual_device_ = expr.virtual_device_
    return made  # type: ignore[no-any-return]


def post_order(
    *roots: RelaxExpr, parts_of: Callable[[RelaxExpr], Parts] = children
) -> Iterator[RelaxExpr]:
    """Every expression once, parts before the whole."""
    done: set[int] = set()
    stack: list[tuple[RelaxExpr, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        expr, entered = stack.pop()
        key = id(expr)
        if entered:
            if key not in done:
                done.add(key)
                yield expr
            continue
        if key in done:
            continue
        parts = parts_of(expr)
        if not parts:
            done.add(key)
            yield expr
            continue
        stack.append((expr, True))
        stack.extend([(part, False) for part in reversed(parts) if id(part) not in done])


Rule = Callable[[RelaxExpr, RelaxExpr], RelaxExpr]


def transform(root: RelaxExpr, rule: Rule, known: dict[int, RelaxExpr] | None = None) -> RelaxExpr:
    """`root` rewritten from the inside out: `rule(old, new)` gets a node before and after.

    Shared nodes stay shared. `known` holds what some nodes (by address) become without a look.
    """
    made: dict[int, RelaxExpr] = dict(known or {})
    for expr in unknown_post_order(root, made):
        parts = children(expr)
        new = rebuild(expr, [made[id(part)] for part in parts]) if parts else expr
        made[id(expr)] = rule(expr, new)
    return made[id(root)]


def unknown_post_order(root: RelaxExpr, made: Mapping[int, object]) -> Iterator[RelaxExpr]:
    """The nodes that `made` lacks when their turn comes, parts before the whole."""
    stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
    while stack:
        expr, entered = stack.pop()
        if id(expr) in made:
            continue
        parts = () if entered else children(expr)
        if entered or not parts:
            yield expr
            continue
        stack.append((expr, True))
        if isinstance(expr, Let):  # what a variable becomes may follow from its value
            parts = (expr.value, expr.var, expr.body)
        stack.extend([(part, False) for part in reversed(parts) if id(part) not in made])


def lets(expr: RelaxExpr) -> tuple[list[Let], RelaxExpr]:
    """The lets that follow one another from `expr` on, and what comes after the last."""
    chain: list[Let] = []
    while isinstance(expr, Let):
        chain.append(expr)
        expr = expr.body
    return chain, expr


def wrap_lets(chain: Sequence[Let], body: RelaxExpr) -> RelaxExpr:
    """The given lets around `body`, with their spans."""
    for let in reversed(chain):
        body = let if let.body is body else Let(let.var, let.value, body, let.span)
    return body
