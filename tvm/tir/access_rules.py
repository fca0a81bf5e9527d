"""What loads and stores of buffers must agree on: ranks, lanes, masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm.error import CheckError, DTypeError
from tvm.ffi.object import as_object
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType

if TYPE_CHECKING:
    from .buffer import Buffer


def as_buffer(value: Any, where: str) -> Buffer:
    """The buffer itself, or the one that a variable of a builder stands for."""
    found = value if hasattr(value, "axis_separators") else as_object(value)
    if not hasattr(found, "axis_separators"):
        raise TypeError(f"{where}: buffer is a {type(value).__name__}: {value!r}; legal: Buffer")
    buffer: Buffer = found
    return buffer


def require_index_count(buffer: Buffer, indices: tuple[PrimExpr, ...]) -> None:
    """Refuse more or fewer indices than the buffer has dimensions."""
    if len(indices) != len(buffer.shape):
        raise CheckError(
            f"Buffer {buffer.name} is {len(buffer.shape)}-dimensional, cannot be indexed with the "
            f"{len(indices)}-dimensional indices provided."
        )


def access_dtype(buffer: Buffer, indices: tuple[PrimExpr, ...]) -> DataType:
    """The type of buffer[indices]: the lanes of the last index times those of an element."""
    require_index_count(buffer, indices)
    if not indices:
        return buffer.dtype
    last = indices[-1].dtype
    for index in indices:
        dtype = index.dtype
        if not (dtype.is_int or dtype.is_uint or dtype.is_bool):
            raise DTypeError(
                f"Buffer {buffer.name} is indexed by {index}, which is {dtype}; legal: integers"
            )
        if not dtype.is_scalar and index is not indices[-1]:
            raise DTypeError(
                f"Buffer {buffer.name} is indexed by {index} before the last dimension; "
                "legal: a vector as the last index only"
            )
    if last.is_scalar:
        return buffer.dtype
    return buffer.dtype.with_lanes(last.lanes * buffer.dtype.lanes, last.is_scalable)


def check_predicate(mask: DataType, accessed: DataType, of: str, doing: str) -> None:
    """A mask has a truth value for each lane of what is accessed."""
    if mask.is_scalable != accessed.is_scalable:
        raise CheckError(f"Predicate mask dtype and {of} must both be scalable.")
    if mask.lanes != accessed.lanes:
        raise CheckError(
            f"Got a predicate mask with {mask.lanes} lanes, but trying to {doing} with "
            f"{accessed.lanes} lanes. The number of lanes must match."
        )
    if not mask.is_bool:
        raise CheckError(
            f"Predicate mask elements must be boolean values, but got {mask.element_of()}."
        )
