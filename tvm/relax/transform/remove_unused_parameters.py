"""Drop parameters of private functions that their bodies do not read.

    def f(x, y): return R.exp(x)              def f(x): return R.exp(x)
    z = cls.f(a, b)                  ->       z = cls.f(a)

A parameter stays when a symbolic size of it is used and no other parameter tells that size.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis import free_vars
from tvm.relax.analysis.variables import used_symbolic_vars
from tvm.relax.expr import Binding, Call, Function
from tvm.relax.struct_info_rules import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.private_calls import private_functions, with_signatures
from tvm.relax.transform.rebuild import with_value


@relax_module_pass("RemoveUnusedParameters")
def RemoveUnusedParameters(mod: IRModule, ctx: PassContext) -> IRModule:
    """Drop them, and the arguments in all calls."""
    kept = {var: _kept(func) for var, func in private_functions(mod).items()}
    changed: dict[GlobalVar, Function] = {}
    for var, places in kept.items():
        func = mod[var]
        assert isinstance(func, Function), "only Relax functions are looked at"
        if len(places) < len(func.params):
            params = [func.params[i] for i in places]
            changed[var] = Function(
                params, func.body, func.ret_struct_info, func.is_pure, func.attrs, func.span
            )
    if not changed:
        return mod
    by_name = {var.name_hint: kept[var] for var in changed}

    def on_call(binding: Binding, call: Call, callee: GlobalVar) -> list[Binding]:
        args = [call.args[i] for i in by_name[callee.name_hint]]
        new = Call(callee, args, call.attrs, call.sinfo_args, call.span)
        new.struct_info_ = call.struct_info_
        return [with_value(binding, new)]

    return with_signatures(mod, changed, on_call)


def _kept(func: Function) -> list[int]:
    """The positions of parameters that are read, or that tell a size that is used."""
    read = set(free_vars(func.body))
    kept = [i for i, param in enumerate(func.params) if param in read]
    needed = set(used_symbolic_vars(func.body))
    needed.update(tir_vars_in_struct_info(func.ret_struct_info))
    for i in kept:
        needed.update(tir_vars_in_struct_info(func.params[i].struct_info))
    for i in kept:
        needed.difference_update(definable_tir_vars_in_struct_info(func.params[i].struct_info))
    for i, param in enumerate(func.params):
        told = set(definable_tir_vars_in_struct_info(param.struct_info)) & needed
        if i not in kept and told:
            kept.append(i)
            needed -= told
    return sorted(kept)
