"""Kinds of blocks: complete, reduction; and scopes in which all blocks are one of the two.

A block is complete if its variables are all data parallel, it alone writes its buffers, and it does
not read them. It is a reduction if it has an `init`, its variables are data parallel or reducing,
it alone writes its buffers, and where it writes does not depend on reducing variables. (The terms
are those of Feng et al., "TensorIR", ASPLOS 2023.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IterVar
from tvm.tir.functor import uses_any, walk
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BufferStore, For

from .affine import affine_binding
from .query import block_of, scope_of

_PARALLEL = IterVar.DataPar
_REDUCE = IterVar.CommReduce


Writers = Mapping[Buffer, Sequence[StmtSRef]]


def is_dominant(writers: Writers, block: Block) -> bool:
    """True if the block alone writes each buffer that it writes."""
    return all(len(writers.get(w.buffer, ())) <= 1 for w in block.writes)


def why_not_complete(writers: Writers, block: Block) -> str | None:
    """A sentence why the block is not complete among the given writers, or None."""
    for iv in block.iter_vars:
        if iv.iter_type != _PARALLEL:
            return f"its variable {iv.var.name!r} is not data parallel"
    if not is_dominant(writers, block):
        return "another block writes the same buffer"
    written = {w.buffer for w in block.writes}
    for read in block.reads:
        if read.buffer in written:
            return f"it reads and writes buffer {read.buffer.name!r}"
    return None


def why_not_reduction(state: SRefTree, writers: Writers, block_sref: StmtSRef) -> str | None:
    """A sentence why the block is not a reduction among the given writers, or None."""
    block = block_of(block_sref)
    if block.init is None:
        return "it has no init"
    if not affine_binding(state, block_sref):
        return "the binding of its variables is not affine"
    for iv in block.iter_vars:
        if iv.iter_type not in (_PARALLEL, _REDUCE):
            return f"its variable {iv.var.name!r} is neither data parallel nor reducing"
    if not is_dominant(writers, block):
        return "another block writes the same buffer"
    return _reducing_index(block)


def _reducing_index(block: Block) -> str | None:
    reducing = {iv.var for iv in block.iter_vars if iv.iter_type == _REDUCE}
    written = {w.buffer for w in block.writes}
    for stmt in (block.init, block.body):
        for node in () if stmt is None else walk(stmt):
            if isinstance(node, BufferStore) and node.buffer in written:
                for index in node.indices:
                    if uses_any(index, reducing):
                        name = node.buffer.name
                        return f"where it writes {name!r} depends on a reducing variable"
    return None


def is_complete(state: SRefTree, block_sref: StmtSRef) -> bool:
    """True for a complete block of its scope."""
    return why_not_complete(_writers(state, block_sref), block_of(block_sref)) is None


def is_reduction(state: SRefTree, block_sref: StmtSRef) -> bool:
    """True for a reduction block of its scope."""
    return why_not_reduction(state, _writers(state, block_sref), block_sref) is None


def _writers(state: SRefTree, block_sref: StmtSRef) -> Writers:
    """Who writes what in the scope of a block."""
    return state.get_block_scope(scope_of(block_sref)).buffer_writers


def require_complete(state: SRefTree, block_sref: StmtSRef) -> None:
    """Refuse a block that is not complete."""
    block = block_of(block_sref)
    reason = why_not_complete(_writers(state, block_sref), block)
    if reason is not None:
        raise Illegal(
            f"block {block.name_hint!r} is not a complete block: {reason}",
            legal="a block with data-parallel variables only, that alone writes its buffers "
            "and does not read them",
            spots=[block],
            fast="Incomplete block",
            detail="The block {0} is not a complete block",
        )


def require_reduction(state: SRefTree, block_sref: StmtSRef) -> None:
    """Refuse a block that is not a reduction."""
    block = block_of(block_sref)
    reason = why_not_reduction(state, _writers(state, block_sref), block_sref)
    if reason is not None:
        raise Illegal(
            f"block {block.name_hint!r} is not a reduction block: {reason}",
            legal="a block with an init, data-parallel and reducing variables, that alone writes "
            "its buffers",
            spots=[block],
            fast="Not a reduction block",
            detail="The block {0} is not a reduction block",
        )


def require_complete_or_reduction(
    state: SRefTree, block_sref: StmtSRef, writers: Writers | None = None
) -> None:
    """Refuse a block that is neither complete nor a reduction, by default in its scope."""
    if writers is None:
        writers = _writers(state, block_sref)
    block = block_of(block_sref)
    complete = why_not_complete(writers, block)
    if complete is None:
        return
    reduction = why_not_reduction(state, writers, block_sref)
    if reduction is not None:
        raise Illegal(
            f"block {block.name_hint!r} is neither a complete block ({complete}) nor a reduction "
            f"block ({reduction})",
            legal="a complete block or a reduction block",
            spots=[block],
            fast="The block is neither a complete block nor a reduction block",
        )


def require_compact_below(state: SRefTree, sref: StmtSRef) -> None:
    """Refuse a loop or scope in which some block is neither complete nor a reduction.

    Of a loop only what is within counts: the init that stands before a sum does not matter there.
    """
    stmt = sref.stmt
    writers: dict[Buffer, list[StmtSRef]] | None = None
    children = list(state.get_block_scope(sref).children) if isinstance(stmt, Block) else []
    if isinstance(stmt, For):
        children = state.child_blocks(sref)
        writers = {}
        for child in children:
            for buffer in {w.buffer for w in block_of(child).writes}:
                writers.setdefault(buffer, []).append(child)
    for child in children:
        require_complete_or_reduction(state, child, writers)
