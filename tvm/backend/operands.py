"""Checks of operands that all backends share."""

from __future__ import annotations

from tvm.error import DTypeError, message
from tvm.support.dtype import DataType
from tvm.tir import expr as e


def integer_operand(call: e.Call) -> DataType:
    """The type of the first operand, whose single bits count; DTypeError for floats."""
    dtype: DataType = call.args[0].dtype
    if not (dtype.is_integer or dtype.is_bool):
        raise DTypeError(
            message(
                f"machine code for {call}",
                found=f"an operand of {dtype}",
                legal="integers; T.reinterpret gives the bits of other numbers",
            )
        )
    return dtype
