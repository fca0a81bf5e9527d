"""Say where values die: `memory.kill` behind the last use of each variable.

    let %y = add(%x, %x);                let %y = add(%x, %x);
    let %z = add(%y, %y);        ->      let %_0 = memory.kill(%x);
    %z                                   let %z = add(%y, %y);
                                         let %_1 = memory.kill(%y);
                                         %z

Programs are in A-normal form. A let that only gives a value another name goes first, so that no
name dies while another one is read. In branches each value dies where its last use in them is.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.adt import Match
from tvm.relay.expr import Call, If, Let, Var
from tvm.relay.function import Function
from tvm.relay.op.memory import kill
from tvm.relay.traverse import children, lets, post_order, rebuild, transform
from tvm.relay.variables import free_vars

from .function_pass import expr_pass

Live = dict[Node, Var]  # what is still read, by the variables' ids


@expr_pass("ManifestLifetimes", opt_level=0)
def ManifestLifetimes(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with the death of every variable but its result's."""
    assert isinstance(func, Function), "a pass gets functions"
    if "Primitive" in func.attrs:
        return func
    return _Killer().function(func)


class _Killer:
    def __init__(self) -> None:
        self._made = 0

    def function(self, func: Function) -> Function:
        """A function; what it takes from around it lives on, for its next call."""
        around: Live = {var.vid: var for var in free_vars(func)}
        made = rebuild(func, (*func.params, self.scope(without_aliases(func.body), around)))
        assert isinstance(made, Function), "a function stays one"
        return made

    def scope(self, body: RelaxExpr, after: Live) -> RelaxExpr:
        """A scope behind which `after` is read."""
        chain, result = lets(body)
        made = self.value(result, after)
        live = {**after, **_used(result)}
        for let in reversed(chain):
            live.pop(let.var.vid, None)
            dead = [var for vid, var in _read_here(let.value).items() if vid not in live]
            for var in reversed(dead):
                made = Let(self._name(), kill(var), made)
            made = Let(let.var, self.value(let.value, live), made, let.span)
            live.update(_used(let.value))
        return made

    def value(self, expr: RelaxExpr, after: Live) -> RelaxExpr:
        """What is bound, or the result of a scope; branches and functions are entered."""
        if isinstance(expr, Function):
            return expr if "Primitive" in expr.attrs else self.function(expr)
        if isinstance(expr, (If, Match)):
            first, *branches = children(expr)
            return rebuild(expr, [first, *[self.scope(branch, after) for branch in branches]])
        return expr

    def _name(self) -> Var:
        self._made += 1
        return Var(f"_{self._made - 1}")


def _used(expr: RelaxExpr) -> Live:
    return {var.vid: var for var in free_vars(expr)}


def _read_here(value: RelaxExpr) -> Live:
    """What a value reads before any branch; what a branch reads dies in it."""
    if not isinstance(value, (If, Match)):
        return _used(value)
    first, *branches = children(value)
    later = _inside(branches)
    return {vid: var for vid, var in _used(first).items() if vid not in later}


def _inside(branches: Iterable[RelaxExpr]) -> Live:
    return {vid: var for branch in branches for vid, var in _used(branch).items()}


def without_aliases(body: RelaxExpr) -> RelaxExpr:
    """The expression without lets that give a variable another name, also one with a device."""
    names: dict[Node, Var] = {}
    for expr in post_order(body):
        if isinstance(expr, Let) and (source := _variable(expr.value)) is not None:
            names[expr.var.vid] = source
    if not names:
        return body

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, Let) and isinstance(new, Let) and old.var.vid in names:
            return new.body
        while isinstance(new, Var) and new.vid in names:
            new = names[new.vid]
        return new

    return transform(body, rule)


def _variable(value: RelaxExpr) -> Var | None:
    while isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == "on_device":
        value = value.args[0]
    return value if isinstance(value, Var) else None
