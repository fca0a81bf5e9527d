"""Private functions whose signature may change: nobody but calls in the module mentions them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.relax.analysis.variables import all_global_vars
from tvm.relax.expr import Binding, Call, Function
from tvm.relax.transform.rebuild import all_bindings, map_bindings, sub_exprs

# A binding whose value calls a changed function, as the bindings that take its place.
CallRule = Callable[[Binding, Call, GlobalVar], list[Binding]]


def private_functions(mod: IRModule) -> dict[GlobalVar, Function]:
    """Relax functions without a global symbol that are called and never used as values."""
    found = {
        var: func
        for var, func in mod.functions_items()
        if isinstance(func, Function) and func.attrs.get("global_symbol") is None
    }
    for func in mod.functions.values():
        if isinstance(func, Function):
            for var in _used_as_values(func):
                found.pop(var, None)
    return found


def used_functions(mod: IRModule) -> dict[GlobalVar, str]:
    """The functions that Relax functions of the module use, and the name of one of the users."""
    found: dict[GlobalVar, str] = {}
    for user, func in mod.functions.items():
        if isinstance(func, Function):
            for var in all_global_vars(func):
                found.setdefault(var, user.name_hint)
    return found


def _used_as_values(func: Function) -> list[GlobalVar]:
    found = []
    for binding in all_bindings(func):
        value = binding.value
        callee = value.op if isinstance(value, Call) else None
        for expr in sub_exprs(binding.value):
            if isinstance(expr, GlobalVar) and expr is not callee:
                found.append(expr)
        if isinstance(value, Call) and any(arg is callee for arg in value.args):
            found.append(callee)  # type: ignore[arg-type]
    if isinstance(func.body.body, GlobalVar):
        found.append(func.body.body)
    return found


def with_signatures(
    mod: IRModule, changed: Mapping[GlobalVar, Function], rule: CallRule
) -> IRModule:
    """The module with other functions, and with their calls rewritten by `rule`.

    Each changed function gets a global variable of its own, since that carries the signature.
    """

    def on_binding(binding: Binding) -> list[Binding]:
        value = binding.value
        if isinstance(value, Call) and isinstance(value.op, GlobalVar) and value.op in fresh:
            return rule(binding, value, fresh[value.op])
        return [binding]

    fresh: dict[GlobalVar, GlobalVar] = {}
    for var, func in changed.items():
        fresh[var] = GlobalVar(var.name_hint)
        fresh[var].struct_info_ = func.struct_info_
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, old in mod.functions.items():
        found = changed.get(var)
        new: BaseFunc = old if found is None else found
        if isinstance(new, Function):
            new = map_bindings(new, on_binding)
        functions[fresh.get(var, var)] = new
    return mod.with_functions(functions)


