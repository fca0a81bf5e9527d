"""What variables are bound to, who uses them, and functions without what nobody uses."""

from __future__ import annotations

from typing import TypeVar

from tvm.ir.expr import RelaxExpr
from tvm.ir.node import of_type
from tvm.relax.base_expr import Id, expect
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprVisitor
from tvm.support.arguments import explained

from .purity import contains_impure_call
from .variables import uses_of


class _Bindings(PyExprVisitor):
    """All bindings, of branches and local functions too, in order."""

    def __init__(self) -> None:
        self.found: list[Binding] = []

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.found.append(binding)
        super().visit_var_binding_(binding)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.found.append(binding)
        super().visit_match_cast_(binding)


def all_bindings(expr: RelaxExpr) -> list[Binding]:
    """All bindings in the expression, of branches and local functions too, in order."""
    walk = _Bindings()
    walk.visit_expr(expr)
    return walk.found


@explained
def get_var2val(func: Function) -> dict[Var, RelaxExpr]:
    """What each variable of the function is bound to; a match_cast is a check, and left out."""
    return {b.var: b.value for b in all_bindings(func) if isinstance(b, VarBinding)}


@explained
def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """The bindings of each variable name; names need not be unique.

    Those of the function itself: branches and local functions have scopes of their own.
    """
    found: dict[str, list[Binding]] = {}
    for block in func.body.blocks:
        for binding in block.bindings:
            found.setdefault(binding.var.name_hint, []).append(binding)
    return found


@explained
def udchain(dfb: DataflowBlock) -> dict[Var, list[Var]]:
    """For each variable of the block, and each one it reads, the variables that use it."""
    of_type(dfb, DataflowBlock, "udchain: the block")
    users: dict[Id, tuple[Var, dict[Var, None]]] = {}
    for binding in dfb.bindings:
        for used in uses_of(binding):
            users.setdefault(used.vid, (used, {}))[1].setdefault(binding.var)
        users.setdefault(binding.var.vid, (binding.var, {}))
    return {var: list(found) for var, found in users.values()}


E = TypeVar("E", Function, SeqExpr)
P = TypeVar("P", bound="Function | SeqExpr | BindingBlock")


@explained
def remove_all_unused(func: P) -> P:
    """The function without bindings whose value nobody uses and that have no effect.

    A cast stays: it is a check, and may define symbols. A sequence of blocks, or one block alone,
    is taken as well; what a block gives to others is used.
    """
    expect((Function, SeqExpr, BindingBlock), func, 0, "relax.analysis.remove_all_unused")
    whole: Function | SeqExpr | BindingBlock = func
    if isinstance(whole, BindingBlock):
        given = [b.var for b in whole.bindings if not isinstance(b.var, DataflowVar)]
        blocks = _used_part(SeqExpr([whole], Tuple(given))).blocks
        whole = blocks[0] if blocks else type(whole)([], whole.span)
    elif isinstance(whole, Function):
        whole = _used_part(whole)
    else:
        whole = _used_part(whole)
    return whole  # type: ignore[return-value]


def _used_part(func: E) -> E:
    bindings = all_bindings(func)
    by_id = {b.var.vid: b for b in bindings}
    used: set[Id] = set()
    pending: list[Id] = []

    def use(vid: Id) -> None:
        if vid not in used:
            used.add(vid)
            pending.append(vid)

    for binding in bindings:
        if isinstance(binding, MatchCast) or contains_impure_call(binding.value):
            use(binding.var.vid)
    for seq in _sequences(func):
        for var in uses_of(VarBinding(Var("result"), seq.body)):
            use(var.vid)
    while pending:
        found = by_id.get(pending.pop())
        if found is not None:
            for var in uses_of(found):
                use(var.vid)
    if all(b.var.vid in used for b in bindings):
        return func
    return _without(func, used)  # type: ignore[return-value]


class _Sequences(PyExprVisitor):
    def __init__(self) -> None:
        self.found: list[SeqExpr] = []

    def visit_seq_expr_(self, op: SeqExpr) -> None:
        self.found.append(op)
        super().visit_seq_expr_(op)


def _sequences(expr: RelaxExpr) -> list[SeqExpr]:
    walk = _Sequences()
    walk.visit_expr(expr)
    return walk.found


def _with_body(func: Function, body: RelaxExpr) -> Function:
    return Function(
        func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span
    )


def _without(expr: RelaxExpr, used: set[Id]) -> RelaxExpr:
    """The expression with only those bindings whose variable is used."""
    if isinstance(expr, SeqExpr):
        blocks: list[BindingBlock] = []
        for block in expr.blocks:
            kept = [_keep(b, used) for b in block.bindings if b.var.vid in used]
            same = len(kept) == len(block.bindings) and all(
                a is b for a, b in zip(kept, block.bindings)
            )
            if kept:
                blocks.append(block if same else type(block)(kept, block.span))
        if len(blocks) == len(expr.blocks) and all(a is b for a, b in zip(blocks, expr.blocks)):
            return expr
        seq = SeqExpr(blocks, expr.body, expr.span)
        seq.struct_info_ = expr.struct_info_
        return seq
    if isinstance(expr, If):
        yes, no = _without(expr.true_branch, used), _without(expr.false_branch, used)
        if yes is expr.true_branch and no is expr.false_branch:
            return expr
        new = If(expr.cond, yes, no, expr.span)
        new.struct_info_ = expr.struct_info_
        return new
    if isinstance(expr, Function):
        body = _without(expr.body, used)
        return expr if body is expr.body else _with_body(expr, body)
    return expr


def _keep(binding: Binding, used: set[Id]) -> Binding:
    if not isinstance(binding, VarBinding):
        return binding
    value = _without(binding.value, used)
    return binding if value is binding.value else VarBinding(binding.var, value, binding.span)
