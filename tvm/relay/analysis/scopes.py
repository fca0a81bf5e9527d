"""The scope of each value: the innermost one around all that use it.

Branches, functions, clauses and lets open scopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.adt import Match
from tvm.relay.expr import If, Let, Var
from tvm.relay.function import Function
from tvm.relay.traverse import children

Position = tuple[int, int]  # an expression by address, and which of its scopes; -1: itself


def check_basic_block_normal_form(expr: RelaxExpr) -> bool:
    """True; a TVMError when a value should be bound in a scope further out."""
    for found in Scopes(expr).lifted.values():
        if isinstance(found, Var):  # a name may be read anywhere
            continue
        raise TVMError(
            message(
                "The expression below violates the basic block normal form in that its scope "
                "should be lifted",
                found=str(found)[:400],
                legal="a let in the scope around all uses; transform.ToBasicBlockNormalForm()",
            )
        )
    return True


class Scope:
    """What is bound in one scope, in order."""

    __slots__ = ("bound", "depth", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.outer: Final = outer
        self.depth: Final[int] = 0 if outer is None else outer.depth + 1
        self.bound: list[tuple[Var, RelaxExpr]] = []

    def shared(self, other: Scope) -> Scope:
        """The innermost scope around both."""
        a, b = self, other
        while a is not b:
            if a.depth >= b.depth:
                a = _outer(a)
            else:
                b = _outer(b)
        return a

    def around(self, value: RelaxExpr) -> RelaxExpr:
        """A value behind what is bound here."""
        for var, bound in reversed(self.bound):
            value = Let(var, bound, value, bound.span)
        return value


def _outer(scope: Scope) -> Scope:
    assert scope.outer is not None, "all scopes are inside of the first"
    return scope.outer


def scoped_parts(expr: RelaxExpr) -> Iterator[tuple[int, RelaxExpr]]:
    """The parts of an expression, each with the scope that it stands in; -1: that around."""
    if isinstance(expr, Function):
        yield 0, expr.body
    elif isinstance(expr, Let):
        yield from ((0, part) for part in (expr.var, expr.value, expr.body))
    elif isinstance(expr, If):
        yield from zip((-1, 0, 1), children(expr))
    elif isinstance(expr, Match):
        yield from enumerate(children(expr), -1)
    else:
        yield from ((-1, part) for part in children(expr))


class Scopes:
    """The scope of each expression; `lifted` are those that stand further out than first used."""

    def __init__(self, root: RelaxExpr) -> None:
        self.of: dict[int, Scope] = {}
        self.opened: dict[Position, Scope] = {}
        self.lifted: dict[int, RelaxExpr] = {}
        users: dict[int, list[Position]] = {}
        for expr in reversed(_ordered(root, users)):
            found = [self._at(position) for position in users.get(id(expr), ())] or [Scope(None)]
            scope = found[0]
            for other in found[1:]:
                scope = scope.shared(other)
            if scope is not found[0] and not isinstance(expr, Op):
                self.lifted[id(expr)] = expr
            self.of[id(expr)] = scope

    def _at(self, position: Position) -> Scope:
        scope = self.of[position[0]]
        if position[1] < 0:
            return scope
        if position not in self.opened:
            self.opened[position] = Scope(scope)
        return self.opened[position]


def _ordered(root: RelaxExpr, users: dict[int, list[Position]]) -> list[RelaxExpr]:
    """All expressions, parts before the whole; `users` gets who uses each, in that order."""
    order: list[RelaxExpr] = []
    seen: set[int] = set()
    stack: list[tuple[RelaxExpr, Position | None, bool]] = [(root, None, False)]
    while stack:
        expr, position, done = stack.pop()
        if done:
            if position is None:
                order.append(expr)
            else:
                users.setdefault(id(expr), []).append(position)
            continue
        if position is not None:
            stack.append((expr, position, True))
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        stack.append((expr, None, True))
        parts = [(part, (id(expr), at), False) for at, part in scoped_parts(expr)]
        stack.extend(reversed(parts))
    return order
