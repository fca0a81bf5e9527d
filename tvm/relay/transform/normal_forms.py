"""Programs as lets (A-normal form) and as graphs.

    add(multiply(%x, %y), %z)    <->    let %x_0 = multiply(%x, %y); let %x_1 = add(%x_0, %z); %x_1
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.adt import Clause, Constructor, Match
from tvm.relay.expr import Call, Constant, If, Let, Var
from tvm.relay.function import Function
from tvm.relay.traverse import children, rebuild

from .basic_block_normal_form import bound_where_shared
from .function_pass import expr_pass

_ATOMS = (Var, GlobalVar, Op, Constructor)


@expr_pass("ToANormalForm", opt_level=1)
def ToANormalForm(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Each step of the function is bound by a let; operands are variables."""
    blocks = bound_where_shared(func)  # a step of several branches stands before them, once
    assert isinstance(blocks, Function), "a pass gets functions"
    return rebuild(blocks, (*blocks.params, _Lets().scope(blocks.body)))


def ToANormalFormExpr(e: RelaxExpr) -> RelaxExpr:
    """An expression whose steps are bound by lets."""
    return _Lets().scope(bound_where_shared(e))


class _Lets:
    """Names the steps of one scope; inner scopes see the names of the outer ones."""

    def __init__(self, outer: _Lets | None = None) -> None:
        self.names: dict[int, RelaxExpr] = {} if outer is None else dict(outer.names)
        self.vars: dict[Node, RelaxExpr] = {} if outer is None else dict(outer.vars)
        self.counter: list[int] = [0] if outer is None else outer.counter
        self.steps: list[tuple[Var, RelaxExpr]] = []
        self._kept: list[RelaxExpr] = []

    def scope(self, root: RelaxExpr) -> RelaxExpr:
        """`root` as lets and a name."""
        value = self.atom(root)
        for var, bound in reversed(self.steps):
            value = Let(var, bound, value, bound.span)
        return value

    def atom(self, root: RelaxExpr) -> RelaxExpr:
        stack: list[tuple[RelaxExpr, int]] = [(root, 0)]
        self._kept.append(root)
        while stack:
            expr, step = stack.pop()
            if id(expr) in self.names:
                continue
            if isinstance(expr, Let):
                self._let(expr, step, stack)
            elif isinstance(expr, _ATOMS):
                known = self.vars.get(expr.vid) if isinstance(expr, Var) else None
                self.names[id(expr)] = known or expr
            elif step == 0 and not isinstance(expr, (Function, If, Match, Constant)):
                parts = children(expr)
                if isinstance(expr, Call):  # operands are computed before a callee is
                    parts = (*parts[1:], parts[0])
                stack.append((expr, 1))
                stack.extend([(part, 0) for part in reversed(parts)])
            elif step == 0 and isinstance(expr, (If, Match)):
                stack.extend([(expr, 1), (children(expr)[0], 0)])
            else:
                self.names[id(expr)] = self.bind(self.visit(expr))
        return self.names[id(root)]

    def _let(self, expr: Let, step: int, stack: list[tuple[RelaxExpr, int]]) -> None:
        if step == 0 and isinstance(expr.value, Function):
            self.steps.append((expr.var, self.visit(expr.value)))
            stack.extend([(expr, 2), (expr.body, 0)])
        elif step == 0:
            stack.extend([(expr, 1), (expr.value, 0)])
        elif step == 1:
            value = self.names[id(expr.value)]
            if self.steps and self.steps[-1][0] is value:  # just named: it keeps the user's name
                self.steps[-1] = (expr.var, self.steps[-1][1])
                self.names[id(expr.value)] = expr.var
            else:
                self.steps.append((expr.var, value))
            stack.extend([(expr, 2), (expr.body, 0)])
        else:
            self.names[id(expr)] = self.names[id(expr.body)]

    def bind(self, value: RelaxExpr) -> Var:
        var = Var(f"x_{self.counter[0]}")
        self.counter[0] += 1
        self.steps.append((var, value))
        return var

    def visit(self, expr: RelaxExpr) -> RelaxExpr:
        if isinstance(expr, Constant):
            return expr
        if isinstance(expr, Function):
            if "Primitive" in expr.attrs:
                return expr
            return rebuild(expr, (*expr.params, _Lets(self).scope(expr.body)))
        if isinstance(expr, If):
            parts = [self.names[id(expr.cond)]]
            parts += [_Lets(self).scope(b) for b in (expr.true_branch, expr.false_branch)]
            return rebuild(expr, parts)
        if isinstance(expr, Match):
            clauses = [Clause(c.lhs, _Lets(self).scope(c.rhs)) for c in expr.clauses]
            return Match(self.names[id(expr.data)], clauses, expr.complete)
        return rebuild(expr, [self.names[id(part)] for part in children(expr)])


@expr_pass("ToGraphNormalForm", opt_level=1)
def ToGraphNormalForm(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Lets are gone; what was bound is shared by its uses."""
    return to_graph(func)


def to_graph(root: RelaxExpr) -> RelaxExpr:
    """An expression without lets, but for functions that call themselves."""
    kept = _recursive(root)
    values: dict[Node, RelaxExpr] = {}
    made: dict[int, RelaxExpr] = {}
    stack: list[tuple[RelaxExpr, int]] = [(root, 0)]
    while stack:
        expr, step = stack.pop()
        if id(expr) in made:
            continue
        if isinstance(expr, Let) and expr.var.vid not in kept:
            if step == 0:
                stack.extend([(expr, 1), (expr.value, 0)])
            elif step == 1:
                values[expr.var.vid] = made[id(expr.value)]
                stack.extend([(expr, 2), (expr.body, 0)])
            else:
                made[id(expr)] = made[id(expr.body)]
        elif isinstance(expr, Var):
            made[id(expr)] = values.get(expr.vid, expr)
        elif step == 0 and children(expr):
            stack.append((expr, 1))
            stack.extend([(part, 0) for part in reversed(children(expr))])
        else:
            made[id(expr)] = rebuild(expr, [made[id(part)] for part in children(expr)])
    return made[id(root)]


def _recursive(root: RelaxExpr) -> set[Node]:
    """The variables that are used in the value that they are bound to."""
    from tvm.relay.traverse import post_order
    from tvm.relay.variables import free_vars

    found: set[Node] = set()
    for expr in post_order(root):
        if not (isinstance(expr, Let) and isinstance(expr.value, Function)):
            continue
        if any(var.vid is expr.var.vid for var in free_vars(expr.value)):
            found.add(expr.var.vid)
    return found


