"""Calls of TIR functions that name their gradient become plain ones, once gradients are made."""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relax.expr import Call, Function, is_call_of
from tvm.relax.transform.rebuild import map_calls


def without_gradients(func: Function) -> Function:
    """The function with `call_tir` in the place of each `call_tir_with_grad`."""
    return map_calls(func, _plain)


def _plain(call: Call) -> RelaxExpr:
    if not is_call_of(call, "relax.call_tir_with_grad"):
        return call
    new = Call(Op.get("relax.call_tir"), call.args, None, call.sinfo_args, call.span)
    new.struct_info_ = call.struct_info_
    return new
