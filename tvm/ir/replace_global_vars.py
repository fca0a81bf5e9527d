"""Give functions of a module other names, at their definitions and at every use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tvm.error import TVMError

from .expr import GlobalVar
from .function import BaseFunc
from .module import IRModule
from .node import of_type

# How each dialect renames the uses within one of its functions, by the function's type key. The
# dialects fill it when their functors load; this floor knows none of them.
RENAMERS: Final[dict[str, Callable[[BaseFunc, Mapping[GlobalVar, GlobalVar]], BaseFunc]]] = {}

# The same for variables that stand for the same functions: what is known of each call stays.
SUCCESSORS: Final[dict[str, Callable[[BaseFunc, Mapping[GlobalVar, GlobalVar]], BaseFunc]]] = {}


def with_successors(mod: IRModule, successors: Mapping[GlobalVar, GlobalVar]) -> IRModule:
    """The module with other variables for some of its functions, of the same names."""
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        follow = SUCCESSORS.get(func.TYPE_KEY) or RENAMERS.get(func.TYPE_KEY)
        functions[successors.get(var, var)] = func if follow is None else follow(func, successors)
    return mod.with_functions(functions)


def replace_global_vars(
    mod: IRModule, replacements: Mapping[str | GlobalVar, str | GlobalVar]
) -> IRModule:
    """The module with functions renamed; a global symbol that was the old name follows."""
    mapping: dict[GlobalVar, GlobalVar] = {}
    for old, new in replacements.items():
        before = mod.get_global_var(old) if isinstance(old, str) else old
        of_type(before, GlobalVar, "replace_global_vars: an old name")
        if before not in mod.functions:
            name = before.name_hint
            raise TVMError(f"replace_global_vars: {name!r} is no function of the module")
        after = GlobalVar(new, before.struct_info_) if isinstance(new, str) else new
        of_type(after, GlobalVar, "replace_global_vars: a new name")
        if after.struct_info_ is None:
            after.struct_info_ = before.struct_info_
        mapping[before] = after
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        rename = RENAMERS.get(func.TYPE_KEY)
        new_func = func if rename is None else rename(func, mapping)
        if var in mapping and new_func.attrs.get("global_symbol") == var.name_hint:
            new_func = new_func.with_attr("global_symbol", mapping[var].name_hint)
        functions[mapping.get(var, var)] = new_func
    return mod.with_functions(functions)
