"""Taking a block out of its scope, together with loops that would be empty without it."""

from __future__ import annotations

from tvm.ir.node import with_fields
from tvm.tir.block_scope import StmtSRef
from tvm.tir.stmt import AssertStmt, Block, BlockRealize, Evaluate, IfThenElse, SeqStmt, Stmt

from .analysis.query import block_of, scope_of
from .error import Illegal
from .tree import WITH_BODY, SRefTree, inner_stmts, swap_stmt, with_body


def leaf_top(state: SRefTree, block: StmtSRef) -> StmtSRef:
    """The outermost sref around `block` that holds nothing else; refused if that is its scope."""
    top = block
    while True:
        parent = top.parent
        assert parent is not None, "a scope is around the block"
        assert parent.stmt is not None, "a scope is around the block"
        if len(inner_stmts(parent.stmt)) > 1:
            return top
        if isinstance(parent.stmt, Block):
            raise Illegal(
                f"block {block_of(block).name_hint!r} is the only one of its scope "
                f"{parent.stmt.name_hint!r}",
                legal="a block with a neighbour that can replace it",
                spots=[block.stmt],
                fast="Cannot remove the only leaf of the scope",
            )
        top = parent


def without_leaf(stmt: Stmt, top: Stmt) -> Stmt:
    """`stmt` (in which `top` stands somewhere in a sequence) without it."""
    found = _remove(stmt, top)
    assert found is not None, "the neighbours of the removed statement stay"
    return found


def _remove(stmt: Stmt, top: Stmt) -> Stmt | None:
    if stmt is top or (isinstance(stmt, BlockRealize) and stmt.block is top):
        return None
    if isinstance(stmt, SeqStmt):
        kept: list[Stmt] = []
        for part in stmt.seq:
            new = _remove(part, top)
            if new is not None:
                kept.append(new)
        if len(kept) == len(stmt.seq) and all(a is b for a, b in zip(kept, stmt.seq)):
            return stmt
        if not kept:
            return None
        flat = SeqStmt.flatten(kept)
        return SeqStmt(flat.seq, stmt.span) if isinstance(flat, SeqStmt) else flat
    if isinstance(stmt, IfThenElse):
        return _remove_from_branches(stmt, top)
    if isinstance(stmt, WITH_BODY):
        body = _remove(stmt.body, top)
        if body is None:
            # what it says or defines concerned the removed statement alone; a check still holds
            return with_fields(stmt, body=Evaluate(0)) if isinstance(stmt, AssertStmt) else None
        return stmt if body is stmt.body else with_fields(stmt, body=body)
    return stmt


def _remove_from_branches(stmt: IfThenElse, top: Stmt) -> Stmt | None:
    then = _remove(stmt.then_case, top)
    other = None if stmt.else_case is None else _remove(stmt.else_case, top)
    if then is stmt.then_case and other is stmt.else_case:
        return stmt
    if then is None:
        if other is None:
            return None
        then = Evaluate(0)
    return with_fields(stmt, then_case=then, else_case=other)


def remove_leaf(state: SRefTree, block: StmtSRef) -> Block:
    """The scope block around `block`, rebuilt without it; the program does not change yet."""
    scope = scope_of(block)
    top = leaf_top(state, block)
    assert top.stmt is not None, "below the scope"
    assert top.parent is not None, "below the scope"
    return _rebuild(scope, top.parent, top.stmt)


def _rebuild(scope: StmtSRef, parent: StmtSRef, removed: Stmt) -> Block:
    old = parent.stmt
    assert old is not None, "a parent stands in the program"
    new = with_body(old, without_leaf(old.body, removed))
    sref = parent
    while sref is not scope:
        above = sref.parent
        assert above is not None, "below the scope"
        assert above.stmt is not None, "below the scope"
        old, new = above.stmt, with_body(above.stmt, swap_stmt(above.stmt.body, old, new))
        sref = above
    assert isinstance(new, Block), "a scope is a block"
    return new
