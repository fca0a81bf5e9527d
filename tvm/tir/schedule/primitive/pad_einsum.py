"""Let a contraction run over padded buffers, so that its extents are multiples of a tile."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Add, BufferLoad, Call, Cast, IntImm, IterVar, Mul, Var, make_const
from tvm.tir.functor import walk
from tvm.tir.op.arith import ceildiv, less, logical_and
from tvm.tir.schedule.analysis.blocks import require_complete_or_reduction
from tvm.tir.schedule.analysis.query import block_of, loops_above, realize_of, scope_of
from tvm.tir.schedule.buffers import BufferReplacer
from tvm.tir.schedule.error import Illegal
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.rebuild import change_block, nest
from tvm.tir.schedule.scopes import TRUE, ScopeEdit, edit_scope, place_below
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    Stmt,
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
            fast="The padding is not a list of positive numbers, one for each block variable",
        )
    realize = realize_of(state, block)
    extents = _padded_extents(node, padding)
    _require_neutral(node, extents)
    buffers = {
        buffer: padded
        for buffer in dict.fromkeys([r.buffer for r in (*node.reads, *node.writes)])
        if (padded := _padded_buffer(node, buffer, extents)) is not None
    }
    new_block = _padded_block(node, buffers, extents)
    before = [
        _pad_nest(buffer, padded)
        for buffer, padded in buffers.items()
        if not any(w.buffer is buffer for w in node.writes)
    ]
    after = [
        _crop_nest(buffers[w.buffer], w.buffer) for w in node.writes if w.buffer in buffers
    ]
    scope = scope_of(block)
    top = place_below(scope, block).stmt
    assert top is not None, "a place in the scope"
    grown = {
        value: extents[iv.var]
        for iv, value in zip(node.iter_vars, realize.iter_values)
        if isinstance(value, Var)
    }
    edit = _Grow(node, new_block, grown, {top: before}, {top: after})
    _require_plain_loops(state, block, grown)
    edit_scope(state, scope, edit, allocate=list(buffers.values()))


class _Grow(ScopeEdit):
    """Puts the padded block in place, in loops that run over the padded extents."""

    def __init__(
        self,
        old: Block,
        new: Block,
        extents: dict[Var, PrimExpr],
        before: dict[Stmt, list[Stmt]],
        after: dict[Stmt, list[Stmt]],
    ) -> None:
        super().__init__({old: new}, before, after)
        self._extents = extents

    def visit_for_(self, op: For) -> Stmt:
        new = super().visit_for_(op)
        extent = self._extents.get(op.loop_var)
        if extent is None or extent is op.extent:
            return new
        if isinstance(new, For):
            return _with_extent(new, extent)
        # the loop is the outermost one, and has the added statements around it
        parts = [_with_extent(p, extent) if _is_loop(p, op.loop_var) else p for p in new.seq]  # type: ignore[attr-defined]
        return type(new)(parts, new.span)  # type: ignore[call-arg]


def _is_loop(stmt: Stmt, var: Var) -> bool:
    return isinstance(stmt, For) and stmt.loop_var is var


def _with_extent(loop: Stmt, extent: PrimExpr) -> For:
    assert isinstance(loop, For), "a loop"
    return For(
        loop.loop_var, loop.min, extent, loop.kind, loop.body, loop.thread_binding,
        loop.annotations, loop.span,
    )  # fmt: skip


def _require_plain_loops(state: SRefTree, block: StmtSRef, grown: dict[Var, PrimExpr]) -> None:
    node = block_of(block)
    loops = [sref.stmt for sref in loops_above(block) if isinstance(sref.stmt, For)]
    names = {loop.loop_var for loop in loops}
    inner = [*loops[1:], realize_of(state, block)]
    alone = all(outer.body is below for outer, below in zip(loops, inner))
    if len(grown) != len(node.iter_vars) or set(grown) != names or not alone:
        raise Illegal(
            f"the variables of block {node.name_hint!r} are not bound to one loop each",
            legal="a block alone in loops that are its variables, as it was written",
            spots=[node],
            fast="The block does not have a trivial binding",
        )


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
            fast="The block is not a computation of Einsum pattern",
        )


def _require_neutral(node: Block, extents: dict[Var, PrimExpr]) -> None:
    """Refuse padding that would change a result: zeros add nothing, places are new ones."""
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
                fast="The block is not a computation of Einsum pattern",
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


def _pad_nest(source: Buffer, target: Buffer) -> Stmt:
    """target[v] = source[v] inside of the source's shape, else zero."""
    iter_vars, values, loops = _axes(target.shape)
    indices = [iv.var for iv in iter_vars]
    inside: PrimExpr = TRUE
    for index, small, large in zip(indices, source.shape, target.shape):
        if small is not large:
            inside = logical_and(inside, less(index, small))
    zero = make_const(0, source.dtype)
    value = Call(source.dtype, "tir.if_then_else", (inside, BufferLoad(source, indices), zero))
    block = Block(
        iter_vars,
        [BufferRegion.from_point(source, indices)],
        [BufferRegion.from_point(target, indices)],
        target.name,
        BufferStore(target, value, indices),
    )
    return nest(loops, BlockRealize(values, TRUE, block))


def _crop_nest(source: Buffer, target: Buffer) -> Stmt:
    """target[v] = source[v] over the target's shape."""
    iter_vars, values, loops = _axes(target.shape)
    indices = [iv.var for iv in iter_vars]
    block = Block(
        iter_vars,
        [BufferRegion.from_point(source, indices)],
        [BufferRegion.from_point(target, indices)],
        source.name,
        BufferStore(target, BufferLoad(source, indices), indices),
    )
    return nest(loops, BlockRealize(values, TRUE, block))


def _axes(
    shape: Sequence[PrimExpr],
) -> tuple[list[IterVar], list[PrimExpr], list[tuple[Var, PrimExpr]]]:
    iter_vars: list[IterVar] = []
    values: list[PrimExpr] = []
    loops: list[tuple[Var, PrimExpr]] = []
    for dim, extent in enumerate(shape):
        loop, var = Var(f"i{dim}", extent.dtype), Var(f"v{dim}", extent.dtype)
        dom = Range.from_min_extent(IntImm(extent.dtype, 0), extent)
        iter_vars.append(IterVar(dom, var, IterVar.DataPar))
        values.append(loop)
        loops.append((loop, extent))
    return iter_vars, values, loops


