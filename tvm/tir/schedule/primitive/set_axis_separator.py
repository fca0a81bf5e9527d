"""Say which dimensions of a buffer are flattened together."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.analysis.query import block_of, buffer_at, defining_site
from tvm.tir.schedule.buffers import BufferReplacer, replace_buffers
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind(
    "SetAxisSeparator", "set_axis_separator", "block", "=buffer_index", "=buffer_index_type",
    "=axis_separators",
)  # fmt: skip


def set_axis_separator(
    state: SRefTree,
    block: StmtSRef,
    buffer_index: int,
    buffer_index_type: str,
    axis_separators: Sequence[int],
) -> None:
    """Change the separators of a buffer, everywhere.

    A: Buffer((n, m))  ->  A: Buffer((n, m), axis_separators=axis_separators)
    """
    buffer = buffer_at(block_of(block), buffer_index, written=buffer_index_type == "write")
    cuts = [int(cut) for cut in axis_separators]
    if any(not 0 <= cut <= len(buffer.shape) for cut in cuts) or sorted(cuts) != cuts:
        raise Illegal(
            f"the axis separators {cuts} do not fit buffer {buffer.name!r} of "
            f"{len(buffer.shape)} dimensions",
            legal="ascending numbers from 0 to the number of dimensions",
            spots=[block.stmt],
            fast="The axis separators are out of range",
        )
    new = buffer.with_changes(axis_separators=tuple(cuts))
    site, allocated = defining_site(state, block, buffer)
    parameters = None if allocated else {buffer: new}
    replace_buffers(state, site, BufferReplacer({buffer: new}), parameters)
