"""Where blocks and loops stand relative to each other."""

from __future__ import annotations

from collections.abc import Iterator

from tvm.tir.block_scope import BlockScope, DepKind, StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IterVar, Var
from tvm.tir.functor import uses_var, vars_in
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.tree import WITH_BODY, SRefTree
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
)


def block_of(sref: StmtSRef) -> Block:
    """The block that an sref stands for."""
    stmt = sref.stmt
    assert isinstance(stmt, Block), "the sref of a block"
    return stmt


def loop_of(sref: StmtSRef) -> For:
    """The loop that an sref stands for."""
    stmt = sref.stmt
    assert isinstance(stmt, For), "the sref of a loop"
    return stmt


def scope_of(sref: StmtSRef) -> StmtSRef:
    """The block around a block or loop."""
    ancestor = sref.parent
    while ancestor is not None and not isinstance(ancestor.stmt, Block):
        ancestor = ancestor.parent
    if ancestor is None:
        raise Illegal(
            f"{name_of(sref.stmt)} is the root of its function",
            legal="a block or loop within a block",
            spots=[sref.stmt],
        )
    return ancestor


def loops_above(sref: StmtSRef) -> list[StmtSRef]:
    """The loops around an sref up to the next block, outermost first; itself not included."""
    found: list[StmtSRef] = []
    ancestor = sref.parent
    while ancestor is not None and isinstance(ancestor.stmt, For):
        found.append(ancestor)
        ancestor = ancestor.parent
    found.reverse()
    return found


def realize_of(state: SRefTree, block_sref: StmtSRef) -> BlockRealize:
    """The statement that gives a block's variables their values."""
    block = block_of(block_sref)
    parent = block_sref.parent
    if parent is None:
        body = state.function_of(block_sref).body
        assert isinstance(body, BlockRealize), "a scheduled function"
        return body
    assert parent.stmt is not None, "a parent stands in the program"
    return find_realize(parent.stmt.body, block)


def find_realize(stmt: Stmt, block: Block) -> BlockRealize:
    """The realize of `block`, which stands in `stmt` outside of inner loops and blocks."""
    stack: list[Stmt] = [stmt]
    while stack:
        current = stack.pop()
        if isinstance(current, BlockRealize):
            if current.block is block:
                return current
        elif isinstance(current, SeqStmt):
            stack.extend(current.seq)
        elif isinstance(current, IfThenElse):
            stack.append(current.then_case)
            if current.else_case is not None:
                stack.append(current.else_case)
        elif isinstance(current, WITH_BODY):
            stack.append(current.body)
    raise AssertionError(f"no realize of {block.name_hint} where its parent says it is")


def realizes_below(stmt: Stmt) -> Iterator[BlockRealize]:
    """The blocks below a statement that are in no inner block, in order."""
    stack: list[Stmt] = [stmt]
    while stack:
        current = stack.pop()
        if isinstance(current, BlockRealize):
            yield current
        elif isinstance(current, SeqStmt):
            stack.extend(reversed(current.seq))
        elif isinstance(current, IfThenElse):
            if current.else_case is not None:
                stack.append(current.else_case)
            stack.append(current.then_case)
        elif isinstance(current, (For, *WITH_BODY)):
            stack.append(current.body)


def is_ancestor(outer: StmtSRef, inner: StmtSRef) -> bool:
    """True if `inner` stands within `outer`, or is it."""
    sref: StmtSRef | None = inner
    while sref is not None:
        if sref is outer:
            return True
        sref = sref.parent
    return False


def path_between(outer: StmtSRef, inner: StmtSRef) -> list[StmtSRef]:
    """The srefs from below `outer` down to, and not including, `inner`."""
    found: list[StmtSRef] = []
    sref = inner.parent
    while sref is not None and sref is not outer:
        found.append(sref)
        sref = sref.parent
    found.reverse()
    return found


def producers_of(block: StmtSRef, scope: BlockScope) -> list[StmtSRef]:
    """The earlier blocks of the scope whose results `block` reads or updates."""
    deps = scope.get_deps_by_dst(block)
    return list(dict.fromkeys([d.src for d in deps if d.kind in (DepKind.RAW, DepKind.WAW)]))


def consumers_of(block: StmtSRef, scope: BlockScope) -> list[StmtSRef]:
    """The later blocks of the scope that read or update the results of `block`."""
    deps = scope.get_deps_by_src(block)
    return list(dict.fromkeys([d.dst for d in deps if d.kind in (DepKind.RAW, DepKind.WAW)]))


def is_output_block(block_sref: StmtSRef, scope_sref: StmtSRef) -> bool:
    """True if a block writes something that outlives its scope."""
    inner = set(block_of(scope_sref).alloc_buffers)
    return any(region.buffer not in inner for region in block_of(block_sref).writes)


def buffer_at(block: Block, index: int, written: bool) -> Buffer:
    """The buffer read or written by number."""
    return region_at(block, index, written).buffer


def region_at(block: Block, index: int, written: bool) -> BufferRegion:
    """The region read or written by number."""
    regions = block.writes if written else block.reads
    if not 0 <= index < len(regions):
        what = "write" if written else "read"
        names = [r.buffer.name for r in regions]
        raise Illegal(
            f"block {block.name_hint!r} has {len(regions)} {what} regions {names}, "
            f"there is no number {index}",
            legal=f"{what} buffer index from 0 to {len(regions) - 1}",
            spots=[block],
            fast=f"The input `buffer_index` is out of range. It is required to be in range "
            f"[0, num_{what}_regions) where `num_{what}_regions` is the number of buffer regions "
            f"{what if what == 'read' else 'written'} by the block.",
            detail=f"The block {{0}} has {len(regions)} {what} regions, so `buffer_index` is "
            f"required to be in [0, {len(regions)}). However, the input `buffer_index` is {index}, "
            "which is out of the expected range.",
        )
    return regions[index]


def defining_site(state: SRefTree, block_sref: StmtSRef, buffer: Buffer) -> tuple[StmtSRef, bool]:
    """The block that allocates `buffer` and True; for a parameter the root block and False."""
    sref: StmtSRef | None = block_sref
    root = block_sref
    while sref is not None:
        if isinstance(sref.stmt, Block):
            if any(buffer is b for b in sref.stmt.alloc_buffers):
                return sref, True
            if any(buffer is m.buffer for m in sref.stmt.match_buffers):
                return sref, False
        root = sref
        sref = sref.parent
    return root, False


def require_allocated(state: SRefTree, block_sref: StmtSRef, buffer: Buffer) -> StmtSRef:
    """The block that allocates `buffer`; refused for parameters and matched buffers."""
    site, allocated = defining_site(state, block_sref, buffer)
    if not allocated:
        raise Illegal(
            f"buffer {buffer.name!r} is a parameter of the function or stands for a region of "
            "another buffer",
            legal="a buffer that a block of the function allocates",
            spots=[block_sref.stmt],
            fast="The input buffer is not allocated by a block. This means the buffer is either a "
            "function parameter or defined in `match_buffer` of a block.",
            detail=f"The input buffer {buffer.name} is not allocated by a block. This means the "
            "buffer is either a function parameter or defined in `match_buffer` of a block.",
        )
    return site


def loop_kind(loop: StmtSRef) -> int:
    """What the variables that depend on a loop are: IterVar.DataPar if it is for nothing.

    IterVar.DimInfo if they are of several kinds, or neither data parallel nor reducing.
    """
    var = loop_of(loop).loop_var
    kinds = {
        iv.iter_type
        for realize in realizes_below(loop_of(loop).body)
        for iv, value in zip(realize.block.iter_vars, realize.iter_values)
        if uses_var(value, var)
    }
    if not kinds:
        return IterVar.DataPar
    if kinds == {IterVar.DataPar} or kinds == {IterVar.CommReduce}:
        return kinds.pop()
    return IterVar.DimInfo


def is_parallel_loop(loop: StmtSRef) -> bool:
    """True if all variables that depend on the loop are data parallel."""
    return loop_kind(loop) == IterVar.DataPar


def mixed_loops(realize: BlockRealize) -> set[Var]:
    """The loops that both spatial and reducing variables of a block depend on, and their company.

    Loops that stand in one binding belong together: if one of them is mixed, all are.
    """
    groups: list[tuple[set[Var], set[int]]] = []
    for iv, value in zip(realize.block.iter_vars, realize.iter_values):
        names, kinds = set(vars_in(value)), {iv.iter_type}
        apart: list[tuple[set[Var], set[int]]] = []
        for others, types in groups:
            if others & names:
                names, kinds = names | others, kinds | types
            else:
                apart.append((others, types))
        groups = [*apart, (names, kinds)]
    found: set[Var] = set()
    for names, kinds in groups:
        if len(kinds) > 1:
            found |= names
    return found
