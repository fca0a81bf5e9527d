"""Let a contraction run over padded buffers, so that its extents are multiples of a tile."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, Cast, IntImm, IterVar, Mul, Var, make_const
from tvm.tir.functor import walk
from tvm.tir.op.arith import ceildiv
from tvm.tir.schedule.analysis.blocks import require_complete_or_reduction
from tvm.tir.schedule.analysis.query import block_of, scope_of
from tvm.tir.schedule.buffers import BufferReplacer
from tvm.tir.schedule.cached_region import fills_box
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.larger_extents import Grow, crop_nest, no_plain_loops, pad_nest, whole_loops
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.scopes import edit_scope, sref_below
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import (
    Block,
    BufferStore,
)

KIND = kind("PadEinsum", "pad_einsum", "block", "=padding")


def pad_einsum(state: SRefTree, block: StmtSRef, padding: Sequence[int]) -> None:
    """Round each variable's extent up to a multiple; zeros in the padding add nothing.

    C[i, j] += A[i, k] * B[k, j]
    ->
    A_pad[i, k] = T.if_then_else(i < n, A[i, k], 0)     # for each buffer that grows
    C_pad[i, j] += A_pad[i, k] * B[k, j]
    C[i, j] = C_pad[i, j]
    """
    node = block_of(block)
    require_complete_or_reduction(state, block)
    _require_einsum(node)
    if len(padding) != len(node.iter_vars) or any(int(p) < 1 for p in padding):
        raise Illegal(
            f"the padding {list(padding)} does not fit the {len(node.iter_vars)} variables of "
            f"block {node.name_hint!r}",
            legal="one positive number a variable",
            spots=[node],
            fast="The padding size for the block is invalid.",
            detail="The padding for the block {0} are invalid. It should be a list of "
            f"{len(node.iter_vars)} positive integers. Got {list(padding)}",
        )
    extents = _padded_extents(node, padding)
    _require_neutral(node, extents)
    buffers = {
        buffer: padded
        for buffer in dict.fromkeys([r.buffer for r in (*node.reads, *node.writes)])
        if (padded := _padded_buffer(node, buffer, extents)) is not None
    }
    new_block = _padded_block(node, buffers, extents)
    before = [
        pad_nest(buffer, padded)
        for buffer, padded in buffers.items()
        if not any(w.buffer is buffer for w in node.writes)
    ]
    after = [
        crop_nest(buffers[w.buffer], w.buffer) for w in node.writes if w.buffer in buffers
    ]
    scope = scope_of(block)
    spatial = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar]
    filled = fills_box(state, scope, block, spatial)
    prover = Analyzer()
    if filled is None or not all(
        iv.dom is not None and prover.can_prove(high - low + 1 >= iv.dom.extent)
        for iv, low, high in zip(spatial, filled.low, filled.high)
    ):  # what it leaves out of the result would be copied from padding
        raise no_plain_loops(node)
    top = sref_below(scope, block).stmt
    assert top is not None, "an sref in the scope"
    # loops that were split or fused keep their extents: they fill less of the larger buffers
    grown = {loop: extents[var] for loop, var in whole_loops(state, block).items()}
    edit = Grow(node, new_block, grown, {top: before}, {top: after})
    edit_scope(state, scope, edit, allocate=list(buffers.values()))


def _require_einsum(node: Block) -> None:
    names = {iv.var for iv in node.iter_vars}
    accesses: list[BufferLoad | BufferStore] = []
    for stmt in (node.body, node.init):
        if stmt is not None:
            accesses += [n for n in walk(stmt) if isinstance(n, (BufferLoad, BufferStore))]
    plain = isinstance(node.body, BufferStore)
    for access in accesses:
        plain = plain and all(
            (isinstance(i, Var) and i in names) or isinstance(i, IntImm) for i in access.indices
        )
    if not plain:
        raise Illegal(
            f"block {node.name_hint!r} is no Einstein sum",
            legal="one store whose accesses are all indexed by block variables",
            spots=[node],
            fast="The block is not a computation of Einsum pattern.",
            detail="The block {0} not a computation of Einsum pattern.",
        )


def _require_neutral(node: Block, extents: dict[Var, PrimExpr]) -> None:
    """Refuse padding that would change a result: zeros add nothing, indices are new ones."""
    grown = [
        iv for iv in node.iter_vars if iv.dom is not None and extents[iv.var] is not iv.dom.extent
    ]
    body = node.body
    assert isinstance(body, BufferStore), "checked before"
    factors = _factors(body)
    for iv in grown:
        if iv.iter_type == IterVar.DataPar:
            harmless = any(index is iv.var for index in body.indices)
        else:
            harmless = any(
                any(index is iv.var for index in load.indices) for load in factors
            )
        if not harmless:
            raise Illegal(
                f"padding the variable {iv.var.name!r} of block {node.name_hint!r} would change "
                "its result",
                legal="spatial variables that index the result, and summed variables of a product",
                spots=[node],
                fast="The block is not a computation of Einsum pattern.",
                detail="The block {0} not a computation of Einsum pattern.",
            )


def _factors(body: BufferStore) -> list[BufferLoad]:
    """The loads x, y, ... of `C[...] = C[...] + x * y * ...`."""
    value = body.value
    if not isinstance(value, Add) or not isinstance(value.a, BufferLoad):
        return []
    if value.a.buffer is not body.buffer:
        return []
    found: list[BufferLoad] = []
    stack: list[PrimExpr] = [value.b]
    while stack:
        part = stack.pop()
        if isinstance(part, Cast):
            stack.append(part.value)
        elif isinstance(part, Mul):
            stack.extend([part.a, part.b])
        elif isinstance(part, BufferLoad):
            found.append(part)
    return found


def _padded_extents(node: Block, padding: Sequence[int]) -> dict[Var, PrimExpr]:
    analyzer = Analyzer()
    found: dict[Var, PrimExpr] = {}
    for iv, multiple in zip(node.iter_vars, padding):
        assert iv.dom is not None, "block variables have domains"
        extent, step = iv.dom.extent, make_const(int(multiple), iv.var.dtype)
        grown = analyzer.simplify(ceildiv(extent, step) * step)
        found[iv.var] = extent if analyzer.can_prove_equal(grown, extent) else grown
    return found


def _padded_buffer(node: Block, buffer: Buffer, extents: dict[Var, PrimExpr]) -> Buffer | None:
    domains = {iv.var: iv.dom.extent for iv in node.iter_vars if iv.dom is not None}
    shape = list(buffer.shape)
    changed = False
    for access in (*walk(node.body),):
        if isinstance(access, (BufferLoad, BufferStore)) and access.buffer is buffer:
            for dim, index in enumerate(access.indices):
                if isinstance(index, Var) and extents[index] is not domains[index]:
                    shape[dim] = extents[index]
                    changed = True
    if not changed:
        return None
    kept = buffer.data.type_annotation
    assert isinstance(kept, PointerType), "the constructor of Buffer made sure"
    name = f"{buffer.name}_pad"
    data = Var(name, PointerType(kept.element_type, buffer.scope()))
    return buffer.with_changes(
        data=data, name=name, shape=tuple(shape), strides=(), elem_offset=None
    )


def _padded_block(
    node: Block, buffers: dict[Buffer, Buffer], extents: dict[Var, PrimExpr]
) -> Block:
    rule = BufferReplacer(buffers)
    new = rule.visit_stmt(node)
    assert isinstance(new, Block), "a block stays a block"
    iter_vars = [
        IterVar(
            Range.from_min_extent(make_const(0, iv.var.dtype), extents[iv.var]), iv.var,
            iv.iter_type, iv.thread_tag, iv.span,
        )
        for iv in node.iter_vars
    ]  # fmt: skip
    return change_block(new, iter_vars=iter_vars)
