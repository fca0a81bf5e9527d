"""Functions for outside compilers: out of line, in line, and left to others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.expr import Call
from tvm.relay.function import Function, FunctionWithFields
from tvm.relay.traverse import transform


def _is_for(func: RelaxExpr, compiler: str) -> bool:
    """True for a function with a `Compiler`, that one if one is named."""
    if not isinstance(func, Function) or "Compiler" not in func.attrs:
        return False
    return not compiler or str(func.attrs["Compiler"]) == compiler


@declare_module_pass("OutlineCompilerFunctions", opt_level=0)
def OutlineCompilerFunctionsWithExistingGlobalSymbols(
    mod: IRModule, ctx: PassContext, compiler_filter: str = ""
) -> IRModule:
    """Functions in line that have a `global_symbol` stand in the module under it."""
    made: dict[GlobalVar, Any] = {}

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(new, Call) and isinstance(new.op, Function)):
            return new
        if not _is_for(new.op, compiler_filter) or "global_symbol" not in new.op.attrs:
            return new
        name = str(new.op.attrs["global_symbol"])
        var = next((v for v in made if v.name_hint == name), GlobalVar(name))
        made[var] = new.op
        return Call(var, new.args, new.attrs, new.type_args, new.span)

    functions: dict[GlobalVar, Any] = {
        v: transform(f, rule) if isinstance(f, Function) else f for v, f in mod.functions.items()
    }
    return mod.with_functions({**functions, **made})


@declare_module_pass("MarkCompilerFunctionsAsExtern", opt_level=0)
def MarkCompilerFunctionsAsExtern(
    mod: IRModule, ctx: PassContext, compiler_filter: str = ""
) -> IRModule:
    """Functions with a `Compiler` are marked `Extern` instead: they are compiled."""
    made: dict[GlobalVar, Any] = {}
    for var, func in mod.functions.items():
        made[var] = func
        if isinstance(func, Function) and _is_for(func, compiler_filter):
            attrs = {k: v for k, v in func.attrs.items() if k != "Compiler"}
            made[var] = FunctionWithFields(func, attrs={**attrs, "Extern": 1})
    return mod.with_functions(made)


@declare_module_pass("InlineCompilerFunctionsBoundTo", opt_level=0)
def InlineCompilerFunctionsBoundTo(
    mod: IRModule, ctx: PassContext, global_vars: Sequence[GlobalVar]
) -> IRModule:
    """Functions for outside compilers under the given names stand where they are called."""
    names = {var.name_hint for var in global_vars}
    gone = {
        v.name_hint: f for v, f in mod.functions.items()
        if v.name_hint in names and _is_for(f, "")
    }  # fmt: skip

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        from tvm.relay.rewrite import substitute

        if not (isinstance(new, Call) and isinstance(new.op, GlobalVar)):
            return new
        func = gone.get(new.op.name_hint)
        if not isinstance(func, Function):
            return new
        return substitute(func.body, {p.vid: a for p, a in zip(func.params, new.args)})

    made = {
        v: transform(f, rule) if isinstance(f, Function) else f
        for v, f in mod.functions.items() if v.name_hint not in gone
    }  # fmt: skip
    return mod.with_functions(made)  # type: ignore[arg-type]
