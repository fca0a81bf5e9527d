"""Pad the rows of a buffer so that they start at chosen offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import block_of, buffer_at, require_allocated
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.tree import SRefTree

KIND = kind(
    "StorageAlign", "storage_align", "block", "=buffer_index", "=axis", "=factor", "=offset"
)  # fmt: skip
KEY = "buffer_dim_align"


def storage_align(
    state: SRefTree, block: StmtSRef, buffer_index: int, axis: int, factor: int, offset: int
) -> None:
    """Annotate the block; lowering gives dimension `axis` a stride of k * factor + offset.

    S  ->  T.block_attr({"buffer_dim_align": [[buffer_index, axis, factor, offset]]}); S
    """
    node = block_of(block)
    buffer = buffer_at(node, buffer_index, written=True)
    ndim = len(buffer.shape)
    if factor <= 0:
        raise Illegal(
            f"the factor {factor} is not positive",
            legal="a positive factor",
            spots=[node],
            fast="The input `factor` of storage_align is expected to be a positive number.",
            detail="The input `factor` of storage_align is expected to be a positive number. "
            f"However, the input `factor` is {factor}, which is out of the expected range.",
        )
    if not -ndim <= axis < ndim:
        raise Illegal(
            f"the axis {axis} is out of range: buffer {buffer.name!r} has {ndim} dimensions",
            legal=f"an axis from {-ndim} to {ndim - 1}",
            spots=[node],
            fast="The input `axis` is out of range. It is required to be in range [-ndim, ndim) "
            "where `ndim` is the number of dimensions of the buffer to set storage alignment.",
            detail=f"The buffer to set storage alignment of, {buffer.name}, has {ndim} "
            f"dimension(s), so `axis` is required to be in [-{ndim}, {ndim}) for storage_align. "
            f"However, the input `axis` is {axis}, which is out of the expected range.",
        )
    require_allocated(state, block, buffer)
    axis %= ndim
    entries = [list(entry) for entry in _entries(node.annotations.get(KEY))]
    kept = [e for e in entries if not (int(e[0]) == buffer_index and int(e[1]) == axis)]
    annotations = {**node.annotations, KEY: (*kept, (buffer_index, axis, factor, offset))}
    new = change_block(node, annotations=annotations)
    state.replace(block, new, {node: new})


def _entries(value: Any) -> Sequence[Sequence[Any]]:
    if value is None:
        return []
    if isinstance(value, (list, tuple)) and all(len(entry) == 4 for entry in value):
        return value
    raise Illegal(
        f"the annotation {KEY!r} of the block is not a list of (buffer, axis, factor, offset)",
        legal="annotations that storage_align made",
        fast="The block annotation for storage align is invalid",
    )
