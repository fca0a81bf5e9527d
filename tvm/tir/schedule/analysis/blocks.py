"""Kinds of blocks: complete, reduction; and scopes in which all blocks are one of the two.

A block is complete if its variables are all data parallel, it alone writes its buffers, and it does
not read them. It is a reduction if it has an `init`, its variables are data parallel or reducing,
it alone writes its buffers, and where it writes does not depend on reducing variables. (The terms
are those of Feng et al., "TensorIR", ASPLOS 2023.)
"""

from __future__ import annotations

from tvm.tir.block_scope import BlockScope, StmtSRef
from tvm.tir.expr import IterVar
from tvm.tir.functor import walk
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BufferStore, For

from .affine import affine_binding
from .query import block_of, scope_of

_PARALLEL = IterVar.DataPar
_REDUCE = IterVar.CommReduce


def is_dominant(scope: BlockScope, block: Block) -> bool:
    """True if the block alone writes each buffer that it writes."""
    return all(len(scope.buffer_writers.get(w.buffer, ())) <= 1 for w in block.writes)


def why_not_complete(scope: BlockScope, block: Block) -> str | None:
    """A sentence why the block is not complete, or None."""
    for iv in block.iter_vars:
        if iv.iter_type != _PARALLEL:
            return f"its variable {iv.var.name!r} is not data parallel"
    if not is_dominant(scope, block):
        return "another block of the scope writes the same buffer"
    written = {w.buffer for w in block.writes}
    for read in block.reads:
        if read.buffer in written:
            return f"it reads and writes buffer {read.buffer.name!r}"
    return None


def why_not_reduction(state: SRefTree, scope: BlockScope, block_sref: StmtSRef) -> str | None:
    """A sentence why the block is not a reduction, or None."""
    block = block_of(block_sref)
    if block.init is None:
        return "it has no init"
    if not affine_binding(state, block_sref):
        return "the binding of its variables is not affine"
    for iv in block.iter_vars:
        if iv.iter_type not in (_PARALLEL, _REDUCE):
            return f"its variable {iv.var.name!r} is neither data parallel nor reducing"
    if not is_dominant(scope, block):
        return "another block of the scope writes the same buffer"
    return _reducing_index(block)


def _reducing_index(block: Block) -> str | None:
    reducing = {iv.var for iv in block.iter_vars if iv.iter_type == _REDUCE}
    written = {w.buffer for w in block.writes}
    for stmt in (block.init, block.body):
        for node in () if stmt is None else walk(stmt):
            if isinstance(node, BufferStore) and node.buffer in written:
                for index in node.indices:
                    if any(part in reducing for part in walk(index)):
                        name = node.buffer.name
                        return f"where it writes {name!r} depends on a reducing variable"
    return None


def is_complete(state: SRefTree, block_sref: StmtSRef) -> bool:
    """True for a complete block of its scope."""
    scope = state.get_block_scope(scope_of(block_sref))
    return why_not_complete(scope, block_of(block_sref)) is None


def is_reduction(state: SRefTree, block_sref: StmtSRef) -> bool:
    """True for a reduction block of its scope."""
    scope = state.get_block_scope(scope_of(block_sref))
    return why_not_reduction(state, scope, block_sref) is None


def require_complete(state: SRefTree, block_sref: StmtSRef) -> None:
    """Refuse a block that is not complete."""
    block = block_of(block_sref)
    reason = why_not_complete(state.get_block_scope(scope_of(block_sref)), block)
    if reason is not None:
        raise Illegal(
            f"block {block.name_hint!r} is not a complete block: {reason}",
            legal="a block with data-parallel variables only, that alone writes its buffers "
            "and does not read them",
            spots=[block],
            fast="The block is not a complete block",
        )


def require_reduction(state: SRefTree, block_sref: StmtSRef) -> None:
    """Refuse a block that is not a reduction."""
    block = block_of(block_sref)
    reason = why_not_reduction(state, state.get_block_scope(scope_of(block_sref)), block_sref)
    if reason is not None:
        raise Illegal(
            f"block {block.name_hint!r} is not a reduction block: {reason}",
            legal="a block with an init, data-parallel and reducing variables, that alone writes "
            "its buffers",
            spots=[block],
            fast="The block is not a reduction block",
        )


def require_complete_or_reduction(state: SRefTree, block_sref: StmtSRef) -> None:
    """Refuse a block that is neither complete nor a reduction."""
    scope = state.get_block_scope(scope_of(block_sref))
    block = block_of(block_sref)
    complete = why_not_complete(scope, block)
    if complete is None:
        return
    reduction = why_not_reduction(state, scope, block_sref)
    if reduction is not None:
        raise Illegal(
            f"block {block.name_hint!r} is neither a complete block ({complete}) nor a reduction "
            f"block ({reduction})",
            legal="a complete block or a reduction block",
            spots=[block],
            fast="The block is neither a complete block nor a reduction block",
        )


def require_compact_below(state: SRefTree, sref: StmtSRef) -> None:
    """Refuse a loop or scope below which some block is neither complete nor a reduction."""
    stmt = sref.stmt
    children = state.child_blocks(sref) if isinstance(stmt, For) else list(
        state.get_block_scope(sref).children
    )
    for child in children:
        require_complete_or_reduction(state, child)
