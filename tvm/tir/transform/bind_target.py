"""Functions know the target that they are compiled for.

Functions that have a target keep it. A function that is called from a function for another host, or
that has no symbol of its own, is bound to what its callers need.
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.target.target import Target
from tvm.tir.function import PrimFunc


@declare_module_pass("tir.BindTarget")
def BindTarget(mod: IRModule, ctx: PassContext, target: Target | str) -> IRModule:
    """Each PrimFunc has the attribute `target`."""
    bound = target if isinstance(target, Target) else Target(target)
    functions = {}
    for var, func in mod.functions.items():
        functions[var] = _bind(func, bound) if isinstance(func, PrimFunc) else func
    return mod.with_functions(functions)


def _bind(func: PrimFunc, target: Target) -> PrimFunc:
    if func.attrs.get("target") is not None:
        return func
    if func.attrs.get("tir.is_host_func"):
        host = target.host if target.host is not None else target
        return func.without_attr("tir.is_host_func").with_attr("target", host)
    return func.with_attr("target", target)
