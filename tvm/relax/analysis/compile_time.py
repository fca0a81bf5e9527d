"""What can be computed before a function is called with its inputs."""

from __future__ import annotations

from tvm.relax.base_expr import Id
from tvm.relax.expr import Function, Var
from tvm.relax.int_attrs import int_attr
from tvm.relax.struct_info_rules import definable_tir_vars_in_struct_info
from tvm.support.arguments import explained
from tvm.tir import expr as tir

from .bindings import all_bindings
from .purity import contains_impure_call
from .variables import free_symbolic_vars, free_vars


@explained
def computable_at_compile_time(func: Function) -> list[Var]:
    """The variables that depend only on parameters given while compiling.

    The attribute `num_input` says how many parameters come first and are given at run time; without
    it all are, and what needs no parameter is left. Symbols are known by the shapes of such
    variables.
    """
    known: dict[Id, Var] = {}
    symbols: set[tir.Var] = set()

    def learn(var: Var) -> None:
        known[var.vid] = var
        symbols.update(definable_tir_vars_in_struct_info(var.struct_info))

    if "num_input" in func.attrs:
        for param in func.params[int_attr(func, "num_input") :]:
            learn(param)
    for binding in all_bindings(func):
        value = binding.value
        if (
            not contains_impure_call(value)
            and all(var.vid in known for var in free_vars(value))
            and symbols.issuperset(free_symbolic_vars(value))
        ):
            learn(binding.var)
    return list(known.values())
