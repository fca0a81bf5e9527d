"""Checks that several backends share."""

from __future__ import annotations

from tvm.error import CheckError, DTypeError, message
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s


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


def require_run_once(op: s.AttrStmt, function: str) -> None:
    """A TVMError unless a scope that initialises something names the one way there is."""
    if not (isinstance(op.value, e.StringImm) and op.value.value == "TVMBackendRunOnce"):
        raise CheckError(
            message(
                f"{op.attr_key} = {op.value}",
                found="no such way to initialise",
                where=f"function {function}",
                legal='"TVMBackendRunOnce"',
            )
        )
