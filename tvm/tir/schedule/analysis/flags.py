"""What primitives ask of a block and its scope before they move it."""

from __future__ import annotations

from typing import NamedTuple

from tvm.tir.block_scope import DepKind, StmtSRef
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.tree import SRefTree

from .affine import affine_binding
from .cover import region_cover
from .query import block_of, scope_of


class CachedFlags(NamedTuple):
    """Three facts: the block's binding is affine, what it reads is all written before, and its
    children form a pipeline in which each result is complete before it is read."""

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


def flags_of(state: SRefTree, block_sref: StmtSRef) -> CachedFlags:
    """The facts of a block."""
    return CachedFlags(
        affine_binding(state, block_sref),
        region_cover(state, block_sref),
        why_no_pipeline(state, block_sref) is None,
    )


def why_no_pipeline(state: SRefTree, scope_sref: StmtSRef) -> str | None:
    """A sentence why the children of a scope are no stage pipeline, or None."""
    facts = state.facts(block_of(scope_sref))
    if "pipeline" not in facts:
        facts["pipeline"] = _find_no_pipeline(state, scope_sref)
    reason: str | None = facts["pipeline"]
    return reason


def _find_no_pipeline(state: SRefTree, scope_sref: StmtSRef) -> str | None:
    scope = state.get_block_scope(scope_sref)
    for child in scope.children:
        for dep in scope.get_deps_by_src(child):
            if dep.kind in (DepKind.WAR, DepKind.OPAQUE):
                return (
                    f"block {block_of(dep.dst).name_hint!r} overwrites what block "
                    f"{block_of(dep.src).name_hint!r} reads"
                )
    for child in scope.children:
        if not region_cover(state, child):
            return (
                f"block {block_of(child).name_hint!r} reads more than the blocks before it write"
            )
    return None


def pipeline_scope(state: SRefTree, sref: StmtSRef) -> StmtSRef:
    """The scope around an sref; refused unless its blocks form a stage pipeline."""
    scope = scope_of(sref)
    reason = why_no_pipeline(state, scope)
    if reason is not None:
        block = block_of(scope)
        raise Illegal(
            f"the scope {block.name_hint!r} is not a stage pipeline: {reason}",
            legal="a scope in which each buffer is written whole before it is read, and never "
            "overwritten afterwards",
            spots=[block],
            fast="The scope root is not a stage pipeline",
        )
    return scope
