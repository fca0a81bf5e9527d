"""What can be computed before a function is called with its inputs."""

from __future__ import annotations

from tvm.relax.base_expr import Id
from tvm.relax.expr import Function, MatchCast, Var
from tvm.relax.struct_info import const_int

from .bindings import all_bindings
from .purity import contains_impure_call
from .variables import free_vars


def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables that depend only on parameters given while compiling.

    The attribute `num_input` says how many parameters come first and are given at run time; without
    it all are. A value that depends on nothing counts only if it is needed by nothing of run time.
    """
    count = func.attrs.get("num_input")
    if count is None:
        return []
    number = const_int(count) or 0
    known: dict[Id, Var] = {param.vid: param for param in func.params[number:]}
    result = list(known.values())
    for binding in all_bindings(func):
        if isinstance(binding, MatchCast) or contains_impure_call(binding.value):
            continue
        if all(var.vid in known for var in free_vars(binding.value)):
            known[binding.var.vid] = binding.var
            result.append(binding.var)
    return result
