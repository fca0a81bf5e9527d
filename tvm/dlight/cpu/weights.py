"""Operands whose layout is free, as those of weights: the packed form is made apart.

    W_packed[jo, k, ji] = W[k, jo * NR + ji]         # once, when the program is compiled
    C[i, jo * NR + ji] += A[i, k] * W_packed[jo, k, ji]

The function says by its attribute `layout_free_buffers` which of its parameters these are (see
`relax.transform.AttachAttrLayoutFreeBuffers`), and the packing block is marked, so that
`relax.transform.SplitLayoutRewritePreproc` makes it a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, walk
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.stmt import Block, SeqStmt, Stmt
from tvm.tir.transform.prefetch_panels import PANEL

LAYOUT_FREE: Final = "layout_free_buffers"
PREPACK: Final = "meta_schedule.layout_rewrite_preproc"
# Tiles that read a panel: with more, waiting for it matters less than fetching costs.
FETCHERS: Final = 32


def free_buffers(sch: Schedule) -> set[Buffer]:
    """The parameters of known shape whose layout may be changed, each read once."""
    func = sch.mod["main"]
    assert isinstance(func, PrimFunc), "rules schedule TIR functions"
    positions = func.attrs.get(LAYOUT_FREE)
    if positions is None:
        return set()
    params = [func.params[int(str(position))] for position in positions]  # type: ignore[attr-defined]
    found = {func.buffer_map[param] for param in params if param in func.buffer_map}
    reads = [node.buffer for node in walk(func.body) if isinstance(node, BufferLoad)]
    return {
        buffer
        for buffer in found
        if all(isinstance(extent, IntImm) for extent in buffer.shape)
        and sum(read is buffer for read in reads) == 1
    }


def pack(
    sch: Schedule, copy: BlockRV, outer: Sequence[bool], column: int, width: int,
    ahead: Sequence[int] = (),
) -> None:  # fmt: skip
    """Let a copy write panels of `width` columns, one after another, and mark it.

    `outer` says which dimensions are those of a batch, `column` which one the columns are, and
    `ahead` which of the rest stand before the others.
    """

    def panels(*at: PrimExpr) -> list[PrimExpr]:
        batch = [index for index, first in zip(at, outer) if first]
        inner = [i for i in range(len(at)) if not outer[i] and i != column]
        rows = [at[i] for i in sorted(inner, key=lambda i: i not in ahead)]
        return [*batch, at[column] // width, *rows, at[column] % width]

    sch.transform_layout(copy, ("write", 0), panels)
    node: Block = sch.get(copy)
    if len(node.iter_vars) == len(node.writes[0].buffer.shape) - 1:
        sch.transform_block_layout(copy, panels)
    pack_before(sch, copy)


def pack_before(sch: Schedule, copy: BlockRV) -> None:
    """Mark a copy of weights to be made once and for all, before the function is called.

    Not so where the function tells its extents by names: nobody knows them then.
    """
    if all(isinstance(extent, IntImm) for extent in sch.get(copy).writes[0].buffer.shape):
        sch.annotate(copy, PREPACK, True)


def fetch_panels(sch: Schedule, tiles: LoopRV, repeats: int) -> None:
    """Let the tiles that read one panel of packed weights fetch the next meanwhile."""
    if repeats <= FETCHERS:
        sch.annotate(tiles, PANEL, repeats)


def without_packing(root: Block) -> tuple[Block, list[Stmt]]:
    """A root without what packs weights beforehand, which is looked for at the top alone."""
    body = root.body.seq if isinstance(root.body, SeqStmt) else (root.body,)
    packing = [
        stmt for stmt in body
        if any(PREPACK in block.annotations for block in statements(stmt, Block))
    ]  # fmt: skip
    made = {region.buffer for stmt in packing for block in statements(stmt, Block)
            for region in block.writes}  # fmt: skip
    kept = SeqStmt.flatten([stmt for stmt in body if stmt not in packing])
    buffers = [buffer for buffer in root.alloc_buffers if buffer not in made]
    return change_block(root, body=kept, alloc_buffers=buffers), packing
