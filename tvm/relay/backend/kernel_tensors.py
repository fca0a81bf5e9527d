"""The tensors that a kernel of an operator of Relay makes of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relay.expr import Call, Tuple, Var
from tvm.relay.function import Function
from tvm.relay.ty import TensorType

from .to_tir import to_tir

# Operators whose one operand is a tuple; strategies see its tensors.
_OF_TUPLES = ("concatenate", "stack", "einsum", "meshgrid", "adv_index", "qnn.concatenate")


def kernel_tensors(op: Op, attrs: Any, inputs: Sequence[Any]) -> list[Any]:
    """What a call of `op` gives for tensors, with its loops as they are before any schedule."""
    params = [Var(f"p{at}", TensorType(t.shape, str(t.dtype))) for at, t in enumerate(inputs)]
    args: list[Any] = [Tuple(params)] if op.name in _OF_TUPLES else list(params)
    func = to_tir(IRModule(), {"main": Function(params, Call(op, args, attrs))})["main"]
    made = te.extern_primfunc(list(inputs), func, name=op.name.replace(".", "_"))  # type: ignore[arg-type]
    return list(made) if isinstance(made, (list, tuple)) else [made]
