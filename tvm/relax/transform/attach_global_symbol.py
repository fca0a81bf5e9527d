"""Give every function the name it has in the module as global symbol, to be called by it.

    @T.prim_func(private=True)               @T.prim_func
    def add(...)                     ->      def add(...)   # global_symbol = "add"

In a module for a system library all kernels share one table of names: there a kernel is called by
the module's `system_lib_prefix` and its name, wherever it is mentioned.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.expr import Function
from tvm.relax.transform.rename_globals import with_global_vars
from tvm.tir.function import PrimFunc


@declare_module_pass("AttachGlobalSymbol")
def AttachGlobalSymbol(mod: IRModule, ctx: PassContext) -> IRModule:
    """Set `global_symbol` on PrimFuncs and Relax functions."""
    prefix = str(mod.attrs.get("system_lib_prefix") or "")
    functions: dict[GlobalVar, BaseFunc] = {}
    renamed: dict[GlobalVar, GlobalVar] = {}
    for var, func in mod.functions.items():
        functions[var] = func
        if not isinstance(func, (PrimFunc, Function)):
            continue
        name = prefix + var.name_hint if isinstance(func, PrimFunc) else var.name_hint
        if func.attrs.get("global_symbol") == name:
            continue
        functions[var] = func.with_attr("global_symbol", name)
        if name != var.name_hint:
            renamed[var] = GlobalVar(name, var.struct_info_)
    made = mod.with_functions(functions)
    return with_global_vars(made, renamed) if renamed else made
