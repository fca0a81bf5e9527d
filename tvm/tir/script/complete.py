"""What a script may leave out of a function: the root block, and what blocks read and write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.error import message
from tvm.tir import stmt as s
from tvm.tir.analysis.block_access_region import get_block_accesses
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BOOL, IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements

# Says that the script gave no reads (1), no writes (2), or neither (3).
DETECT_ACCESS: Final = "tir.script_parsing_detect_access"


def complete(func: PrimFunc, root_alloc_buffers: Sequence[Buffer]) -> PrimFunc:
    """The function with a root block around its blocks, and all accesses filled in."""
    body = func.body
    if _needs_root(body, root_alloc_buffers):
        root = s.Block(
            (), (), (), "root", body, None, root_alloc_buffers, None, None, body.span
        )
        body = s.BlockRealize((), IntImm(BOOL, 1), root, body.span)
    buffers = {buffer.data: buffer for buffer in func.buffer_map.values()}
    return func.with_body(fill_accesses(body, buffers))


def fill_accesses(body: s.Stmt, buffers: dict[Var, Buffer]) -> s.Stmt:
    """The statement with reads and writes where the script gave none."""
    if not any(DETECT_ACCESS in part.annotations for part in statements(body, s.Block)):
        return body
    return _FillAccesses(buffers).visit_stmt(body)


def _needs_root(body: s.Stmt, allocs: Sequence[Buffer]) -> bool:
    if allocs:
        return True
    if isinstance(body, s.BlockRealize):
        return bool(body.block.iter_vars)
    return any(statements(body, s.BlockRealize))


class _FillAccesses(StmtExprMutator):
    """Fills blocks from the inside out: an outer block sees what its inner ones say."""

    def __init__(self, buffers: dict[Var, Buffer]) -> None:
        super().__init__()
        self._known = dict(buffers)
        self._at_root = True

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        self._known[op.buffer.data] = op.buffer
        return super().visit_decl_buffer_(op)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        is_root, self._at_root = self._at_root and not op.iter_vars, False
        own = [*op.alloc_buffers, *[match.buffer for match in op.match_buffers]]
        self._known.update({buffer.data: buffer for buffer in own})
        block = super().visit_block_(op)
        assert isinstance(block, s.Block), "blocks stay blocks here"
        mask = block.annotations.get(DETECT_ACCESS)
        if mask is None:
            return block
        notes = {key: value for key, value in block.annotations.items() if key != DETECT_ACCESS}
        reads, writes = block.reads, block.writes
        bare = _with(block, reads, writes, notes)
        seen_reads, seen_writes, opaque = get_block_accesses(bare, self._known)
        if opaque:
            raise _unknown_access(block, opaque)
        # The root block names nothing: what it reads and writes follows from the blocks in it.
        if not is_root:
            wanted = int(mask)  # type: ignore[call-overload]
            reads = tuple(seen_reads) if wanted & 1 else reads
            writes = tuple(seen_writes) if wanted & 2 else writes
        return _with(block, reads, writes, notes)


def _unknown_access(block: s.Block, opaque: Sequence[s.BufferRegion]) -> ValueError:
    """The data pointer of a buffer goes somewhere: what is touched there cannot be seen."""
    names = ", ".join(f"{region.buffer.name}.data" for region in opaque)
    return ValueError(
        message(
            "ValueError: Can not auto detect buffer access region from tir.Load, tir.Store or "
            "direct access by buffer data",
            found=f"{names} in block {block.name_hint!r}",
            legal="Please annotation the access region manually: T.reads(...) and T.writes(...)",
        )
    )


def _with(
    block: s.Block,
    reads: Sequence[s.BufferRegion],
    writes: Sequence[s.BufferRegion],
    notes: dict[str, object],
) -> s.Block:
    return s.Block(
        block.iter_vars, reads, writes, block.name_hint, block.body, block.init,
        block.alloc_buffers, block.match_buffers, notes, block.span,
    )  # fmt: skip
