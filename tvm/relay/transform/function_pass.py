"""Passes that go from function to function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import Pass, PassContext, PassInfo, hide_leading_parameters, users_pass
from tvm.relay.function import Function
from tvm.support.arguments import check_options

from .infer_type import InferType, typed

P = ParamSpec("P")


class FunctionPass(Pass):
    """A pass that sees one function of Relay at a time, with the module for questions.

    Types are inferred after it, by a pass of its own that instruments see.
    """

    def __init__(
        self, func: Callable[[Function, IRModule, PassContext], Function], info: PassInfo
    ) -> None:
        super().__init__(info)
        self._func = func

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        made = dict(mod.functions)
        for var, func in mod.functions.items():
            if isinstance(func, Function) and "SkipOptimization" not in func.attrs:
                made[var] = self._func(func, mod, ctx)
        return InferType()(mod.with_functions(made))

    def __repr__(self) -> str:
        info = self.info
        return f"Run Function pass: {info.name} at the optimization level {info.opt_level}"

    __str__ = __repr__


def build_config(
    opt_level: int = 2,
    required_pass: Sequence[str] | None = None,
    disabled_pass: Sequence[str] | None = None,
    trace: Any = None,
) -> PassContext:
    """The context of older scripts: `with build_config(opt_level=3): ...`."""
    return PassContext(opt_level, required_pass, disabled_pass)


def function_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
) -> Any:
    """Decorate `f(func, mod, ctx) -> func`, or a class with `transform_function`, as a pass."""
    options = (opt_level, name, required, False)
    return users_pass(pass_func, options, FunctionPass, "transform_function", "function", "Module")


def expr_pass(
    name: str, opt_level: int = 0, needs_types: bool = True, required: Sequence[str] = ()
) -> Callable[
    [Callable[Concatenate[RelaxExpr, IRModule, PassContext, P], RelaxExpr]],
    Callable[P, FunctionPass],
]:
    """The house form: `f(func, mod, ctx, **options)` becomes a factory `F(**options)` of passes.

    With `needs_types` the functions have types before it, also where nobody ran `InferType`;
    a sequence runs the passes named in `required` before it, too.
    """

    def decorate(
        func: Callable[Concatenate[RelaxExpr, IRModule, PassContext, P], RelaxExpr],
    ) -> Callable[P, FunctionPass]:
        info = PassInfo(opt_level, name, [*["InferType"][:needs_types], *required])

        @functools.wraps(func)
        def factory(*args: P.args, **kwargs: P.kwargs) -> FunctionPass:
            check_options(func, inspect.signature(factory), args, kwargs)

            def run(expr: Function, mod: IRModule, ctx: PassContext) -> Function:
                made = func(expr, mod, ctx, *args, **kwargs)
                assert isinstance(made, Function), "a function stays one"
                return made

            return _Typed(run, info) if needs_types else FunctionPass(run, info)

        hide_leading_parameters(factory, func, 3)
        return factory

    return decorate


class _Typed(FunctionPass):
    """A function pass with types inferred before it, too."""

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return super().transform(typed(mod), ctx)
