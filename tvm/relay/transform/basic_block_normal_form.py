"""Basic blocks: what several scopes share is bound in the innermost scope around all of them.

    if (%c) { add(%t, %t) } else { %t }        where %t = add(%x, %y)
    ->
    let %x1 = add(%x, %y); if (%c) { add(%x1, %x1) } else { %x1 }

Everything else stays a graph. Branches, functions, clauses and lets open scopes; the scope of an
expression is the innermost one around its users.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay.adt import Clause, Match
from tvm.relay.analysis.scopes import Scopes, scoped_parts
from tvm.relay.expr import Let, Var
from tvm.relay.function import Function
from tvm.relay.traverse import lets, rebuild

from .function_pass import expr_pass


@expr_pass("ToBasicBlockNormalForm", opt_level=1)
def ToBasicBlockNormalForm(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Values that are shared by several scopes are bound by lets around them."""
    return bound_where_shared(func)


def bound_where_shared(expr: RelaxExpr) -> RelaxExpr:
    """An expression in that form."""
    return _Blocks(Scopes(expr)).expr(expr, None)


class _Blocks:
    """Writes a program anew, with lets where `scopes` says."""

    def __init__(self, scopes: Scopes) -> None:
        self.scopes = scopes
        self.made: dict[int, RelaxExpr] = {}

    def expr(self, root: RelaxExpr, name: Var | None) -> RelaxExpr:
        """What an expression becomes; with a name, it is bound to it in its scope."""
        if id(root) in self.made:
            if name is not None:
                self.scopes.of[id(root)].bound.append((name, self.made[id(root)]))
            return self.made[id(root)]
        stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
        while stack:
            expr, entered = stack.pop()
            if id(expr) in self.made:
                continue
            if not entered:
                stack.append((expr, True))
                here = [part for at, part in scoped_parts(expr) if at < 0]
                stack.extend([(part, False) for part in reversed(here)])
                continue
            self.made[id(expr)] = self._kept(
                expr, self._rebuilt(expr), name if expr is root else None
            )
        return self.made[id(root)]

    def _kept(self, old: RelaxExpr, new: RelaxExpr, name: Var | None) -> RelaxExpr:
        if isinstance(old, Var) and name is None:
            return new
        if name is None and id(old) not in self.scopes.lifted:
            return new
        var = name or Var("x")
        self.scopes.of[id(old)].bound.append((var, new))
        return var

    def _rebuilt(self, expr: RelaxExpr) -> RelaxExpr:
        if isinstance(expr, Let):
            return self._let(expr)
        if isinstance(expr, Match):
            data, *bodies = [self._inside(expr, at, part) for at, part in scoped_parts(expr)]
            clauses = [Clause(c.lhs, body) for c, body in zip(expr.clauses, bodies)]
            return Match(data, clauses, expr.complete)
        parts = [self._inside(expr, at, part) for at, part in scoped_parts(expr)]
        if isinstance(expr, Function):
            if "Primitive" in expr.attrs:
                return expr
            parts = [*expr.params, *parts]
        return rebuild(expr, parts)

    def _inside(self, expr: RelaxExpr, at: int, part: RelaxExpr) -> RelaxExpr:
        if at < 0:
            return self.made[id(part)]
        value = self.expr(part, None)
        return self.scopes.opened[id(expr), at].around(value)

    def _let(self, expr: Let) -> RelaxExpr:
        chain, rest = lets(expr)
        for let in chain:
            self.expr(let.value, let.var)
        value = self.expr(rest, None)
        for let in reversed(chain):
            value = self.scopes.opened[id(let), 0].around(value)
        return value
