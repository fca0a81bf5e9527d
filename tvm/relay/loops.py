"""Loops as functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr

from .expr import Call, Let, Tuple, Var
from .function import Function
from .scope_builder import ScopeBuilder


def while_loop(
    cond: Callable[..., RelaxExpr], loop_vars: Sequence[Var], loop_bodies: Callable[..., Any]
) -> Let:
    """A function of start values: `loop_bodies` of the variables for as long as `cond` holds.

    The result is a tuple of the last values.
    """
    sb = ScopeBuilder()
    loop = Var("while_loop")
    fresh_vars = list(loop_vars)
    with sb.if_scope(cond(*fresh_vars)):
        sb.ret(Call(loop, loop_bodies(*fresh_vars)))
    with sb.else_scope():
        sb.ret(Tuple(fresh_vars))
    return Let(loop, Function(fresh_vars, sb.get()), loop)
