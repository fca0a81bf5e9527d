"""Split a reduction into partial results that do not depend on each other."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr, Range
from tvm.ir.type import PointerType
from tvm.tir.analysis.reducer import Reducer, reducer_of
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Call, IterVar, Var
from tvm.tir.functor import Substituter, substitute, uses_any, uses_var, vars_in, walk
from tvm.tir.op.arith import is_one, logical_and
from tvm.tir.schedule.analysis.affine import loop_ranges
from tvm.tir.schedule.analysis.blocks import require_reduction
from tvm.tir.schedule.analysis.flags import pipeline_scope
from tvm.tir.schedule.analysis.query import (
    block_of,
    loop_of,
    loops_above,
    mixed_loops,
    realize_of,
    scope_of,
)
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.predicates import conditions_without
from tvm.tir.schedule.scopes import TRUE, ScopeEdit, edit_scope
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
)

KIND = kind("RFactor", "rfactor", "loop", "=factor_axis")
Element = tuple[Buffer, list[PrimExpr]]


def rfactor(state: SRefTree, loop: StmtSRef, factor_axis: int) -> StmtSRef:
    """Reduce within each iteration of `loop` first, then over the iterations.

    for i, ko, ki: B[i] += A[i, ko * n + ki]
    ->
    for i, ko, ki: B_rf[i, ki] += A[i, ko * n + ki]
    for i, ki: B[i] += B_rf[i, ki]

    Where `loop` is all that reduces, B_rf[i, k] is just A[i, k].
    """
    node = loop_of(loop)
    block = _only_block(state, loop)
    pipeline_scope(state, block)
    require_reduction(state, block)
    target = block_of(block)
    realize = realize_of(state, block)
    loops = loops_above(block)
    _require_chain(loops[loops.index(loop) :], realize)
    _require_reduction_loop(realize, node)
    _require_apart(realize)
    reducer = reducer_of(target)
    if reducer is None:
        raise Illegal(
            f"the reducer of block {target.name_hint!r} is not known to be commutative",
            legal="C[...] = C[...] op x, where op is +, *, max, min, and, or; or the greatest or "
            "least of pairs (value, index)",
            spots=[target],
            fast="No matched reducer for the identity and the combiner of the reduction block",
        )
    rank = len(reducer.stores[0].buffer.shape)
    if not -(rank + 1) <= factor_axis <= rank:
        raise Illegal(
            f"the factor axis {factor_axis} is out of range: the new buffer has {rank + 1} "
            "dimensions",
            legal=f"{-(rank + 1)} to {rank}",
            spots=[target],
            fast="The input `factor_axis` is out of range. It is required to be in range "
            "[-(ndim + 1), ndim] where `ndim` is the number of dimensions of the write buffer",
            detail=f"The write buffer {reducer.stores[0].buffer.name} has {rank} dimension(s), so "
            f"`factor_axis` is required to be in [{-(rank + 1)}, {rank}] for rfactor. However, the "
            f"input `factor_axis` is {factor_axis}, which is out of the expected range",
        )
    axis = factor_axis % (rank + 1)
    partials = [_partial_buffer(store.buffer, axis, node) for store in reducer.stores]
    rf_realize, rf_var, guarded = _rf_block(realize, node, loops, reducer, partials, axis)
    own = _own_loops(loops, realize)  # others may use the sum within the loops above these
    final_nest, final = _final_block(realize, node, own, reducer, partials, axis, rf_var)
    top = own[0].stmt
    assert isinstance(top, For), "the outermost loop"
    edit = _Factor(target, realize, rf_realize, top, final_nest)
    scope = scope_of(block)
    edit_scope(state, scope, edit.tracking(target, final), allocate=partials)
    made = state.get_sref(rf_realize.block)
    if guarded:
        state.set_guarded(made)
    return made


class _Factor(ScopeEdit):
    """Puts the partial block in its loop, and the final one behind all loops."""

    def __init__(
        self, target: Block, old: BlockRealize, new: BlockRealize, top: For, final: Stmt
    ) -> None:
        super().__init__({}, after={top: [final]})
        self._old, self._new = old, new

    def tracking(self, old: Block, new: Block) -> _Factor:
        """The old block's sref goes to the final block."""
        self.reuse[old] = new
        return self

    def visit_block_realize_(self, op: BlockRealize) -> Stmt:
        if op is self._old:
            return self._new
        return super().visit_block_realize_(op)


def _only_block(state: SRefTree, loop: StmtSRef) -> StmtSRef:
    found = state.child_blocks(loop)
    if len(found) != 1:
        raise Illegal(
            f"{name_of(loop.stmt)} holds {len(found)} blocks",
            legal="a loop around one reduction block",
            spots=[loop.stmt],
            fast="The loop does not have exactly one child block",
        )
    return found[0]


def _require_chain(loops: list[StmtSRef], realize: BlockRealize) -> None:
    for sref, inner in zip(loops, [*[loop_of(s) for s in loops[1:]], realize]):
        if loop_of(sref).body is not inner:
            raise Illegal(
                f"{name_of(sref.stmt)} holds more than the loops of block "
                f"{realize.block.name_hint!r}",
                legal="a block alone in its loops",
                spots=[sref.stmt],
                fast="The loops around the block hold other statements",
            )


def _own_loops(loops: list[StmtSRef], realize: BlockRealize) -> list[StmtSRef]:
    """The inner loops that hold the block alone."""
    inside: Stmt = realize
    first = len(loops)
    while first > 0 and loop_of(loops[first - 1]).body is inside:
        first -= 1
        inside = loop_of(loops[first])
    return loops[first:]


def _require_reduction_loop(realize: BlockRealize, loop: For) -> None:
    if loop.kind is not ForKind.SERIAL:
        kind_of = loop.kind.name.lower()
        raise Illegal(
            f"{name_of(loop)} is of kind {kind_of}",
            legal="a serial loop (kinds are for afterwards)",
            spots=[loop],
            fast=f"The input loop of rfactor is required to be `Serial`. However, its kind is "
            f"`{kind_of}`",
        )
    touched = [
        iv.iter_type
        for iv, value in zip(realize.block.iter_vars, realize.iter_values)
        if uses_var(value, loop.loop_var)
    ]
    if not touched and is_one(loop.extent):
        return  # what a split left over: one partial sum
    if not touched or any(type_ != IterVar.CommReduce for type_ in touched):
        raise Illegal(
            f"the loop {loop.loop_var.name!r} is no loop of the reduction only",
            legal="a loop that only reducing variables depend on",
            spots=[loop, realize.block],
            fast="The loop to be applied rfactor is required not to be touched by any data "
            "parallel block iter of the block",
            detail="The loop to be applied rfactor is {0}, which is required not to be touched by "
            "any data parallel block iter of the block below. However, some of the block's data "
            "parallel block iters touch this loop",
        )


def _require_apart(realize: BlockRealize) -> None:
    mixed = mixed_loops(realize)
    if mixed:
        raise Illegal(
            f"the loops {sorted(var.name for var in mixed)} make up both indices and steps of the "
            f"sum of block {realize.block.name_hint!r}",
            legal="loops that belong to indices or to steps only",
            spots=[realize.block],
            fast="Some loops are bound to both spatial and reduction variables",
        )


def _partial_buffer(buffer: Buffer, axis: int, loop: For) -> Buffer:
    kept = buffer.data.type_annotation
    assert isinstance(kept, PointerType), "the constructor of Buffer made sure"
    name = f"{buffer.name}_rf"
    shape = [*buffer.shape[:axis], loop.extent, *buffer.shape[axis:]]
    data = Var(name, PointerType(kept.element_type, buffer.scope()))
    return buffer.with_changes(
        data=data, name=name, shape=tuple(shape), strides=(), elem_offset=None, axis_separators=()
    )


def _rf_block(
    realize: BlockRealize,
    loop: For,
    loops: list[StmtSRef],
    reducer: Reducer,
    partials: Sequence[Buffer],
    axis: int,
) -> tuple[BlockRealize, Var, bool]:
    """The block of partial results: `loop` is one of its spatial variables.

    Also its variable for `loop`, and whether conditions on reducing loops became part of the value.
    """
    block = realize.block
    rf_var = loop.loop_var.copy_with_name(f"v{loop.loop_var.name}")
    dom = Range.from_min_extent(loop.min, loop.extent)
    iter_vars = [IterVar(dom, rf_var, IterVar.DataPar)]
    values: list[PrimExpr] = [loop.loop_var]
    made: dict[Var, PrimExpr] = {loop.loop_var: rf_var}
    replaced: dict[Var, PrimExpr] = {}
    taken = _loops_taken(realize, loop, {loop_of(sref).loop_var for sref in loops})
    for iv, value in zip(block.iter_vars, realize.iter_values):
        if not uses_any(value, taken):
            iter_vars.append(iv)
            values.append(value)
            continue
        for sref in loops:
            other = loop_of(sref)
            used = uses_var(value, other.loop_var)
            if used and other.loop_var not in made:
                var = other.loop_var.copy_with_name(f"v{other.loop_var.name}")
                made[other.loop_var] = var
                other_dom = Range.from_min_extent(other.min, other.extent)
                iter_vars.append(IterVar(other_dom, var, IterVar.CommReduce))
                values.append(other.loop_var)
        replaced[iv.var] = substitute(value, made)
    rule = Substituter(replaced)
    elements = [
        (partial, _inserted(list(store.indices), axis, rf_var))
        for partial, store in zip(partials, reducer.stores)
    ]
    others = {loop_of(sref).loop_var for sref in loops} - made.keys()
    named = set(vars_in(*values))
    idle = {v: rng for v, rng in loop_ranges(loops).items() if v in others and v not in named}
    guard, outside = _guards(conditions_without(realize, idle), made, others)
    parts = [rule.visit_expr(part) for part in reducer.parts]
    if not is_one(guard):
        parts = [
            Call(part.dtype, "tir.if_then_else", (guard, part, start))
            for part, start in zip(parts, reducer.identities)
        ]
    owned = {store.buffer for store in reducer.stores}
    more = any(iv.iter_type == IterVar.CommReduce for iv in iter_vars)
    span = reducer.stores[0].span
    plain = [BufferStore(to, part, at, None, span) for (to, at), part in zip(elements, parts)]
    new = Block(
        iter_vars,
        [rule.visit_region(r) for r in block.reads if r.buffer not in owned],
        [BufferRegion.from_point(partial, indices) for partial, indices in elements],
        f"{block.name_hint}_rf",
        _update(reducer, elements, parts) if more else SeqStmt.flatten(plain),
        _init(reducer, elements) if more else None,
        (), (), block.annotations, block.span,
    )  # fmt: skip
    return BlockRealize(values, outside, new, realize.span), rf_var, not is_one(guard)


def _loops_taken(realize: BlockRealize, loop: For, all_loops: set[Var]) -> set[Var]:
    """The loops that become variables: `loop`, and what variables made of it are made of too.

    Two variables of one loop, f // 12 and f % 12 * 64 + loop, would overlap if one of them stayed.
    """
    taken = {loop.loop_var}
    parts = [{part for part in walk(v) if part in all_loops} for v in realize.iter_values]
    for _ in parts:
        for names in parts:
            if names & taken:
                taken |= names
    return taken


def _update(
    reducer: Reducer, elements: Sequence[Element], parts: Sequence[PrimExpr]
) -> Stmt:
    """Combine the elements with the parts; all is computed before any is stored."""
    span = reducer.stores[0].span
    owns = [BufferLoad(buffer, indices) for buffer, indices in elements]
    values = reducer.combine(owns, parts)
    if len(values) == 1:
        ((buffer, indices),) = elements
        return BufferStore(buffer, values[0], indices, None, span)
    names = [Var(f"v_{buffer.name}", value.dtype) for (buffer, _), value in zip(elements, values)]
    body: Stmt = SeqStmt(
        [
            BufferStore(buffer, name, indices, None, span)
            for (buffer, indices), name in zip(elements, names)
        ]
    )
    for name, value in reversed(list(zip(names, values))):
        body = LetStmt(name, value, body, span)
    return body


def _init(reducer: Reducer, elements: Sequence[Element]) -> Stmt:
    """Store what the sums start from."""
    span = reducer.stores[0].span
    return SeqStmt.flatten(
        [
            BufferStore(buffer, start, indices, None, span)
            for (buffer, indices), start in zip(elements, reducer.identities)
        ]
    )


def _guards(
    conditions: Sequence[PrimExpr], made: dict[Var, PrimExpr], others: set[Var]
) -> tuple[PrimExpr, PrimExpr]:
    """The conditions on reducing loops, in terms of block variables, and all the others.

    Within the block the former keep it a map of all its loops: what they leave out adds nothing.
    """
    inner: PrimExpr = TRUE
    outer: PrimExpr = TRUE
    for part in conditions:
        names = set(vars_in(part))  # loops, and symbols that stay
        if names & made.keys() and not names & others:
            inner = logical_and(inner, substitute(part, made))
        else:
            outer = logical_and(outer, part)
    return inner, outer


def _inserted(indices: list[PrimExpr], axis: int, value: PrimExpr) -> list[PrimExpr]:
    return [*indices[:axis], value, *indices[axis:]]


def _final_block(
    realize: BlockRealize,
    loop: For,
    loops: list[StmtSRef],
    reducer: Reducer,
    partials: Sequence[Buffer],
    axis: int,
    rf_var: Var,
) -> tuple[Stmt, Block]:
    """The block that reduces the partial results, in loops of its own."""
    block = realize.block
    spatial = [
        (iv, value)
        for iv, value in zip(block.iter_vars, realize.iter_values)
        if iv.iter_type == IterVar.DataPar
    ]
    fresh_iters = {iv.var: iv.var.copy_with_name(iv.var.name) for iv, _ in spatial}
    reducing = rf_var.copy_with_name(rf_var.name)
    dom = Range.from_min_extent(loop.min, loop.extent)
    iter_vars = [IterVar(dom, reducing, IterVar.CommReduce)]
    iter_vars += [IterVar(iv.dom, fresh_iters[iv.var], iv.iter_type) for iv, _ in spatial]
    renamed: dict[Var, PrimExpr] = dict(fresh_iters)
    elements = [
        (store.buffer, substitute(list(store.indices), renamed)) for store in reducer.stores
    ]
    parts = [
        BufferLoad(partial, _inserted(indices, axis, reducing))
        for partial, (_, indices) in zip(partials, elements)
    ]
    final = Block(
        iter_vars,
        [BufferRegion.from_point(part.buffer, part.indices) for part in parts],
        [BufferRegion.from_point(buffer, indices) for buffer, indices in elements],
        block.name_hint,
        _update(reducer, elements, parts),
        _init(reducer, elements),
        (), (), block.annotations, block.span,
    )  # fmt: skip
    used = {n for _, value in spatial for n in vars_in(value)}
    summed = {n for v in _reducing_values(realize) for n in vars_in(v)}
    kept = [
        f
        for f in map(loop_of, loops)
        if f.loop_var in used or f is loop or (is_one(f.extent) and f.loop_var not in summed)
    ]
    loop_vars: dict[Var, PrimExpr] = {
        f.loop_var: f.loop_var.copy_with_name(f.loop_var.name) for f in kept
    }
    values = [loop_vars[loop.loop_var], *[substitute(value, loop_vars) for _, value in spatial]]
    idle = {var: rng for var, rng in loop_ranges(loops).items() if var not in used}
    predicate = _spatial_predicate(conditions_without(realize, idle), used, loop_vars)
    body: Stmt = BlockRealize(values, predicate, final, realize.span)
    for old in reversed(kept):
        var = loop_vars[old.loop_var]
        assert isinstance(var, Var), "a copy of a loop variable"
        body = For(
            var, old.min, old.extent, old.kind, body, old.thread_binding, old.annotations, old.span
        )
    return body, final


def _reducing_values(realize: BlockRealize) -> list[PrimExpr]:
    pairs = zip(realize.block.iter_vars, realize.iter_values)
    return [value for iv, value in pairs if iv.iter_type == IterVar.CommReduce]


def _spatial_predicate(
    conditions: Sequence[PrimExpr], used: set[Var], renamed: dict[Var, PrimExpr]
) -> PrimExpr:
    predicate: PrimExpr = TRUE
    for part in conditions:
        if is_one(part):
            continue
        if all(not isinstance(n, Var) or n in used for n in walk(part)):
            predicate = logical_and(predicate, substitute(part, renamed))
    return predicate
