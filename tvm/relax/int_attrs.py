"""Attributes of functions that are integers: `num_input`, `WorkspaceSize`."""

from __future__ import annotations

from tvm.error import CheckError, message
from tvm.relax.expr import Function
from tvm.relax.struct_info import const_int


def int_attr(func: Function, key: str, default: int = 0) -> int:
    """The value of an attribute, given as a Python number or as `T.int64(4)`."""
    value = func.attrs.get(key, default)
    number = const_int(value)
    if number is None or isinstance(value, bool):
        raise CheckError(
            message(
                f"the attribute {key} of a function",
                found=f"{value!r} of type {type(value).__name__}",
                legal="an integer",
            )
        )
    return number
