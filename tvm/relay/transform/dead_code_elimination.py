"""Drop lets that nobody uses; with `inline_once`, inline values that are used once.

    let %a = 1f; let %b = add(%x, 2f); %b    ->    let %b = add(%x, 2f); %b

Values with effects (references, unknown functions) stay, unless `ignore_impurity`.
"""

from __future__ import annotations

from collections.abc import Container

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.adt import Constructor
from tvm.relay.expr import Call, Let, RefCreate, RefRead, RefWrite, Var
from tvm.relay.function import Function
from tvm.relay.traverse import children, post_order, transform

from .function_pass import expr_pass


@expr_pass("DeadCodeElimination", opt_level=1)
def DeadCodeElimination(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, inline_once: bool = False,
    ignore_impurity: bool = False,
) -> RelaxExpr:  # fmt: skip
    """The function without lets that are not needed."""
    before: RelaxExpr | None = None
    free = _free_functions(mod)
    while func is not before:
        before = func
        func = _Eliminator(func, inline_once, ignore_impurity, free).run(func)
    return func


def _free_functions(mod: IRModule) -> set[str]:
    """The names of global functions whose calls have no effect; those of themselves have none."""
    found = {v.name_hint: f for v, f in mod.functions.items() if isinstance(f, Function)}
    while True:
        kept = {name: f for name, f in found.items() if is_pure(f.body, (), found)}
        if len(kept) == len(found):
            return set(found)
        found = kept


class _Eliminator:
    def __init__(
        self, root: RelaxExpr, inline_once: bool, ignore_impurity: bool, functions: Container[str]
    ) -> None:
        self.functions = functions
        self.inline_once = inline_once
        self.ignore_impurity = ignore_impurity
        self.uses = _counts(root)
        self.pure: set[Node] = set()  # variables of functions whose calls have no effect

    def run(self, root: RelaxExpr) -> RelaxExpr:
        for expr in post_order(root):
            if not (isinstance(expr, Let) and isinstance(expr.value, Function)):
                continue
            if self.is_free(expr.value.body):
                self.pure.add(expr.var.vid)
        return transform(root, self.rule)

    def is_free(self, value: RelaxExpr) -> bool:
        return self.ignore_impurity or is_pure(value, self.pure, self.functions)

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, Var):
            return new
        if isinstance(new, Let):
            count = self.uses.get(new.var.vid, 0)
            free = self.is_free(new.value)
            if count == 0 and free:
                return new.body
            if self.inline_once and count == 1 and free:
                from tvm.relay.rewrite import substitute

                return substitute(new.body, {new.var.vid: new.value})
        return new


def _counts(root: RelaxExpr) -> dict[Node, int]:
    """How often each variable is used; a shared expression counts once."""
    found: dict[Node, int] = {}
    own: list[Let] = []
    seen: set[int] = set()
    stack = [root]
    while stack:
        expr = stack.pop()
        if isinstance(expr, Var):
            found[expr.vid] = found.get(expr.vid, 0) + 1
            continue
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        parts = list(children(expr))
        if isinstance(expr, Let):
            parts = parts[1:]
            if isinstance(expr.value, Function):  # calls of a function in itself keep nothing alive
                own.append(expr)
        elif isinstance(expr, Function):
            parts = parts[-1:]
        stack.extend(parts)
    for let in own:
        if found.get(let.var.vid) and _own_uses(let) == found[let.var.vid]:
            found[let.var.vid] = 0
    return found


def _own_uses(let: Let) -> int:
    """How often a function's variable stands in the function."""
    return sum(isinstance(e, Call) and _is(e.op, let.var) for e in post_order(let.value)) + sum(
        _is(part, let.var)
        for e in post_order(let.value)
        for part in (e.args if isinstance(e, Call) else children(e))
    )


def _is(expr: RelaxExpr, var: Var) -> bool:
    return isinstance(expr, Var) and expr.vid is var.vid


def is_pure(
    root: RelaxExpr, known: Container[Node] = (), functions: Container[str] = ()
) -> bool:
    """True when computing an expression has no effect; a function's body runs only when called.

    `known` are variables of functions without effects, `functions` names of such global ones.
    """
    seen: set[int] = set()
    stack = [root]
    while stack:
        expr = stack.pop()
        if id(expr) in seen or isinstance(expr, Function):
            continue
        seen.add(id(expr))
        if isinstance(expr, (RefCreate, RefRead, RefWrite)):
            return False
        if isinstance(expr, Call) and not isinstance(expr.op, (Op, Constructor)):
            if isinstance(expr.op, Function):
                stack.append(expr.op.body)
            elif isinstance(expr.op, GlobalVar):
                if expr.op.name_hint not in functions:
                    return False
            elif not (isinstance(expr.op, Var) and expr.op.vid in known):
                return False
        if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.get_attr("TOpIsStateful"):
            return False
        stack.extend(children(expr))
    return True


