"""The forms of a TIR pass: the house decorator, and the one for users' own passes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Concatenate, ParamSpec

from tvm.error import ReturnTypeError
from tvm.ir.module import IRModule
from tvm.ir.transform import (
    Pass,
    PassContext,
    PassInfo,
    hide_leading_parameters,
    users_pass,
)
from tvm.support.arguments import check_options
from tvm.support.checkpoint import checkpoint
from tvm.tir.function import PrimFunc

P = ParamSpec("P")


class PrimFuncPass(Pass):
    """A pass that looks at one PrimFunc at a time; functions of other dialects stay."""

    FunctionPass: ClassVar[type[PrimFuncPass]]  # scripts ask a pass itself for what it is

    def __init__(
        self, func: Callable[[PrimFunc, IRModule, PassContext], PrimFunc | None], info: PassInfo
    ) -> None:
        super().__init__(info)
        self._func = func

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {}
        for var, func in mod.functions.items():
            if not isinstance(func, PrimFunc):
                functions[var] = func
                continue
            checkpoint(self.info.name)
            new = self._func(func, mod, ctx)
            if new is None:
                continue  # the pass removed the function
            if not isinstance(new, PrimFunc):
                raise ReturnTypeError(
                    f"pass {self.info.name!r} returned {type(new).__name__} for "
                    f"{var.name_hint!r}; legal: a PrimFunc, or None to remove it"
                )
            functions[var] = new
        return mod.with_functions(functions)

    def __repr__(self) -> str:
        info = self.info
        return f"PrimFuncPass({info.name}, opt_level={info.opt_level})"

    __str__ = __repr__


PrimFuncPass.FunctionPass = PrimFuncPass
FunctionPass = PrimFuncPass  # the name that other dialects have for it


def tir_pass(
    name: str, opt_level: int = 0, required: Sequence[str] = (), traceable: bool = False
) -> Callable[
    [Callable[Concatenate[PrimFunc, IRModule, PassContext, P], PrimFunc | None]],
    Callable[P, PrimFuncPass],
]:
    """The house form: `f(func, mod, ctx, **options)` becomes a factory `F(**options)` of passes."""

    def decorate(
        rule: Callable[Concatenate[PrimFunc, IRModule, PassContext, P], PrimFunc | None],
    ) -> Callable[P, PrimFuncPass]:
        info = PassInfo(opt_level, name, required, traceable)

        @functools.wraps(rule)
        def factory(*args: P.args, **kwargs: P.kwargs) -> PrimFuncPass:
            check_options(rule, inspect.signature(factory), args, kwargs)

            def run(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc | None:
                return rule(func, mod, ctx, *args, **kwargs)

            return PrimFuncPass(run, info)

        hide_leading_parameters(factory, rule, 3)
        return factory

    return decorate


def prim_func_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Decorate `(func, mod, ctx) -> func`, or a class with `transform_function`, as a pass."""
    options = (opt_level, name, required, traceable)
    return users_pass(
        pass_func, options, PrimFuncPass, "transform_function", "function", "PrimFunc"
    )
