"""Rules for operators on quantized tensors."""

from __future__ import annotations

from typing import Any

from tvm.ir.op import register_op_attr


def register_qnn_legalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, types)` that writes a call as a target likes it."""
    return register_op_attr(op_name, "FTVMQnnLegalize", legal_op, level)


def register_qnn_canonicalize(op_name: str, legal_op: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, types)` that writes a call in plain operators."""
    return register_op_attr(op_name, "FTVMQnnCanonicalize", legal_op, level)
