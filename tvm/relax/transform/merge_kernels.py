"""Kernels that are equal become one, which all calls go to.

    conv1(x: (n, (w - 1) // 8 + 1), ...)  ->  conv1(x: (n, m), ...)        conv1(x: (n, m), ...)
    conv2(x: (n, (w - 1) // 4 + 1), ...)  ->  conv2(x: (n, m), ...)   ->   (calls of both)

Legalization and fusion make equal kernels once already; this is for those that have become equal
since, as extents that were computed otherwise have names by now. The first keeps its name.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.replace_global_vars import RENAMERS
from tvm.ir.structural import structural_equal, structural_hash
from tvm.ir.transform import PassContext
from tvm.relax.expr import Function
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.tir.function import PrimFunc
from tvm.tir.transform.nodes_used import FUNCTION, nodes_used


@relax_module_pass("MergeKernels")
def MergeKernels(mod: IRModule, ctx: PassContext) -> IRModule:
    """Merge kernels that only graphs call."""
    if any(
        isinstance(func, PrimFunc) and FUNCTION in nodes_used(func.body)
        for func in mod.functions.values()
    ):
        return mod  # which kernels call each other, a renamer of graphs does not see
    seen: dict[int, list[tuple[GlobalVar, PrimFunc]]] = {}
    merged: dict[GlobalVar, GlobalVar] = {}
    for var, func in mod.functions_items():
        if not isinstance(func, PrimFunc) or func.attrs.get("global_symbol") is not None:
            continue
        alike = seen.setdefault(structural_hash(func), [])
        same = next((first for first, other in alike if structural_equal(other, func)), None)
        if same is None:
            alike.append((var, func))
        else:
            merged[var] = same
    if not merged:
        return mod
    rename = RENAMERS[Function.TYPE_KEY]
    functions: dict[GlobalVar, BaseFunc] = {
        var: rename(func, merged) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
        if var not in merged
    }
    return mod.with_functions(functions)
