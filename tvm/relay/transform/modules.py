"""Passes over the functions of a module: unused ones, inlining, eta expansion."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.expr import Call, Var
from tvm.relay.function import Function
from tvm.relay.rewrite import substitute
from tvm.relay.traverse import post_order, transform


@declare_module_pass("RemoveUnusedFunctions", opt_level=1)
def RemoveUnusedFunctions(
    mod: IRModule, ctx: PassContext, entry_functions: Sequence[str] | None = None
) -> IRModule:
    """Only functions that the entry functions (main) need are left."""
    stack = list(entry_functions or ("main",))
    needed: set[str] = set()
    while stack:
        name = stack.pop()
        if name in needed or name not in mod:
            continue
        needed.add(name)
        func = mod[name]
        stack.extend(e.name_hint for e in post_order(func) if isinstance(e, GlobalVar))
    return mod.with_functions({v: f for v, f in mod.functions.items() if v.name_hint in needed})


@declare_module_pass("InlineGlobals", opt_level=1)
def Inline(mod: IRModule, ctx: PassContext) -> IRModule:
    """Functions marked `Inline` stand where they were called, and are gone."""
    marked = {
        v.name_hint: f for v, f in mod.functions.items()
        if isinstance(f, Function) and f.attrs.get("Inline")
    }  # fmt: skip

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(new.op, GlobalVar) and new.op.name_hint in marked:
            func = marked[new.op.name_hint]
            binds = {param.vid: arg for param, arg in zip(func.params, new.args)}
            return transform(substitute(func.body, binds), rule)
        return new

    kept = {
        v: transform(f, rule) if isinstance(f, Function) else f
        for v, f in mod.functions.items() if v.name_hint not in marked
    }  # fmt: skip
    return mod.with_functions(kept)  # type: ignore[arg-type]


@declare_module_pass("EtaExpand", opt_level=1)
def EtaExpand(
    mod: IRModule, ctx: PassContext, expand_constructor: bool = False,
    expand_global_var: bool = False,
) -> IRModule:  # fmt: skip
    """Constructors and global functions that are used as values become functions."""
    if not (expand_constructor or expand_global_var):
        raise TVMError("EtaExpand: must expand at least one language feature")
    from tvm.relay.adt import Constructor

    from .infer_type import InferType

    mod = InferType()(mod)

    def expanded(expr: RelaxExpr) -> RelaxExpr:
        if expand_constructor and isinstance(expr, Constructor):
            data = mod.type_definitions[expr.belong_to]
            params = [Var(f"eta_expand_param_{i}", t) for i, t in enumerate(expr.inputs)]
            return Function(params, Call(expr, params), None, data.type_vars)
        if expand_global_var and isinstance(expr, GlobalVar):
            func = mod[expr.name_hint]
            assert isinstance(func, Function), "it is called in Relay"
            params = [Var(p.name_hint, p.type_annotation) for p in func.params]
            return Function(params, Call(expr, params), func.ret_type, func.type_params)
        return expr

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        from tvm.relay.traverse import children, rebuild

        parts = list(children(new))
        # A constructor is called as it is; a global function is a value there, too.
        start = 1 if isinstance(new, Call) and isinstance(new.op, Constructor) else 0
        changed = parts[:start] + [once(part) for part in parts[start:]]
        return rebuild(new, changed) if parts else new

    made: dict[GlobalVar, Any] = {}
    for var, func in mod.functions.items():
        once = functools.cache(expanded)
        made[var] = transform(func, rule) if isinstance(func, Function) else func
    return mod.with_functions(made)
