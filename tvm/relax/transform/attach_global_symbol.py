"""Give every function that has none its name as global symbol, so that it can be called by it.

    @T.prim_func(private=True)               @T.prim_func
    def add(...)                     ->      def add(...)   # global_symbol = "add"

Relax functions keep what they have: only the kernels they call become visible.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.expr import Function
from tvm.tir.function import PrimFunc


@declare_module_pass("AttachGlobalSymbol")
def AttachGlobalSymbol(mod: IRModule, ctx: PassContext) -> IRModule:
    """Set `global_symbol` on PrimFuncs and Relax functions without one."""
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, (PrimFunc, Function)) and func.attrs.get("global_symbol") is None:
            functions[var] = func.with_attr("global_symbol", var.name_hint)
        else:
            functions[var] = func
    return mod.with_functions(functions)
