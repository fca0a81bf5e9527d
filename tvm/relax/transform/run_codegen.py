"""Functions for other code generators are given to them; their calls become calls of the results.

    gv = cls.fused_conv2d_dnnl(x, w)      # Codegen = "dnnl"
        ->
    gv = R.call_dps_packed("fused_conv2d_dnnl", (x, w), out_sinfo=...)

`relax.ext.<generator>(functions, options, constant_names)` gives the compiled modules. They are
the module's `external_mods`; the constants of the functions, by name, its `const_name_to_constant`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tvm.error import CheckError, message
from tvm.ffi import get_global_func
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.analysis import post_order_visit
from tvm.relax.expr import Call, Constant, ExternFunc, Function, Tuple
from tvm.relax.op.base import call_dps_packed
from tvm.relax.transform.dead_code_elimination import DeadCodeElimination
from tvm.relax.transform.rebuild import map_calls


@declare_module_pass("RunCodegen")
def RunCodegen(
    mod: IRModule,
    ctx: PassContext,
    target_options: Mapping[str, Mapping[str, Any]] | None = None,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """No function with the attribute `Codegen` is left."""
    outside = {
        var: func
        for var, func in mod.functions_items()
        if isinstance(func, Function) and func.attrs.get("Codegen") is not None
    }
    names: dict[Constant, str] = {}
    for var, func in outside.items():
        _name_constants(func, _symbol(var, func), names)
    libraries = _generated(outside.values(), target_options or {}, names)
    made = _without_calls(mod, outside)
    if libraries:
        made = made.with_attr("external_mods", [*_attr(mod, "external_mods", ()), *libraries])
    if names:
        held = {name: constant.data for constant, name in names.items()}
        known = dict(_attr(mod, "const_name_to_constant", {}))
        made = made.with_attr("const_name_to_constant", {**known, **held})
    return DeadCodeElimination(list(entry_functions or ()))(made)


def _attr(mod: IRModule, key: str, default: Any) -> Any:
    return mod.attrs.get(key, default) if mod.attrs else default


def _symbol(var: GlobalVar, func: Function) -> str:
    found = func.attrs.get("global_symbol")
    if found is None:
        raise CheckError(
            message(
                f"RunCodegen: {var.name_hint}",
                found="a function without a global symbol",
                legal="the name that its compiled form has",
            )
        )
    return str(found)


def _name_constants(func: Function, symbol: str, names: dict[Constant, str]) -> None:
    found: list[Constant] = []

    def visit(expr: RelaxExpr) -> None:
        if isinstance(expr, Constant) and expr not in names:
            names[expr] = f"{symbol}_const_{len(found)}"
            found.append(expr)

    post_order_visit(func, visit)


def _generated(
    functions: Sequence[Function] | Any, options: Mapping[str, Mapping[str, Any]],
    names: dict[Constant, str],
) -> list[Any]:  # fmt: skip
    """What the generators make, in the order of the functions."""
    groups: dict[str, list[Function]] = {}
    for func in functions:
        groups.setdefault(str(func.attrs["Codegen"]), []).append(func)
    made: list[Any] = []
    for generator, group in groups.items():
        generate = get_global_func(f"relax.ext.{generator}", allow_missing=True)
        if generate is None:
            raise CheckError(
                message(
                    f"RunCodegen: functions for {generator!r}",
                    found=f"Codegen is not found: relax.ext.{generator}",
                    legal="a code generator that is registered under this name",
                )
            )
        # a view: the FFI would copy a dict, and find no constant in the copy by itself
        made.extend(generate(group, dict(options.get(generator, {})), MappingProxyType(names)))
    return made


def _without_calls(mod: IRModule, outside: Mapping[GlobalVar, Function]) -> IRModule:
    """The module with calls of the compiled forms; functions that stood for them are gone."""

    def on_call(call: Call) -> RelaxExpr:
        callee = call.op
        if not isinstance(callee, GlobalVar) or callee not in outside:
            return call
        symbol = ExternFunc(_symbol(callee, outside[callee]))
        new = call_dps_packed(symbol, Tuple(call.args), out_sinfo=call.struct_info)
        new.span = call.span
        new.struct_info_ = call.struct_info_
        return new

    functions: dict[GlobalVar, BaseFunc] = {
        var: map_calls(func, on_call) if isinstance(func, Function) else func
        for var, func in mod.functions_items()
        if var not in outside
    }
    return mod.with_functions(functions)
