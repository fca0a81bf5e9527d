"""Say which dimensions of a buffer are flattened together."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.schedule.analysis.query import block_of, buffer_at, defining_site
from tvm.tir.schedule.buffers import BufferReplacer, replace_buffers
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind(
    "SetAxisSeparator", "set_axis_separator", "block", "@buffer", "=axis_separators"
)  # fmt: skip


def set_axis_separator(
    state: SRefTree,
    block: StmtSRef,
    buffer: tuple[str, int],
    axis_separators: Sequence[int],
) -> None:
    """Change the separators of a buffer, everywhere.

    A: Buffer((n, m))  ->  A: Buffer((n, m), axis_separators=axis_separators)
    """
    old = buffer_at(block_of(block), buffer[1], written=buffer[0] == "write")
    cuts = [int(cut) for cut in axis_separators]
    if any(not 0 <= cut <= len(old.shape) for cut in cuts) or sorted(cuts) != cuts:
        raise Illegal(
            f"the axis separators {cuts} do not fit buffer {old.name!r} of "
            f"{len(old.shape)} dimensions",
            legal="ascending numbers from 0 to the number of dimensions",
            spots=[block.stmt],
            fast="The axis separators are out of range",
        )
    new = old.with_changes(axis_separators=tuple(cuts))
    site, allocated = defining_site(state, block, old)
    parameters = None if allocated else {old: new}

    def cut(view: Buffer) -> Buffer:  # a view has the last dimensions
        missing = len(old.shape) - len(view.shape)
        return view.with_changes(axis_separators=tuple([max(0, c - missing) for c in cuts]))

    replace_buffers(state, site, BufferReplacer({old: new}, cut), parameters)
