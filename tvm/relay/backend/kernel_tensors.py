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
from tvm.tir.function import PrimFunc

from .to_tir import to_tir

# Operators whose one operand is a tuple; strategies see its tensors.
_OF_TUPLES = ("concatenate", "stack", "einsum", "meshgrid", "adv_index", "qnn.concatenate")


def kernel_tensors(op: Op, attrs: Any, inputs: Sequence[Any]) -> list[Any]:
    """What a call of `op` gives for tensors, with its loops as they are before any schedule."""
    params = [Var(f"p{at}", TensorType(t.shape, str(t.dtype))) for at, t in enumerate(inputs)]
    args: list[Any] = [Tuple(params)] if op.name in _OF_TUPLES else list(params)
    func = to_tir(IRModule(), {"main": Function(params, Call(op, args, attrs))})["main"]
    assert isinstance(func, PrimFunc), "kernels are functions of loops"
    buffers = [func.buffer_map[param] for param in func.params if param in func.buffer_map]
    sources, results = buffers[: len(inputs)], buffers[len(inputs) :]
    made = te.extern(
        [buffer.shape for buffer in results], list(inputs), lambda ins, outs: func.body,
        in_buffers=sources, out_buffers=results, dtype=[str(buffer.dtype) for buffer in results],
        name=op.name.replace(".", "_"),
    )  # fmt: skip
    return list(made) if isinstance(made, (list, tuple)) else [made]
