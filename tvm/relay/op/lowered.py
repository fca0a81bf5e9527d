"""Calls of functions that are lowered, or that an outside compiler makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call
from tvm.relay.ty import FuncType

from .declare import OPAQUE, Expr, Relate, as_expr, relay_op
from .kernel import not_compiled


def _result(ctx: Relate) -> Type | None:
    """What the function's type says; the operands get the types of its parameters."""
    func = ctx.types[0]
    if not isinstance(func, FuncType):
        return None
    ctx.assign(1, TupleType(func.arg_types))
    return func.ret_type


@relay_op("call_lowered", "CallLoweredAttrs", operands=("func", "inputs"), relation=_result,
          pattern=OPAQUE, hidden=("metadata",), optional={"metadata": None},
          lower=not_compiled)  # fmt: skip
def call_lowered(
    func: Expr, inputs: Sequence[Expr], metadata: Mapping[str, Any] | None = None
) -> Call:
    """The result of a global function that is no longer one of Relay, for a tuple of `inputs`.

    `metadata` tells of the function that it was: its attributes (`relay_attrs`), and the global
    variables of its PrimFuncs (`all_prim_fn_vars`).
    """
    made: Call = call_lowered.call(func, as_expr(list(inputs)), metadata=dict(metadata or {}))
    return made
