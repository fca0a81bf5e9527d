"""Edits of one scope: some of its blocks change, statements are added, buffers are allocated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.arith import Analyzer, ProofStrength
from tvm.ir.expr import PrimExpr
from tvm.support.compiled import mypyc_attr
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, Var
from tvm.tir.functor import StmtExprMutator, vars_in, walk
from tvm.tir.stmt import (
    AllocateConst,
    Block,
    BlockRealize,
    DeclBuffer,
    For,
    SeqStmt,
    Stmt,
)

from .analysis.query import block_of, is_ancestor
from .error import Illegal
from .rebuild import TrackingMutator, change_block
from .tree import SRefTree

TRUE = IntImm("bool", 1)


@mypyc_attr(allow_interpreted_subclasses=True)
class ScopeEdit(TrackingMutator):
    """Replaces blocks that stand directly in a scope, and adds statements around srefs.

    `before` and `after` are keyed by the loop or block (the object in the present program) that
    the added statements stand next to.
    """

    def __init__(
        self,
        blocks: Mapping[Block, Block],
        before: Mapping[Stmt, Sequence[Stmt]] | None = None,
        after: Mapping[Stmt, Sequence[Stmt]] | None = None,
    ) -> None:
        super().__init__()
        self._blocks = dict(blocks)
        self._before, self._after = dict(before or {}), dict(after or {})

    def add_beside(self, sref: StmtSRef, stmt: Stmt, *, behind: bool = False) -> None:
        """Add a statement in front of an sref's, or behind it."""
        key, added = sref.stmt, self._after if behind else self._before
        assert key is not None, "an sref in the program"
        added[key] = [*added.get(key, ()), stmt]

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_block_(self, op: Block) -> Stmt:
        new = self._blocks.get(op, op)
        if new is not op:
            self.track(op, new)
        return new

    def visit_for_(self, op: For) -> Stmt:
        return self._around(op, super().visit_for_(op))

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        return self._around(op.block, super().visit_block_realize_(op))

    def _around(self, key: Stmt, new: Stmt) -> Stmt:
        before, after = self._before.get(key, ()), self._after.get(key, ())
        return SeqStmt.flatten(before, new, after) if before or after else new


def edit_scope(
    state: SRefTree,
    scope: StmtSRef,
    edit: ScopeEdit,
    *,
    first: Sequence[Stmt] = (),
    last: Sequence[Stmt] = (),
    allocate: Sequence[Buffer] = (),
    release: Sequence[Buffer] = (),
) -> None:
    """Apply an edit to a scope; `first` and `last` are statements that go to its very ends."""
    old = block_of(scope)
    body = edit.visit_stmt(old.body)
    if first or last:
        body = _Ends(first, last).visit_stmt(body)
    allocs = [b for b in old.alloc_buffers if b not in set(release)] + list(allocate)
    new = change_block(old, body=body, alloc_buffers=allocs)
    state.replace(scope, new, {**edit.reuse, old: new})


class _Ends(StmtExprMutator):
    """Adds statements at the ends of a body, where all that it declares is known."""

    def __init__(self, first: Sequence[Stmt], last: Sequence[Stmt]) -> None:
        super().__init__()
        self._first, self._last = first, last

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, (AllocateConst, DeclBuffer)):
            return super().visit_stmt(stmt)
        return SeqStmt.flatten(self._first, stmt, self._last)


def sref_below(outer: StmtSRef, inner: StmtSRef) -> StmtSRef:
    """The sref directly below `outer` on the way to `inner`."""
    sref = inner
    while sref.parent is not outer:
        assert sref.parent is not None, "`inner` stands in `outer`"
        sref = sref.parent
    return sref


def common_ancestor(srefs: Sequence[StmtSRef]) -> StmtSRef:
    """The innermost sref that all the given ones stand in (properly, for a single one)."""
    chains: list[list[StmtSRef]] = []
    for sref in srefs:
        chain: list[StmtSRef] = []
        above = sref.parent
        while above is not None:
            chain.append(above)
            above = above.parent
        chains.append(chain[::-1])
    found = chains[0][0]
    for level in zip(*chains):
        if any(sref is not level[0] for sref in level):
            break
        found = level[0]
    return found


def closest_ancestor(writer: StmtSRef, readers: Sequence[StmtSRef], scope: StmtSRef) -> StmtSRef:
    """Where a copy of what is written goes: the innermost ancestor shared with a reader."""
    best, depth = scope, -1
    for reader in readers:
        sref = common_ancestor([writer, reader])
        level, above = 0, sref.parent
        while above is not None:
            level, above = level + 1, above.parent
        if level > depth:
            best, depth = sref, level
    return best


def add_before_readers(
    edit: ScopeEdit, writer: StmtSRef, readers: Sequence[StmtSRef], scope: StmtSRef, stmt: Stmt
) -> None:
    """Let a statement stand in front of the first reader, as close to the writer as one is."""
    sref = closest_ancestor(writer, readers, scope)
    near = [r for r in readers if is_ancestor(sref, r)]
    edit.add_beside(sref_below(sref, near[0]), stmt)


def readers_of(state: SRefTree, scope: StmtSRef, block: StmtSRef, buffer: Buffer) -> list[StmtSRef]:
    """The other blocks of a scope that read a buffer, in order."""
    return [
        child
        for child in state.get_block_scope(scope).children
        if child is not block and any(r.buffer is buffer for r in block_of(child).reads)
    ]


def writers_around(
    state: SRefTree, scope: StmtSRef, buffer: Buffer, block: StmtSRef
) -> tuple[list[StmtSRef], list[StmtSRef]]:
    """The blocks of a scope that write a buffer, in order: up to `block` itself, and behind it."""
    writers = state.get_block_scope(scope).buffer_writers.get(buffer, [])
    children = state.get_block_scope(scope).children
    here = children.index(block)
    before = [w for w in writers if children.index(w) <= here]
    return before, writers[len(before) :]


def require_single_writer(
    state: SRefTree, scope: StmtSRef, buffer: Buffer, asked_by: Block
) -> StmtSRef | None:
    """The block of the scope that writes a buffer, None if there is none; refused for several."""
    writers = state.get_block_scope(scope).buffer_writers.get(buffer, [])
    if len(writers) <= 1:
        return writers[0] if writers else None
    raise Illegal(
        f"buffer {buffer.name!r} is written by {len(writers)} blocks: "
        f"{[block_of(w).name_hint for w in writers]}",
        legal="a buffer that one block writes",
        spots=[asked_by],
        fast="The buffer is allowed to be written by single block",
    )


def require_apart(state: SRefTree, scope: StmtSRef, block: StmtSRef, buffer: Buffer) -> None:
    """Refuse a copy of a whole buffer where only a part of it exists at a time.

    That is so if its writer and a reader share a loop: cache_read and cache_write copy parts.
    """
    own = block_of(block)
    writers = state.get_block_scope(scope).buffer_writers.get(buffer, [])
    others = [writer for writer in writers if writer is not block]
    if any(w.buffer is buffer for w in own.writes):
        others += readers_of(state, scope, block, buffer)
    top = sref_below(scope, block)
    near = [other for other in others if sref_below(scope, other) is top]
    if near:
        raise Illegal(
            f"block {own.name_hint!r} shares a loop with block {block_of(near[0]).name_hint!r}, "
            f"so that only part of {buffer.name!r} is there at a time",
            legal="blocks in loop nests of their own (before compute_at)",
            spots=[own, near[0].stmt],
            fast="The producer and the consumer share a loop",
        )


def require_own_indices(
    node: Block, buffer: Buffer, indices: Sequence[PrimExpr], *, guarded: bool
) -> None:
    """Refuse an access that depends on more than the block's variables, or that a guard restricts.

    A copy of all elements would run where the guard keeps the block from reading.
    """
    names = {iv.var for iv in node.iter_vars}
    analyzer = Analyzer()
    for iv in node.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    for index, extent in zip(indices, buffer.shape):
        strange = [n for n in vars_in(index) if n not in names]
        strange = [n for n in strange if n in _bound_within(node)]
        if strange:
            raise Illegal(
                f"the element where block {node.name_hint!r} accesses {buffer.name!r} depends on "
                f"{strange[0].name!r}, a variable of an inner loop or block",
                legal="accesses at indices made of the block's own variables",
                spots=[node],
                fast="The target block is not a leaf block.",
                detail="The target block {0} is not a leaf block.",
            )
        if not guarded:
            continue
        below = analyzer.can_prove(index < extent, ProofStrength.SYMBOLIC_BOUND)
        inside = below and analyzer.can_prove(index >= 0, ProofStrength.SYMBOLIC_BOUND)
        if not inside:
            raise Illegal(
                f"block {node.name_hint!r} reads {buffer.name!r} at {index}, which may lie outside "
                "of the buffer; a condition in the block keeps it from doing so",
                legal="accesses that are in the buffer for all values of the block's variables",
                spots=[node],
                fast="The access may be out of bounds",
            )


def _bound_within(node: Block) -> set[Var]:
    found: set[Var] = set()
    for stmt in (node.init, node.body):
        for part in () if stmt is None else walk(stmt):
            if isinstance(part, For):
                found.add(part.loop_var)
            elif isinstance(part, Block):
                found.update([iv.var for iv in part.iter_vars])
    return found
