"""Simpler forms of a Relax function: the edits that `reduce` tries, larger parts first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tvm.ir.expr import RelaxExpr
from tvm.ir.structural import structural_equal
from tvm.relax.analysis import free_vars
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator

Edit = Callable[[], Function | None]


def function_edits(func: Function) -> Iterator[Edit]:
    """Functions with a part taken out or made simpler, each made when it is called."""
    body = func.body
    yield from _shorter(func, body)
    known: list[Var] = list(func.params)
    for block in body.blocks:
        for binding in block.bindings:
            instead = _stand_ins(binding, known)
            yield from (partial(_bypassed, func, binding, var) for var in instead)
            if isinstance(binding, VarBinding) and isinstance(binding.value, If):
                for branch in (binding.value.true_branch, binding.value.false_branch):
                    yield partial(_one_way, func, binding, branch)
            known.append(binding.var)
        known = [var for var in known if not isinstance(var, DataflowVar)]
    for param in func.params:
        yield partial(_without_param, func, param)


def _shorter(func: Function, body: SeqExpr) -> Iterator[Edit]:
    """The function that returns an earlier value: the first, the middle one, the last but one."""
    bindings = [
        (b, k) for b, block in enumerate(body.blocks) for k in range(len(block.bindings))
    ]
    step = len(bindings)
    while step:
        for at in range(0, len(bindings) - 1, step):
            yield partial(_cut, func, body, *bindings[at])
        step //= 2


def _cut(func: Function, body: SeqExpr, b: int, k: int) -> Function | None:
    block = body.blocks[b]
    bindings = list(block.bindings[: k + 1])
    result: Var = bindings[-1].var
    if result is body.body:
        return None
    if isinstance(result, DataflowVar):
        visible = Var(result.name_hint, result.struct_info_, span=result.span)
        bindings.append(VarBinding(visible, result))
        result = visible
    blocks = [*body.blocks[:b], type(block)(bindings, block.span)]
    short = SeqExpr(blocks, result, body.span)
    info = short.struct_info_ = result.struct_info_
    return Function(func.params, short, info, func.is_pure, func.attrs, func.span)


def _stand_ins(binding: Binding, known: list[Var]) -> Iterator[Var]:
    """Variables of the same struct info that could be used instead: operands before others."""
    info = binding.var.struct_info_
    value = binding.value
    near: list[RelaxExpr] = []
    if isinstance(value, Call):
        near = list(value.args)
    elif isinstance(value, Tuple):
        near = list(value.fields)
    elif isinstance(value, TupleGetItem):
        near = [value.tuple_value]
    elif isinstance(value, Var):
        near = [value]
    far = [var for var in known if var not in near]
    tried = 0
    for var in [*near, *far]:
        if isinstance(var, Var) and structural_equal(var.struct_info_, info):
            yield var
            tried += 1
            if tried == 3:
                return


class _Bypass(PyExprMutator):
    """Leaves one binding out; `instead` is used for its variable."""

    def __init__(self, gone: Binding, instead: Var) -> None:
        super().__init__()
        self.gone, self.instead = gone, instead

    def visit_binding(self, binding: Binding) -> None:
        if binding is self.gone:
            self.set_var_remap(binding.var.vid, self.instead)
        else:
            super().visit_binding(binding)


def _bypassed(func: Function, binding: Binding, instead: Var) -> Function | None:
    if isinstance(instead, DataflowVar) and not isinstance(binding.var, DataflowVar):
        # what the block gives out has to stay a visible variable
        if isinstance(binding.value, Var):
            return None
        new: RelaxExpr = _Revalued(binding, instead).visit_expr(func)
    else:
        new = _Bypass(binding, instead).visit_expr(func)
    return new if isinstance(new, Function) else None


class _Revalued(PyExprMutator):
    """One binding gets another value."""

    def __init__(self, changed: Binding, value: RelaxExpr) -> None:
        super().__init__()
        self.changed, self.value = changed, value

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding is self.changed and binding.value is not self.value:
            self.reemit_binding(binding, self.visit_expr(self.value))
        else:
            super().visit_var_binding_(binding)


class _OneWay(PyExprMutator):
    """An `if` becomes one of its branches."""

    def __init__(self, changed: Binding, branch: SeqExpr) -> None:
        super().__init__()
        self.changed, self.branch = changed, branch

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if binding is not self.changed:
            super().visit_var_binding_(binding)
            return
        for block in self.branch.blocks:
            for inner in block.bindings:
                self.visit_binding(inner)
        self.reemit_binding(binding, self.visit_expr(self.branch.body))


def _one_way(func: Function, binding: Binding, branch: RelaxExpr) -> Function | None:
    assert isinstance(branch, SeqExpr), "branches are sequences"
    blocks = branch.blocks
    if any(isinstance(block, DataflowBlock) for block in blocks):
        blocks = tuple(BindingBlock(block.bindings, block.span) for block in blocks)
        branch = SeqExpr(blocks, branch.body, branch.span)
    new = _OneWay(binding, branch).visit_expr(func)
    return new if isinstance(new, Function) else None


def _without_param(func: Function, param: Var) -> Function | None:
    if param in free_vars(func.body):
        return None
    params = [p for p in func.params if p is not param]
    return Function(params, func.body, func.ret_struct_info, func.is_pure, func.attrs, func.span)
