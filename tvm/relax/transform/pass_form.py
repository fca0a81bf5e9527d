"""The forms of a Relax pass: the house decorator, and those for users' own passes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from tvm.error import CheckError, ReturnTypeError, message
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import (
    ModulePass,
    Pass,
    PassContext,
    PassInfo,
    declare_module_pass,
    hide_leading_parameters,
    users_pass,
)
from tvm.relax.expr import DataflowBlock, DataflowVar, Function, MatchCast
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.rebuild import map_dataflow_blocks
from tvm.relax.transform.settle import settled, settled_module
from tvm.support.arguments import check_options

P = ParamSpec("P")
Made = TypeVar("Made", bound=Pass)
FunctionRule = Callable[[Function, IRModule, PassContext], Function]


class FunctionPass(Pass):
    """A pass that looks at one Relax function at a time; functions of other dialects stay."""

    def __init__(self, func: FunctionRule, info: PassInfo) -> None:
        super().__init__(info)
        self._func = func

    def _finish(self, before: Function, after: Function, mod: IRModule) -> Function:
        return after

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {}
        for var, func in mod.functions.items():
            new = self._func(func, mod, ctx) if isinstance(func, Function) else func
            if isinstance(func, Function) and not isinstance(new, Function):
                raise ReturnTypeError(
                    f"pass {self.info.name!r} returned {type(new).__name__} for "
                    f"{var.name_hint!r}; legal: a relax.Function"
                )
            if isinstance(func, Function) and isinstance(new, Function):
                new = self._finish(func, new, mod)
            functions[var] = new
            if new is not func and _other_signature(new, func):
                var.struct_info_ = new.struct_info_
        return mod.with_functions(functions)

    def __repr__(self) -> str:
        info = self.info
        return f"Run Function pass: {info.name} at the optimization level {info.opt_level}"

    __str__ = __repr__


def _other_signature(new: BaseFunc, old: BaseFunc) -> bool:
    """Whether callers see another signature."""
    if not isinstance(new, Function) or not isinstance(old, Function):
        return False
    if len(new.params) != len(old.params) or new.ret_struct_info is not old.ret_struct_info:
        return True
    return any(a.struct_info_ is not b.struct_info_ for a, b in zip(new.params, old.params))


class _SettledPass(FunctionPass):
    """A pass of ours: values that it leaves without struct info get theirs afterwards."""

    def _finish(self, before: Function, after: Function, mod: IRModule) -> Function:
        return settled(before, after, mod)


class DataflowBlockPass(Pass):
    """A pass that looks at one dataflow block at a time."""

    def __init__(
        self,
        func: Callable[[DataflowBlock, IRModule, PassContext], DataflowBlock],
        info: PassInfo,
    ) -> None:
        super().__init__(info)
        self._func = func

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        functions = {
            var: self._function(func, mod, ctx) if isinstance(func, Function) else func
            for var, func in mod.functions.items()
        }
        return mod.with_functions(functions)

    def _function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def on_block(block: DataflowBlock) -> DataflowBlock:
            new = self._func(block, mod, ctx)
            if not isinstance(new, DataflowBlock):
                raise ReturnTypeError(
                    f"pass {self.info.name!r} returned {type(new).__name__} for a dataflow "
                    "block; legal: a relax.DataflowBlock"
                )
            if new is not block:
                _check_seen_outside(self.info.name, block, new)
            return new

        return map_dataflow_blocks(func, on_block)

    def __repr__(self) -> str:
        info = self.info
        return f"Run DataflowBlock pass: {info.name} at the optimization level {info.opt_level}"

    __str__ = __repr__


def _check_seen_outside(name: str, before: DataflowBlock, after: DataflowBlock) -> None:
    """What others may use, outputs and symbols of casts, must be the same objects as before."""
    for kind, seen in (("GlobalScope", _outputs), ("Symbolic", _symbols)):
        old, new = seen(before), seen(after)
        for hint, var in old.items():
            if new.get(hint) is var:
                continue
            what = "rewrite" if hint in new else "delete"
            raise CheckError(
                message(
                    f"pass {name!r}: DataflowBlock Pass should not {what} any {kind} Var",
                    found=f"{hint!r} is {'another variable' if hint in new else 'gone'}",
                    legal="new blocks bind the variables that are seen outside of the old ones",
                )
            )


def _outputs(block: DataflowBlock) -> dict[str, Any]:
    return {
        b.var.name_hint: b.var for b in block.bindings if not isinstance(b.var, DataflowVar)
    }


def _symbols(block: DataflowBlock) -> dict[str, Any]:
    casts = [b.struct_info for b in block.bindings if isinstance(b, MatchCast)]
    return {var.name: var for info in casts for var in tir_vars_in_struct_info(info)}


def relax_pass(
    name: str,
    opt_level: int = 0,
    required: Sequence[str] = (),
    traceable: bool = False,
    *,
    check: Callable[..., None] | None = None,
) -> Callable[
    [Callable[Concatenate[Function, IRModule, PassContext, P], Function]],
    Callable[P, FunctionPass],
]:
    """The house form: `f(func, mod, ctx, **options)` becomes a factory `F(**options)` of passes.

    `check` looks at the options when a pass is made.
    """
    return _house_form(PassInfo(opt_level, name, required, traceable), _SettledPass, check)


def relax_functions_pass(
    name: str, opt_level: int = 0, required: Sequence[str] = (), traceable: bool = False
) -> Callable[
    [Callable[Concatenate[Function, IRModule, PassContext, P], Function]], Callable[P, ModulePass]
]:
    """As `relax_pass`, for what is a pass over modules by its name: it shows as one."""

    def over_modules(func: FunctionRule, info: PassInfo) -> ModulePass:
        return ModulePass(_SettledPass(func, info).transform, info)

    return _house_form(PassInfo(opt_level, name, required, traceable), over_modules, None)


def _house_form(
    info: PassInfo,
    kind: Callable[[FunctionRule, PassInfo], Made],
    check: Callable[..., None] | None,
) -> Callable[
    [Callable[Concatenate[Function, IRModule, PassContext, P], Function]], Callable[P, Made]
]:
    def decorate(
        rule: Callable[Concatenate[Function, IRModule, PassContext, P], Function],
    ) -> Callable[P, Made]:
        @functools.wraps(rule)
        def factory(*args: P.args, **kwargs: P.kwargs) -> Made:
            check_options(rule, inspect.signature(factory), args, kwargs)
            if check is not None:
                check(*args, **kwargs)

            def run(func: Function, mod: IRModule, ctx: PassContext) -> Function:
                return rule(func, mod, ctx, *args, **kwargs)

            return kind(run, info)

        hide_leading_parameters(factory, rule, 3)
        return factory

    return decorate


def relax_module_pass(
    name: str,
    opt_level: int = 0,
    required: Sequence[str] = (),
    traceable: bool = False,
    *,
    check: Callable[..., None] | None = None,
) -> Callable[
    [Callable[Concatenate[IRModule, PassContext, P], IRModule]], Callable[P, ModulePass]
]:
    """The house form of a pass over modules; struct info in rewritten functions is settled."""

    def decorate(
        rule: Callable[Concatenate[IRModule, PassContext, P], IRModule],
    ) -> Callable[P, ModulePass]:
        def run(
            mod: IRModule, ctx: PassContext, /, *args: P.args, **kwargs: P.kwargs
        ) -> IRModule:
            return settled_module(mod, rule(mod, ctx, *args, **kwargs))

        functools.update_wrapper(run, rule)
        return declare_module_pass(name, opt_level, required, traceable, check=check)(run)

    return decorate


def _user_form(kind: type[Pass], method: str, what: str) -> Callable[..., Any]:
    def decorator(
        pass_func: Any = None,
        opt_level: int | None = None,
        name: str | None = None,
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> Any:
        options = (opt_level, name, required, traceable)
        return users_pass(pass_func, options, kind, method, what, what)

    decorator.__name__ = decorator.__qualname__ = f"{what}_pass"
    decorator.__doc__ = f"""A {what} pass of a user's callable, or of a class with `{method}`.

    Used as a decorator with `opt_level` (an int, which is needed), or called with the callable.
    Raises ValueError without a level, TypeError for what cannot be called.
    """
    return decorator


function_pass = _user_form(FunctionPass, "transform_function", "function")
dataflowblock_pass = _user_form(DataflowBlockPass, "transform_dataflowblock", "dataflowblock")
