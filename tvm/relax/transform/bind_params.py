"""Give parameters and symbolic sizes of a function values that are known while compiling.

    def main(x, w): ...        BindParams("main", {"w": array})       def main(x): ... array ...
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.expr import Function
from tvm.support.suggest import did_you_mean


def _function(mod: IRModule, name: str, asked: str) -> Function:
    func = next((f for v, f in mod.functions.items() if v.name_hint == name), None)
    if not isinstance(func, Function):
        names = [v.name_hint for v, f in mod.functions.items() if isinstance(f, Function)]
        raise TVMError(
            message(
                f"{asked}: no Relax function {name!r}{did_you_mean(name, names)}",
                legal=", ".join(names) or "a module with a Relax function",
            )
        )
    return func


@declare_module_pass("BindParams")
def BindParams(
    mod: IRModule, ctx: PassContext, func_name: str, params: Mapping[Any, Any]
) -> IRModule:
    """Bind parameters of one function, by variable or by name, to tensors."""
    func = _function(mod, func_name, "BindParams")
    var = mod.get_global_var(func_name)
    return mod.with_functions({**mod.functions, var: func.bind_params(params)})


@declare_module_pass("BindSymbolicVars")
def BindSymbolicVars(
    mod: IRModule,
    ctx: PassContext,
    binding_map: Mapping[Any, Any],
    func_name: str | None = None,
) -> IRModule:
    """Bind symbolic sizes, by variable or by name, in one function or in all."""
    if func_name is not None:
        func = _function(mod, func_name, "BindSymbolicVars")
        var = mod.get_global_var(func_name)
        return mod.with_functions({**mod.functions, var: func.bind_symbolic_vars(binding_map)})
    functions = {
        var: func.bind_symbolic_vars(binding_map) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return mod.with_functions(functions)
