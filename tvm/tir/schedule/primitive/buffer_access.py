"""Change what a block says that it reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import as_expr
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule.analysis.query import block_of, region_at
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BufferRegion

HIDE = kind(
    "UnsafeHideBufferAccess", "unsafe_hide_buffer_access", "block", "buf_type",
    "buf_index_array",
)  # fmt: skip
ANNOTATE = kind(
    "AnnotateBufferAccess", "annotate_buffer_access", "block", "=buffer_index", "=buf_type",
    "%gen_new_ranges",
)  # fmt: skip


def unsafe_hide_buffer_access(
    state: SRefTree, block: StmtSRef, buf_type: str, buf_index_array: Sequence[int]
) -> None:
    """Leave some regions out of what the block says, so that other primitives do not see them.

    T.reads(A[...], B[...])  ->  T.reads(A[...])
    """
    node = block_of(block)
    if buf_type not in ("read", "write"):
        raise Illegal(
            f"the buffer type is {buf_type!r}",
            legal="'read' or 'write'",
            spots=[node],
            fast="Invalid buffer type for hide_buffer_access schedule.",
            detail="The buffer type for hide_buffer_access schedule should either be 'read' or "
            f"'write', got {buf_type} instead.",
        )
    regions = node.reads if buf_type == "read" else node.writes
    hidden = {int(i) for i in buf_index_array}
    for index in sorted(hidden):
        if not 0 <= index < len(regions):
            raise Illegal(
                f"block {node.name_hint!r} has {len(regions)} {buf_type} regions, there is no "
                f"number {index}",
                legal=f"numbers from 0 to {len(regions) - 1}",
                spots=[node],
                fast="Invalid buffer index array for hide_buffer_access schedule.",
                detail="The buffer index array for hide_buffer_access schedule should be a list of "
                f"integers between 0 and {len(regions) - 1}, got {index} instead.",
            )
    kept = [region for i, region in enumerate(regions) if i not in hidden]
    new = change_block(node, **{"reads" if buf_type == "read" else "writes": kept})  # type: ignore[arg-type]
    state.replace(block, new, {node: new})


def annotate_buffer_access(
    state: SRefTree, block: StmtSRef, buffer_index: int, buf_type: str, gen_new_ranges: IndexMap
) -> None:
    """Replace one region by what the user knows better; analyses keep it (an annotation says so).

    T.reads(A[...])  ->  T.reads(A[low : high, ...])
    """
    node = block_of(block)
    _require_side(buf_type, ("read", "write"))
    written = buf_type == "write"
    region = region_at(node, buffer_index, written)
    bounds = gen_new_ranges.map_indices([iv.var for iv in node.iter_vars])
    if len(bounds) != 2 * len(region.region):
        raise Illegal(
            f"{len(bounds)} bounds are given for the {len(region.region)} dimensions of "
            f"{region.buffer.name!r}",
            legal="a beginning and an end for each dimension",
            spots=[node],
            fast="The number of bounds does not match the dimensions of the buffer",
        )
    simplify = Analyzer().simplify
    parts = [
        Range.from_min_extent(_typed(low, old.min), simplify(_typed(high - low, old.min)))
        for low, high, old in zip(bounds[::2], bounds[1::2], region.region)
    ]
    changed = BufferRegion(region.buffer, parts)
    regions = list(node.writes if written else node.reads)
    regions[buffer_index] = changed
    key = "explicit_write_region" if written else "explicit_read_region"
    known = node.annotations.get(key, ())
    listed = list(known) if isinstance(known, (list, tuple)) else [known]
    annotations = {**node.annotations, key: tuple(dict.fromkeys([*listed, buffer_index]))}
    new = change_block(
        node, annotations=annotations, **{"writes" if written else "reads": regions}  # type: ignore[arg-type]
    )
    state.replace(block, new, {node: new})


def _require_side(side: str, legal: Sequence[str]) -> None:
    if side not in legal:
        raise Illegal(f"the buffer type is {side!r}", legal=f"one of {list(legal)}")


def _typed(bound: PrimExpr, model: PrimExpr) -> PrimExpr:
    return bound if bound.dtype is model.dtype else bound.astype(model.dtype)


def ranges_map(function: Callable[..., Any], node: Block, rank: int) -> IndexMap:
    """A function from block variables to ranges, as an index map: begin, end, begin, end, ...

    The function gives a pair, a Range or a single index a dimension; or all bounds in one row.
    """
    variables = [iv.var.copy_with_name(iv.var.name) for iv in node.iter_vars]
    found: list[PrimExpr] = []
    parts = list(function(*variables))
    if len(parts) == 2 * rank and not any(isinstance(p, (tuple, list, Range)) for p in parts):
        return IndexMap(variables, [as_expr(part) for part in parts])
    for part in parts:
        if isinstance(part, (tuple, list)):
            found.extend([as_expr(part[0]), as_expr(part[1])])
        elif isinstance(part, Range):
            found.extend([part.min, part.min + part.extent])
        else:
            found.extend([as_expr(part), as_expr(part) + 1])
    return IndexMap(variables, found)
