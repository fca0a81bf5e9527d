"""Which scratch memory of a function lies on its stack: small pieces, as long as all are small."""

from __future__ import annotations

from typing import Final

from tvm.tir import expr as e
from tvm.tir import stmt as s

PIECE_BYTES: Final = 16384  # larger pieces come from the workspace pool, or the heap
LOCAL_BYTES: Final = 65536  # the same for scope "local": meant to become registers
# Of all pieces of a function: threads have stacks of 8 MB, on some systems of half a megabyte.
TOTAL_BYTES: Final = 262144


def constant_bytes(op: s.Allocate, unit: int) -> int | None:
    """The size of an allocation of lanes of `unit` bytes, if it is known."""
    size = unit * op.dtype.lanes
    for extent in op.extents:
        if not isinstance(extent, e.IntImm):
            return None
        size *= extent.value
    return size


def stack_bytes(op: s.Allocate, unit: int) -> int | None:
    """The size of an allocation if it is known, and small enough for the stack."""
    size = constant_bytes(op, unit)
    scope = getattr(op.buffer_var.type_annotation, "storage_scope", "global")
    limit = LOCAL_BYTES if scope == "local" else PIECE_BYTES
    return size if size is not None and size <= limit else None


class StackMemory:
    """What is left for scratch memory on the stack of one function."""

    def __init__(self) -> None:
        self._left = TOTAL_BYTES

    def take(self, op: s.Allocate, unit: int) -> int | None:
        """The bytes that an allocation takes on the stack; None if it goes elsewhere."""
        size = stack_bytes(op, unit)
        if size is None or size > self._left:
            return None
        self._left -= size
        return size
