"""Functions that come with their source: it joins the libraries that a build links.

    R.ExternFunc("f") with the attributes c_source (text) and c_source_fmt ("c", "cc", "cu")
"""

from __future__ import annotations

from typing import Final

from tvm.ffi.registry import get_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.analysis.variables import post_order_visit
from tvm.relax.expr import ExternFunc, Function

SOURCE: Final = "c_source"
FORMAT: Final = "c_source_fmt"


def with_extern_sources(mod: IRModule) -> IRModule:
    """The module with a library in `external_mods` for each external function that has a source."""
    found: dict[str, ExternFunc] = {}

    def note(expr: RelaxExpr) -> None:
        if isinstance(expr, ExternFunc) and SOURCE in expr.attrs:
            found.setdefault(expr.global_symbol, expr)

    for func in mod.functions.values():
        if isinstance(func, Function):
            post_order_visit(func, note)
    if not found:
        return mod
    create = get_global_func("runtime.CSourceModuleCreate")
    made = [
        create(str(func.attrs[SOURCE]), str(func.attrs.get(FORMAT, "c")), [name], [])
        for name, func in found.items()
    ]
    known = mod.attrs.get("external_mods", ()) if mod.attrs else ()
    return mod.with_attr("external_mods", [*known, *made])  # type: ignore[misc]
