"""Modules as functions of their own: one for each shape they are called with.

A class that sets `define_subroutine = True` is exported as a private function of its name in
snake case; a call of such a module becomes a call of that function, with its parameters behind
the arguments.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from tvm import relax as rx
from tvm import tir
from tvm.error import message
from tvm.ir import structural_equal
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import TupleStructInfo
from tvm.relax.struct_info_rules import substitute_struct_info, tir_vars_in_struct_info

# builder -> (class, its parameters' and arguments' struct info, the function) of each subroutine
_made: WeakKeyDictionary[BlockBuilder, list[tuple[type, Any, Any, bool]]] = WeakKeyDictionary()


class SubroutineMixin:
    """What makes `forward` of a module a function of its own."""

    define_subroutine: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        forward = cls.__dict__.get("forward")
        if forward is not None and not getattr(forward, "_is_subroutine_mixin", False):
            cls.forward = _dispatching(forward)  # type: ignore[attr-defined]


def _dispatching(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.define_subroutine:
            return forward(self, *args, **kwargs)
        builder = BlockBuilder.current()
        if builder is None:
            raise RuntimeError(
                message(f"{type(self).__name__}, which defines a subroutine",
                        found="no block builder", legal="calls within export_tvm")
            )  # fmt: skip
        return _call(builder, self, forward, args, kwargs)

    called._is_subroutine_mixin = True  # type: ignore[attr-defined]
    return called


def _call(
    bb: BlockBuilder, module: Any, forward: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> Any:
    from . import core

    tensors = [arg for arg in [*args, *kwargs.values()] if _is_value(arg)]
    given = [value._expr if isinstance(value, core.Tensor) else value for value in tensors]
    params = list(module.named_parameters())
    operands = [*given, *(param._expr for _, param in params)]
    info = TupleStructInfo([operand.struct_info for operand in operands])
    known = _made.setdefault(bb, [])
    found = next(
        (
            made
            for made in known
            if made[0] is type(module) and structural_equal(made[1], info, map_free_vars=True)
        ),
        None,
    )
    if found is None:
        found = (type(module), info, *_define(bb, module, forward, args, kwargs, params))
        known.append(found)
    _, _, gvar, wraps = found
    result = bb.emit(rx.Call(gvar, operands), name_hint=f"{gvar.name_hint}_output")
    return core.wrap_nested(result, result.name_hint) if wraps else result


def _is_value(arg: Any) -> bool:
    from . import core

    return isinstance(arg, (core.Tensor, rx.Expr))


def _define(
    bb: BlockBuilder,
    module: Any,
    forward: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
    params: list[tuple[str, Any]],
) -> tuple[Any, bool]:
    """The module's function: its variable, and whether it gives tensors of nn."""
    from . import core

    symbols: dict[tir.Var, tir.Var] = {}
    variables: list[rx.Var] = []

    def fresh(name: str, info: Any) -> rx.Var:
        # a function has symbols of its own
        for symbol in tir_vars_in_struct_info(info):
            symbols.setdefault(symbol, tir.Var(symbol.name, str(symbol.dtype)))
        var = rx.Var(name, substitute_struct_info(info, symbols))
        variables.append(var)
        return var

    def inner(name: str, arg: Any) -> Any:
        if isinstance(arg, core.Tensor):
            return core.Tensor(_expr=fresh(name, arg._expr.struct_info))
        return fresh(name, arg.struct_info) if isinstance(arg, rx.Expr) else arg

    names = list(_parameter_names(forward))
    inside = [inner(names[i] if i < len(names) else f"arg{i}", a) for i, a in enumerate(args)]
    inside_by_name = {name: inner(name, arg) for name, arg in kwargs.items()}
    before = [param._expr for _, param in params]
    for name, param in params:
        # the caller knows it by the path to it, which tells more than the module's own name
        outer = param._expr
        param._expr = fresh(getattr(outer, "name_hint", name), outer.struct_info)
    try:
        name = _snake_case(type(module).__name__)
        with bb.aside(), bb.function(name, variables, private=True):
            with bb.dataflow():
                made = forward(module, *inside, **inside_by_name)
                wraps = not isinstance(made, rx.Expr)
                output = bb.emit_output(_expr_of(made))
            gvar = bb.emit_func_output(output)
    finally:
        for (_, param), expr in zip(params, before):
            param._expr = expr
    return gvar, wraps


def _expr_of(value: Any) -> rx.Expr:
    if isinstance(value, rx.Expr):
        return value
    if isinstance(value, (tuple, list)):
        return rx.Tuple([_expr_of(part) for part in value])
    expr: rx.Expr = value._expr
    return expr


def _parameter_names(forward: Callable[..., Any]) -> list[str]:
    code: Any = forward.__code__
    return list(code.co_varnames[1 : code.co_argcount])


def _snake_case(name: str) -> str:
    """`MultiHeadAttention` as `multi_head_attention`."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()
