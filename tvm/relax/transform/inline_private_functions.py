"""Put the bodies of private functions in place of their calls.

    @R.function(private=True)
    def twice(x): return R.add(x, x)
                                              ->      def main(x):
    def main(x):                                          y = R.add(x, x)
        y = cls.twice(x)                                  return y
        return y

Functions that call themselves, directly or through others, stay; so do groups for fusion and parts
for outside libraries. Those without a mention left are dropped, and work that nobody needs.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis import detect_recursion
from tvm.relax.bind import inline_functions
from tvm.relax.expr import Function
from tvm.relax.transform.canonicalize_bindings import CanonicalizeBindings
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork, called_functions
from tvm.relax.transform.pass_form import relax_module_pass

_KEPT = ("Primitive", "Composite", "Codegen")


@relax_module_pass("InlinePrivateFunctions")
def InlinePrivateFunctions(mod: IRModule, ctx: PassContext) -> IRModule:
    """Inline into every function that stays."""
    recursive = {var for cycle in detect_recursion(mod) for var in cycle}
    inlined = {
        var: func
        for var, func in mod.functions.items()
        if isinstance(func, Function) and var not in recursive and _may_go(func)
    }
    if not inlined:
        return mod
    mentioned = {v for f in mod.functions.values() for v in called_functions(f)}
    inlined = {var: func for var, func in inlined.items() if var in mentioned}
    if not inlined:
        return _tidied(mod)
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if var not in inlined:
            is_relax = isinstance(func, Function)
            functions[var] = inline_functions(func, inlined) if is_relax else func  # type: ignore[arg-type]
    kept: dict[GlobalVar, BaseFunc] = {}  # those used as values, and what they mention
    found: list[BaseFunc] = list(functions.values())
    while found:
        for var in called_functions(found.pop()):
            if var in inlined and var not in kept:
                kept[var] = inlined[var]
                found.append(inlined[var])
    left = {var: func for var, func in inlined.items() if var in kept}
    return _tidied(mod.with_functions({**functions, **left}))


def _tidied(mod: IRModule) -> IRModule:
    return RemoveUnusedWork()(CanonicalizeBindings()(mod))


def _is_private(func: Function) -> bool:
    return func.attrs.get("global_symbol") is None


def _may_go(func: Function) -> bool:
    return _is_private(func) and all(func.attrs.get(key) is None for key in _KEPT)
