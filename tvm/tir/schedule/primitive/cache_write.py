"""Write a buffer through a copy in other memory."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import And
from tvm.tir.functor import statements, uses_any
from tvm.tir.op.arith import is_one
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule.analysis.affine import loop_ranges
from tvm.tir.schedule.analysis.query import (
    block_of,
    buffer_at,
    defining_site,
    path_between,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.cached_region import (
    CachedRegion,
    guarded_analyzer_at,
    has_address,
    is_within,
    leaves_gaps,
    read_region,
    written_region,
)
from tvm.tir.schedule.copied_access import require_own_start
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.set_scope import require_scope
from tvm.tir.schedule.scopes import TRUE, ScopeEdit, edit_scope, writers_around
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.schedule.write_back import WriteBack, users_around
from tvm.tir.stmt import Block, For

KIND = kind(
    "CacheWrite", "cache_write", "block", "=write_buffer_index", "=storage_scope",
    "[consumer_blocks",
)  # fmt: skip


def cache_write(
    state: SRefTree,
    block: StmtSRef,
    write_buffer_index: int,
    storage_scope: str,
    consumer_blocks: Sequence[StmtSRef],
) -> StmtSRef:
    """Let the block write a copy, and copy it to the buffer in front of who needs it first.

    WriteBack tells where that is.

    for i: B[i] = f(A[i])   ->   for i: B_scope[i] = f(A[i])
                                 for ax0: B[ax0] = B_scope[ax0]
    """
    require_scope(storage_scope)
    node = block_of(block)
    buffer = buffer_at(node, write_buffer_index, written=True)
    scope = scope_of(block)
    require_own_start(node, buffer)
    consumers = _consumers(state, scope, buffer, block, consumer_blocks)
    back = WriteBack(state, scope, block, buffer, consumers)
    region = written_region(state, block, buffer, back.ancestor)
    users = [node, *map(block_of, consumers)]
    whole = region if back.ancestor is scope else written_region(state, block, buffer, scope)
    analyzer = guarded_analyzer_at(state, scope)
    covered = all(
        is_within(analyzer, read_region(state, user, buffer, scope), whole) for user in consumers
    )
    _require_nothing_else(state, scope, block, buffer, covered)
    compact = back.ancestor is scope and covered
    compact = compact and not any(has_address(user, buffer) for user in users)
    cached = CachedRegion(buffer, storage_scope, region, compact=compact)
    blocks, reuse = cached.redirect(users)
    nest, copy = cached.written_back(_guard_outside(state, block, back.ancestor))
    edit = ScopeEdit(blocks)
    last = back.add(edit, nest)
    edit.reuse.update(reuse)
    edit_scope(state, scope, edit, last=last, allocate=[cached.copy])
    return state.get_sref(copy)


def _require_nothing_else(
    state: SRefTree, scope: StmtSRef, block: StmtSRef, buffer: Buffer, covered: bool
) -> None:
    """Refuse where the buffer holds elements that the copy lacks, and somebody may read these.

    What the buffer held before are a parameter's values, or what earlier blocks wrote. The block
    has to write every element of the box that is written back, and all that the consumers read.
    """
    earlier, _ = writers_around(state, scope, buffer, block)
    others = len(earlier) > 1
    if not others and any(buffer is alloc for alloc in block_of(scope).alloc_buffers):
        return
    others = others or defining_site(state, block, buffer)[1]  # blocks of scopes around this one
    node = block_of(block)
    gaps = leaves_gaps(state, block, buffer, scope)
    if others and any(statements(node.body, Block)):
        gaps = True  # what blocks within write is known as a box alone
    if covered and gaps is not True and (gaps is False or not others):
        return
    raise Illegal(
        f"block {node.name_hint!r} writes only some of the elements of {buffer.name!r} that are "
        "written back, or that the consumers read",
        legal="a block that writes a whole region (cache_inplace copies what was there, too)",
        spots=[node],
        fast="The block leaves out elements of the region",
    )


def _guard_outside(state: SRefTree, block: StmtSRef, ancestor: StmtSRef) -> PrimExpr:
    """The terms of the block's predicate that only depend on the loops around a copy."""
    inner = set(loop_ranges([s for s in path_between(ancestor, block) if isinstance(s.stmt, For)]))
    guard: PrimExpr = TRUE
    for term in conjuncts(realize_of(state, block).predicate):
        if not uses_any(term, inner):
            guard = term if is_one(guard) else And(guard, term)
    return guard


def _consumers(
    state: SRefTree,
    scope: StmtSRef,
    buffer: Buffer,
    block: StmtSRef,
    wanted: Sequence[StmtSRef],
) -> list[StmtSRef]:
    """Who is to read the copy; the block itself, which may be among those asked for, does."""
    _, later = users_around(state, scope, block, buffer)
    found: list[StmtSRef] = []
    for user in later:
        if any(w.buffer is buffer for w in block_of(user).writes):
            break  # from here on it is another value
        found.append(user)
    strangers = [c for c in wanted if c is not block and c not in found]
    if strangers:
        raise Illegal(
            f"block {block_of(strangers[0]).name_hint!r} does not read {buffer.name!r} as block "
            f"{block_of(block).name_hint!r} writes it",
            legal=f"some of {[block_of(r).name_hint for r in found]}",
            spots=[strangers[0].stmt],
        )
    return [c for c in wanted if c is not block]
