"""Drop parameters of private functions that their bodies do not read.

    def f(x, y): return R.exp(x)              def f(x): return R.exp(x)
    z = cls.f(a, b)                  ->       z = cls.f(a)

A size that only a dropped tensor told is a parameter of its own:

    def f(x: Tensor((n,))): zeros((n,))       def f(param_n: Prim(value=n)): zeros((n,))
    z = cls.f(a)                     ->       z = cls.f(prim_value(8))

If some caller does not know that size, the tensor stays. What made the arguments that are gone
goes, as does all that nobody uses.
"""

from __future__ import annotations

from typing import NamedTuple

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis import free_vars, remove_all_unused
from tvm.relax.analysis.variables import used_symbolic_vars
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import Binding, Call, Function, PrimValue, Var
from tvm.relax.struct_info import PrimStructInfo
from tvm.relax.struct_info_rules import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.private_calls import private_functions, with_signatures
from tvm.relax.transform.rebuild import all_bindings, with_value
from tvm.tir import expr as tir


class _Plan(NamedTuple):
    """What a function keeps of its parameters, and the sizes that it is told instead."""

    kept: list[int]
    sizes: list[tir.Var]


@relax_module_pass("RemoveUnusedParameters")
def RemoveUnusedParameters(mod: IRModule, ctx: PassContext) -> IRModule:
    """Drop them, and the arguments in all calls."""
    calls = _calls_by_name(mod)
    plans: dict[GlobalVar, _Plan] = {}
    changed: dict[GlobalVar, Function] = {}
    for var, func in private_functions(mod).items():
        plan = _plan(func)
        if plan.sizes and not all(
            set(plan.sizes) <= _told_by(func, call).keys() for call in calls.get(var.name_hint, ())
        ):
            plan = _Plan(_with_tellers(func, plan.kept), [])
        if len(plan.kept) < len(func.params):
            params = [func.params[i] for i in plan.kept]
            params += [Var(f"param_{n.name}", PrimStructInfo(value=n)) for n in plan.sizes]
            plans[var] = plan
            changed[var] = Function(
                params, func.body, func.ret_struct_info, func.is_pure, func.attrs, func.span
            )
    if not changed:
        return mod
    by_name = {var.name_hint: (mod[var], plan) for var, plan in plans.items()}

    def on_call(binding: Binding, call: Call, callee: GlobalVar) -> list[Binding]:
        func, plan = by_name[callee.name_hint]
        assert isinstance(func, Function), "only Relax functions are changed"
        args = [call.args[i] for i in plan.kept]
        told = _told_by(func, call)
        args += [PrimValue(told[size]) for size in plan.sizes]
        new = Call(callee, args, call.attrs, call.sinfo_args, call.span)
        new.struct_info_ = call.struct_info_
        return [with_value(binding, new)]

    rewritten = with_signatures(mod, changed, on_call)
    return rewritten.with_functions(
        {
            var: remove_all_unused(func) if isinstance(func, Function) else func
            for var, func in rewritten.functions.items()
        }
    )


def _plan(func: Function) -> _Plan:
    """The positions of parameters that are read, and the sizes that these do not tell."""
    read = set(free_vars(func.body))
    kept = [i for i, param in enumerate(func.params) if param in read]
    needed = dict.fromkeys(used_symbolic_vars(func.body))
    needed.update(dict.fromkeys(tir_vars_in_struct_info(func.ret_struct_info)))
    for i in kept:
        needed.update(dict.fromkeys(tir_vars_in_struct_info(func.params[i].struct_info)))
    told = {v for i in kept for v in definable_tir_vars_in_struct_info(func.params[i].struct_info)}
    once = {v for p in func.params for v in definable_tir_vars_in_struct_info(p.struct_info)}
    return _Plan(kept, [size for size in needed if size in once and size not in told])


def _with_tellers(func: Function, kept: list[int]) -> list[int]:
    """`kept`, with parameters that tell the sizes which are used."""
    needed = set(_plan(func).sizes)
    kept = list(kept)
    for i, param in enumerate(func.params):
        told = set(definable_tir_vars_in_struct_info(param.struct_info)) & needed
        if i not in kept and told:
            kept.append(i)
            needed -= told
    return sorted(kept)


def _told_by(func: Function, call: Call) -> dict[tir.Var, PrimExpr]:
    """What a call says of the sizes in a function's parameters."""
    found: dict[tir.Var, PrimExpr] = {}
    for param, arg in zip(func.params, call.args):
        if arg.struct_info_ is not None:
            bind_symbols(param.struct_info, arg.struct_info_, found)
    return found


def _calls_by_name(mod: IRModule) -> dict[str, list[Call]]:
    calls: dict[str, list[Call]] = {}
    for func in mod.functions.values():
        if isinstance(func, Function):
            for binding in all_bindings(func):
                value = binding.value
                if isinstance(value, Call) and isinstance(value.op, GlobalVar):
                    calls.setdefault(value.op.name_hint, []).append(value)
    return calls
