"""The only function of a module, or the only one with a symbol, is its entry."""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.tir.function import PrimFunc


@declare_module_pass("tir.AnnotateEntryFunc")
def AnnotateEntryFunc(mod: IRModule, ctx: PassContext) -> IRModule:
    """That function has the attribute `tir.is_entry_func`."""
    entry = _entry(mod)
    if entry is None:
        return mod
    func = mod.functions[entry].with_attr("tir.is_entry_func", True)
    return mod.with_functions({**mod.functions, entry: func})


def _entry(mod: IRModule) -> GlobalVar | None:
    if len(mod.functions) == 1:
        ((var, func),) = mod.functions.items()
        return var if isinstance(func, PrimFunc) else None
    exposed = []
    for var, func in mod.functions.items():
        if not isinstance(func, PrimFunc):
            return None  # the entry is a function of a graph
        if func.attrs.get("global_symbol") is not None:
            exposed.append(var)
    return exposed[0] if len(exposed) == 1 else None
