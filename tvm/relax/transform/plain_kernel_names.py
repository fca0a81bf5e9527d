"""Kernels that were made from others have the names of these, where nobody else has them.

    matmul1 (made of matmul), matmul_prepacked     ->     matmul, if no function is called so

Profiles, instruments of the virtual machine and dumps name kernels: they are looked for as they
were legalized.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.replace_global_vars import RENAMERS
from tvm.ir.transform import PassContext
from tvm.relax.expr import Function
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.tir.function import PrimFunc

MADE_OF: Final = "made_of_kernel"  # attribute of a kernel: the name of the one it was made of


@relax_module_pass("PlainKernelNames")
def PlainKernelNames(mod: IRModule, ctx: PassContext) -> IRModule:
    """Rename what only Relax functions call; the attribute that says so goes."""
    taken = {var.name_hint for var in mod.functions}
    renamed: dict[GlobalVar, GlobalVar] = {}
    functions = dict(mod.functions.items())
    for var, func in mod.functions_items():
        if not isinstance(func, PrimFunc) or func.attrs.get("global_symbol") is not None:
            continue
        made_of = func.attrs.get(MADE_OF)
        if made_of is not None:
            functions[var] = func.without_attr(MADE_OF)
        wanted = var.name_hint.removesuffix("_prepacked") if made_of is None else str(made_of)
        if wanted not in taken:
            taken.add(wanted)
            renamed[var] = GlobalVar(wanted, var.struct_info_)
    if renamed:
        rename = RENAMERS[Function.TYPE_KEY]
        functions = {
            renamed.get(var, var): rename(func, renamed) if isinstance(func, Function) else func
            for var, func in functions.items()
        }
    same = all(functions.get(var) is func for var, func in mod.functions.items())
    return mod if same else mod.with_functions(functions)
