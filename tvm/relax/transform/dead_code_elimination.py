"""Drop bindings nobody reads, and functions that no entry function reaches.

    lv = add(x, x)
    gv = exp(x)            ->         gv = exp(x)
    return gv                         return gv

Bindings with effects stay. Entry functions are those with a global symbol, and `main`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Var,
)
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import (
    all_bindings,
    rebuild_seq,
    sub_exprs,
    vars_used,
    with_bindings,
    with_body,
    with_value,
)
from tvm.tir import global_var_uses
from tvm.tir.function import PrimFunc
from tvm.tir.transform.nodes_used import FUNCTION, nodes_used


@relax_module_pass("DeadCodeElimination", opt_level=1)
def DeadCodeElimination(
    mod: IRModule, ctx: PassContext, entry_functions: Sequence[str] | None = None
) -> IRModule:
    """Keep what the entry functions need."""
    keep = [mod.get_global_var(name) for name in entry_functions or ()]
    keep += [var for var, func in mod.functions.items() if _is_entry(var, func)]
    mod = remove_unused_functions(mod, keep)
    functions = {
        var: remove_unused_bindings(func, _nothing) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return remove_unused_functions(mod.with_functions(functions), keep)


@relax_module_pass("RemoveUnusedWork")
def RemoveUnusedWork(mod: IRModule, ctx: PassContext) -> IRModule:
    """Functions and kernel calls that nothing needs; calls of what is outside the module stay.

    A packed function or a function value may tell somebody or write into its arguments, whatever
    was promised of it; only `DeadCodeElimination`, which users ask for, takes such promises.
    """
    keep = [var for var, func in mod.functions.items() if _is_entry(var, func)]
    mod = remove_unused_functions(mod, keep)
    functions = {
        var: remove_unused_bindings(func) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return remove_unused_functions(mod.with_functions(functions), keep)


_OUTSIDE: Final = frozenset(
    (
        "relax.call_builtin_with_ctx", "relax.call_dps_packed", "relax.call_inplace_packed",
        "relax.call_pure_packed", "relax.call_py_func", "relax.invoke_closure",
        "relax.invoke_pure_closure",
    )
)  # fmt: skip


def calls_outside(value: RelaxExpr) -> bool:
    """Whether a value calls what is no function of the module, itself or in a branch."""
    if isinstance(value, Call):
        if isinstance(value.op, Op):
            return value.op.name in _OUTSIDE
        return not isinstance(value.op, GlobalVar)
    return isinstance(value, If) and any(
        calls_outside(binding.value)
        for branch in (value.true_branch, value.false_branch)
        for block in branch.blocks
        for binding in block.bindings
    )


def _is_entry(var: GlobalVar, func: BaseFunc) -> bool:
    return var.name_hint == "main" or func.attrs.get("global_symbol") is not None


def called_functions(func: BaseFunc) -> list[GlobalVar]:
    """The global variables that a function mentions, each once, in order."""
    found: dict[GlobalVar, None] = {}
    if isinstance(func, Function):
        for binding in all_bindings(func):
            for expr in sub_exprs(binding.value):
                if isinstance(expr, GlobalVar):
                    found[expr] = None
        if isinstance(func.body.body, GlobalVar):
            found[func.body.body] = None
    elif isinstance(func, PrimFunc) and FUNCTION in nodes_used(func.body):  # noted for a body
        return global_var_uses.called_functions(func)
    return list(found)


def remove_unused_functions(mod: IRModule, keep: Sequence[GlobalVar]) -> IRModule:
    """The module with only the functions that those in `keep` reach."""
    reached: set[GlobalVar] = set()
    stack = [var for var in keep if var in mod.functions]
    while stack:
        var = stack.pop()
        if var not in reached and var in mod.functions:
            reached.add(var)
            stack.extend(called_functions(mod.functions[var]))
    return mod.with_functions({v: f for v, f in mod.functions.items() if v in reached})


Keep: TypeAlias = Callable[[RelaxExpr], bool]


def has_effects(value: RelaxExpr) -> bool:
    """Whether a value must be computed even when nobody reads it."""
    if isinstance(value, Call):
        if isinstance(value.op, Op):
            return value.op.get_attr("FPurity") is False
        info = value.op.struct_info_
        return not getattr(info, "purity", False)
    if isinstance(value, Function):  # its definition; only a pure one is nothing to keep
        return not value.is_pure
    if isinstance(value, If):
        return any(
            has_effects(binding.value)
            for branch in (value.true_branch, value.false_branch)
            for block in branch.blocks
            for binding in block.bindings
        )
    return False


def _nothing(value: RelaxExpr) -> bool:
    return False


def remove_unused_bindings(func: Function, kept: Keep = calls_outside) -> Function:
    """The function without bindings that have no effect and no reader, in branches too.

    Values of which `kept` is true stay in any case: what is called by name outside the module.
    """
    return with_body(func, _without_unused(func.body, set(), kept))


def _without_unused(seq: SeqExpr, used: set[Var], keep: Keep) -> SeqExpr:
    """From the last binding to the first; `used` gathers what has been read so far."""
    used.update(vars_used(seq.body))
    kept: dict[BindingBlock, list[Binding]] = {}
    for block in reversed(seq.blocks):
        pure = isinstance(block, DataflowBlock)
        chosen: list[Binding] = []
        for binding in reversed(block.bindings):
            if _is_needed(binding, pure, used) or keep(binding.value):
                chosen.append(_without_unused_inside(binding, used, keep))
                used.update(vars_used(binding.value))
        chosen.reverse()
        kept[block] = chosen
    return rebuild_seq(seq, lambda block: with_bindings(block, kept[block]))


def _is_needed(binding: Binding, pure: bool, used: set[Var]) -> bool:
    if binding.var in used or isinstance(binding, MatchCast):
        return True
    return not pure and has_effects(binding.value)


def _without_unused_inside(binding: Binding, used: set[Var], keep: Keep) -> Binding:
    """The binding with its branches, or the body of its local function, cleaned."""
    value = binding.value
    if isinstance(value, If):
        parts = (value.true_branch, value.false_branch)
        branches = [_without_unused(part, used, keep) for part in parts]
        if branches[0] is value.true_branch and branches[1] is value.false_branch:
            return binding
        new = If(value.cond, branches[0], branches[1], value.span)
        new.struct_info_ = value.struct_info_
        return with_value(binding, new)
    if isinstance(value, Function):
        return with_value(binding, with_body(value, _without_unused(value.body, used, keep)))
    return binding
