"""Give parameters and symbolic sizes of a function values that are known while compiling.

    def main(x, w): ...        BindParams("main", {"w": array})       def main(x): ... array ...
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.error import CheckError, TVMError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Function
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.private_calls import used_functions
from tvm.support.arguments import explained
from tvm.support.suggest import did_you_mean
from tvm.tir.expr import Var


def _function(mod: IRModule, name: str, asked: str) -> Function:
    func = next((f for v, f in mod.functions.items() if v.name_hint == name), None)
    if not isinstance(func, Function):
        names = [v.name_hint for v, f in mod.functions.items() if isinstance(f, Function)]
        raise CheckError(
            message(
                f"{asked}: no Relax function {name!r}{did_you_mean(name, names)}",
                legal=", ".join(names) or "a module with a Relax function",
            )
        )
    return func


@declare_module_pass("BindParams")
@explained
def BindParams(
    mod: IRModule, ctx: PassContext, func_name: str, params: Mapping[Any, Any]
) -> IRModule:
    """Bind parameters of one function, by variable or by name, to tensors.

    A call of it within the module would have arguments for them: it is refused.
    """
    func = _function(mod, func_name, "BindParams")
    var = mod.get_global_var(func_name)
    new = func.bind_params(params)
    users = used_functions(mod)
    if var in users and len(new.params) != len(func.params):
        raise CheckError(
            message(
                f"BindParams: {func_name!r} has {len(func.params)} parameters, "
                f"{len(new.params)} of which stay",
                found=f"a use of it in {users[var]!r}",
                legal="a function that no other uses, e.g. after InlinePrivateFunctions",
            )
        )
    return _with(mod, {var: new})


@declare_module_pass("relax.BindSymbolicVars", opt_level=1)
@explained
def BindSymbolicVars(
    mod: IRModule,
    ctx: PassContext,
    binding_map: Mapping[Any, Any],
    func_name: str | None = None,
) -> IRModule:
    """Bind symbolic sizes, by variable or by name, in one function or in all."""
    if func_name is not None:
        var = mod.get_global_var(func_name)
        func = _function(mod, func_name, "BindSymbolicVars")
        return _with(mod, {var: func.bind_symbolic_vars(binding_map)})
    new: dict[GlobalVar, Function] = {}
    bound: set[Any] = set()
    for var, one in mod.functions.items():
        if isinstance(one, Function):
            own = {k: v for k, v in binding_map.items() if _has_symbol(one, k)}
            bound.update(own)
            if own:
                new[var] = one.bind_symbolic_vars(own)
    for key in binding_map:
        if key not in bound:
            raise _no_such_symbol(mod, key)
    return _with(mod, new)


def _with(mod: IRModule, changed: Mapping[GlobalVar, Function]) -> IRModule:
    """The module with other functions, their variables with the new signatures."""
    bb = BlockBuilder(mod)
    for var, func in changed.items():
        bb.update_func(var, func)
    return bb.get()


def _symbols(func: Function) -> list[Var]:
    return [v for p in func.params for v in tir_vars_in_struct_info(p.struct_info)]


def _has_symbol(func: Function, key: str | Var) -> bool:
    return any(v is key or v.name == key for v in _symbols(func))


def _no_such_symbol(mod: IRModule, key: str | Var) -> TVMError:
    functions = [f for f in mod.functions.values() if isinstance(f, Function)]
    names = list(dict.fromkeys(v.name for f in functions for v in _symbols(f)))
    name = key if isinstance(key, str) else key.name
    near = did_you_mean(name, names)
    return TVMError(
        message(
            f"BindSymbolicVars: no function of the module has a symbol {name!r}{near}",
            legal=", ".join(names) or "a module with symbolic sizes",
        )
    )
