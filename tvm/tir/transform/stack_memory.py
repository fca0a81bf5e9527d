"""Which scratch memory of a function lies on its stack: small pieces, as long as all are small."""

from __future__ import annotations

from typing import Final

from tvm.error import CheckError, message
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s

PIECE_BYTES: Final = 16384  # larger pieces come from the workspace pool, or the heap
LOCAL_BYTES: Final = 65536  # the same for scope "local": meant to become registers
# Of all pieces of a function: threads have stacks of 8 MB, on some systems of half a megabyte.
TOTAL_BYTES: Final = 262144


def lane_bytes(dtype: DataType) -> int:
    """Bytes of one lane in memory: a power of two."""
    return max(8, 1 << (dtype.bits - 1).bit_length()) // 8


def constant_bytes(op: s.Allocate) -> int | None:
    """The size of an allocation, if it is known."""
    size = lane_bytes(op.dtype) * op.dtype.lanes
    for extent in op.extents:
        if not isinstance(extent, e.IntImm):
            return None
        size *= extent.value
    return size


def stack_bytes(op: s.Allocate) -> int | None:
    """The size of an allocation if it is known, and small enough for the stack."""
    size = constant_bytes(op)
    scope = getattr(op.buffer_var.type_annotation, "storage_scope", "global")
    limit = LOCAL_BYTES if scope == "local" else PIECE_BYTES
    return size if size is not None and size <= limit else None


def checked_stack_bytes(op: s.Allocate, where: str) -> int:
    """The size of an allocation in the function `where`, for which code is written."""
    size = constant_bytes(op)
    if size is None:
        raise CheckError(
            message(
                f"code for scratch memory {op.buffer_var.name}",
                found=f"{' x '.join(map(str, op.extents))} elements on the stack",
                where=f"function {where}",
                legal="constant sizes; tir.LowerWorkspaces takes other memory from a pool",
            )
        )
    return size


class StackMemory:
    """What is left for scratch memory on the stack of one function."""

    def __init__(self) -> None:
        self._left = TOTAL_BYTES

    def take(self, op: s.Allocate) -> int | None:
        """The bytes that an allocation takes on the stack; None if it goes elsewhere."""
        size = stack_bytes(op)
        if size is None or size > self._left:
            return None
        self._left -= size
        return size
