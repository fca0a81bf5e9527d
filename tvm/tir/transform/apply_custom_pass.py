"""Run the passes that users have hung on the context, in their order.

    ctx.add_custom_pass(double, "tir.double")    # double(stmt) -> stmt
    B[i] = A[i]    ->    B[i] = A[i] * 2.0

A pass is a function of a PrimFunc's body, or of the whole PrimFunc, as its first parameter says: by
its annotation (`Stmt`, `PrimFunc`), else by its name (`func`, `f`, `prim_func`: the function,
anything else: the body). With three parameters it gets `(func, mod, ctx)`. A `Pass` gets the whole
module.
The default pipeline runs this pass once buffers are flat and loops still have their first form.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from tvm.error import CheckError, message
from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, Pass, PassContext, PassInfo, declare_module_pass
from tvm.tir.function import PrimFunc
from tvm.tir.stmt import Stmt

Rule = Callable[[PrimFunc, IRModule, PassContext], PrimFunc]
_OF_FUNCTIONS: Final = frozenset({"func", "f", "function", "prim_func", "primfunc"})


@declare_module_pass("tir.ApplyCustomPass")
def ApplyCustomPass(mod: IRModule, ctx: PassContext) -> IRModule:
    """The module after the custom passes of the context and of those around it."""
    for name, given in ctx.custom_passes.items():
        made = _named_pass(name, given)
        if ctx.pass_enabled(made.info):
            mod = made(mod)
    return mod


def _named_pass(name: str, given: Any) -> Pass:
    """What was added, as a pass that instruments see by its name."""
    info = PassInfo(0, name)
    if isinstance(given, Pass):
        return ModulePass(lambda mod, ctx: given.transform(mod, ctx), info)
    rule = _rule(given)

    def run(mod: IRModule, ctx: PassContext) -> IRModule:
        functions = dict(mod.functions)
        for var, func in mod.functions.items():
            if isinstance(func, PrimFunc):
                try:
                    functions[var] = rule(func, mod, ctx)
                except Exception as err:
                    raise CheckError(
                        message(
                            f"custom pass {name!r}",
                            found=f"{type(err).__name__}: {err}",
                            where=f"function {var.name_hint!r}",
                        )
                    ) from err
        return mod.with_functions(functions)

    return ModulePass(run, info)


def _rule(given: Callable[..., Any]) -> Rule:
    """A pass of any form as one of (func, mod, ctx)."""
    params = [
        p
        for p in inspect.signature(given).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(params) == 3:
        return lambda func, mod, ctx: _checked(given(func, mod, ctx), PrimFunc)
    if params and _takes_function(params[0]):
        return lambda func, mod, ctx: _checked(given(func), PrimFunc)
    return lambda func, mod, ctx: func.with_body(_checked(given(func.body), Stmt))


def _takes_function(param: inspect.Parameter) -> bool:
    said = param.annotation
    if said is inspect.Parameter.empty:
        return param.name in _OF_FUNCTIONS
    name = said if isinstance(said, str) else getattr(said, "__name__", "")
    return name.rpartition(".")[2] == "PrimFunc"


def _checked(found: Any, wanted: type) -> Any:
    if not isinstance(found, wanted):
        raise TypeError(f"it returned {type(found).__name__}; legal: a {wanted.__name__}")
    return found
