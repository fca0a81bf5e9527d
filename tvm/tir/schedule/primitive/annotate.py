"""Add an annotation to a block or loop, or take it away."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.tir.block_scope import StmtSRef
from tvm.tir.schedule.error import Illegal, ScheduleIndexError, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import ScopeStmt, SRefTree
from tvm.tir.stmt import Block, For

ANNOTATE = kind("Annotate", "annotate", "block_or_loop", "=ann_key", "ann_val")
UNANNOTATE = kind("Unannotate", "unannotate", "block_or_loop", "=ann_key")


def annotate(state: SRefTree, block_or_loop: StmtSRef, ann_key: str, ann_val: object) -> None:
    """Add the annotation; one with the same value stays as it is.

    for i in range(n): S  ->  for i in T.serial(n, annotations={key: value}): S
    """
    stmt = _stmt_of(block_or_loop)
    if ann_key in stmt.annotations:
        return
    _set(state, block_or_loop, {**stmt.annotations, ann_key: ann_val})


def unannotate(state: SRefTree, block_or_loop: StmtSRef, ann_key: str) -> None:
    """Take the annotation away.

    for i in T.serial(n, annotations={key: value}): S  ->  for i in range(n): S
    """
    stmt = _stmt_of(block_or_loop)
    if ann_key not in stmt.annotations:
        raise Illegal(
            f"{name_of(stmt)} has no annotation {ann_key!r}",
            legal=f"one of {sorted(stmt.annotations)}" if stmt.annotations else None,
            spots=[stmt],
            fast="The annotation does not exist",
            error=ScheduleIndexError,
        )
    _set(state, block_or_loop, {k: v for k, v in stmt.annotations.items() if k != ann_key})


def _stmt_of(sref: StmtSRef) -> ScopeStmt:
    assert sref.stmt is not None, "resolved from a living variable"
    return sref.stmt


def with_annotations(stmt: ScopeStmt, annotations: Mapping[str, object]) -> ScopeStmt:
    """The same block or loop with other annotations."""
    if isinstance(stmt, For):
        return For(
            stmt.loop_var, stmt.min, stmt.extent, stmt.kind, stmt.body, stmt.thread_binding,
            annotations, stmt.span,
        )  # fmt: skip
    return Block(
        stmt.iter_vars, stmt.reads, stmt.writes, stmt.name_hint, stmt.body, stmt.init,
        stmt.alloc_buffers, stmt.match_buffers, annotations, stmt.span,
    )  # fmt: skip


def _set(state: SRefTree, sref: StmtSRef, annotations: Mapping[str, object]) -> None:
    old = _stmt_of(sref)
    new = with_annotations(old, annotations)
    reuse = {old: new} if isinstance(old, Block) and isinstance(new, Block) else None
    state.replace(sref, new, reuse)
