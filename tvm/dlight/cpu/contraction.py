"""The schedule of contractions in matrix form: panels of one operand, tiles in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.dlight.analysis.contraction import Contraction, Operand, find_contraction
from tvm.dlight.base import pad_operands
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.functor import uses_var, vars_in
from tvm.tir.index_map import IndexMap
from tvm.tir.op.arith import is_one
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.affine import simplified_indices
from tvm.tir.schedule.analysis.inside import index_outside
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.stmt import Block, BufferRegion, BufferStore
from tvm.tir.transform.shorten_last_tile import ROW, TILE_ROWS

from .access import accesses, contiguous_run, params_of
from .base import Decompositions
from .cost import SYMBOLIC, flops_us, parallelize_by_cost
from .edges import read_last_row_again
from .tiles import Tile, choose_tile
from .weights import fetch_panels, free_buffers, pack

PANEL_WORTH = 4  # row tiles that read a panel before packing it pays


@dataclass(frozen=True)
class MatrixForm:
    """The variables of a contraction as outer loops, rows, columns and summed ones."""

    outer: tuple[IterVar, ...]
    m: tuple[IterVar, ...]
    n: tuple[IterVar, ...]
    k: tuple[IterVar, ...]

    def is_matrix(self) -> bool:
        """True if rows, columns and sum are one variable each."""
        return len(self.m) == len(self.n) == len(self.k) == 1


def extent_of(iters: Sequence[IterVar]) -> int | None:
    """The product of the extents; None if one is symbolic."""
    size = 1
    for iv in iters:
        extent = None if iv.dom is None else iv.dom.extent
        if not isinstance(extent, IntImm):
            return None
        size *= extent.value
    return size


def schedule_contraction(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    form: MatrixForm,
    cpu: CpuModel,
    pending: Decompositions,
    columns: Sequence[int] | None = None,
) -> str:
    """Tile a contraction; returns a sentence of reason. `columns` limits the tile's widths."""
    bits = found.output.dtype.bits
    m, n, k = extent_of(form.m), extent_of(form.n), extent_of(form.k)
    gathers: list[BlockRV] = []
    if not form.is_matrix() or not found.rhs.is_plain() or not found.lhs.is_plain():
        require_two_tensors(found)
        gathers = to_matrix(sch, block, found, form)
    else:
        order_roles(sch, block, form)
    tile = choose_tile(cpu, bits, m, n, k, columns)
    outer = len(form.outer)
    pads_rows = m is None or m % tile.rows != 0
    pads_columns = n is None or n % tile.columns != 0
    copies: list[BlockRV] = []
    if pads_rows or pads_columns:
        require_two_tensors(found)
        copies = pad_operands(
            sch,
            block,
            [1] * outer + [tile.rows if pads_rows else 1, tile.columns if pads_columns else 1, 1],
        )
    row_var = sch.get(block).iter_vars[outer].var
    copies = read_last_row_again(sch, copies, operand_of(sch, block, row_var).buffer)
    if gathers:
        rows, columns_copy = gathers
        sch.compute_inline(rows)
        if _feeds(sch, columns_copy, copies):
            sch.compute_inline(columns_copy)  # gathered right into the padding
        else:
            copies.append(columns_copy)
    back = write_back(sch, block)
    panel, packed = _panel(sch, block, m, tile, outer, copies)
    loops = sch.get_loops(block)
    row, column, step = loops[outer], loops[outer + 1], loops[outer + 2]
    io, ii = sch.split(row, factors=[None, tile.rows])
    lanes = min(tile.lanes, tile.columns)
    jo, jv, ji = sch.split(column, factors=[None, tile.columns // lanes, lanes])
    ko, ki = sch.split(step, factors=[None, tile.unroll])
    sch.reorder(*loops[:outer], jo, io, ko, ki, ii, jv, ji)
    if panel is not None and not packed:
        sch.compute_at(panel, jo)
    sch.reverse_compute_at(back, io)
    if panel is not None and not packed:
        _order_panel(sch, panel, jo)
        _vectorize_panel(sch, panel, jo, tile)
    vectorize_back(sch, back, io, lanes)
    sch.vectorize(ji)
    sch.unroll(jv)
    sch.unroll(ii)
    sch.unroll(ki)
    if m is None:
        may_be_short(sch, back, io, ii, tile.rows)
    pending.append((block, ko))
    work = product_us(cpu, bits, form, tile.columns)
    spread = parallelize_by_cost(sch, [*loops[:outer], jo], cpu, work, sch.get(block), heavy=True)
    if packed and m is not None:
        fetch_panels(sch, io, -(-m // tile.rows))
    panels = None if panel is None else "beforehand" if packed else "into a panel"
    return _reason(cpu, tile, panels, pads_rows, spread)


def require_two_tensors(found: Contraction) -> None:
    """A copy of one operand would be that of the other, where a tensor is multiplied by itself."""
    if found.lhs.buffer is found.rhs.buffer:
        raise ScheduleError(f"both factors are elements of {found.lhs.buffer.name}")


def order_roles(sch: Schedule, block: BlockRV, form: MatrixForm) -> None:
    """Let outer loops come first, then row, column and sum: O[b, i, h, d] += P[b, h, i, k] * ..."""
    node: Block = sch.get(block)
    wanted = [iv.var for iv in (*form.outer, *form.m, *form.n, *form.k)]
    given = [iv.var for iv in node.iter_vars]
    if wanted == given:
        return
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    loops = {sch.get(loop).loop_var: loop for loop in sch.get_loops(block)}
    order = [given.index(var) for var in wanted]
    sch.reorder(*(loops[values[position]] for position in order))
    sch.reorder_block_iter_var(block, order)


def to_matrix(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm
) -> list[BlockRV]:
    """Fuse the variables to one row, one column, one summed variable beside the outer ones.

    The right operand is copied into (outer, k, n) order. Returns the copy of the left one, to be
    inlined once nothing needs plain indices any more, and that of the right one.
    """
    before: Block = sch.get(block)
    moving = [
        set(vars_in(*simplified_indices(before, indices)))
        for indices in (found.rhs.indices, found.lhs.indices, found.store)
    ]
    rhs = sch.reindex(block, found.rhs.buffer)
    lhs = sch.reindex(block, found.lhs.buffer)
    back = sch.reindex(block, found.output)
    node: Block = sch.get(block)
    order = [iv.var for iv in node.iter_vars]
    outer = [[iv] for iv in form.outer]
    m, n, k = list(form.m), list(form.n), list(form.k)
    read = ("read", _number(sch, block, rhs))
    _relayout(sch, block, rhs, read, order, moving[0], [*outer, k, n])
    read = ("read", _number(sch, block, lhs))
    _relayout(sch, block, lhs, read, order, moving[1], [*outer, m, k])
    finish = _inlined_copy(sch, back, found)
    _relayout(
        sch, block, back if finish is None else finish, ("write", 0), order, moving[2],
        [*outer, m, n],
    )  # fmt: skip
    sch.transform_block_layout(block, _fusion(order, [*outer, m, n, k]))
    return [lhs, rhs]


def to_rows(sch: Schedule, block: BlockRV, found: Contraction) -> BlockRV:
    """Fuse the variables of rows to one, the first of the block; the others follow as they are.

    Returns the copy of the left operand, to be inlined as that of `to_matrix`.
    """
    before: Block = sch.get(block)
    moving = [
        set(vars_in(*simplified_indices(before, indices)))
        for indices in (found.lhs.indices, found.store)
    ]
    lhs = sch.reindex(block, found.lhs.buffer)
    back = sch.reindex(block, found.output)
    node: Block = sch.get(block)
    order = [iv.var for iv in node.iter_vars]
    groups = [list(found.m), *([iv] for iv in (*found.batch, *found.n, *found.k))]
    read = ("read", _number(sch, block, lhs))
    _relayout(sch, block, lhs, read, order, moving[0], groups)
    finish = _inlined_copy(sch, back, found)
    _relayout(
        sch, block, back if finish is None else finish, ("write", 0), order, moving[1], groups
    )
    sch.transform_block_layout(block, _fusion(order, groups))
    return lhs


def _inlined_copy(sch: Schedule, back: BlockRV, found: Contraction) -> BlockRV | None:
    """Inlines the copy into the one elementwise block that reads the result; returns that block."""
    users = sch.get_consumers(back)
    if len(users) != 1:
        return None
    node: Block = sch.get(users[0])
    made = sch.get(back).writes[0].buffer
    if not _is_spatial(node) or len(node.iter_vars) != len(found.store):
        return None
    if not all(isinstance(index, Var) for index in found.store):
        return None
    for region in node.reads:
        if region.buffer is made and any(
            part.min is not iv.var and not (is_one(extent) and is_one(_size(iv)))
            for part, iv, extent in zip(region.region, node.iter_vars, made.shape)
        ):
            return None  # it reads the result in another order, or one element often
        if region.buffer is made and _has_border(node, region):
            return None
    sch.compute_inline(back)
    return users[0]


def _number(sch: Schedule, block: BlockRV, copy: BlockRV) -> int:
    made = sch.get(copy).writes[0].buffer
    return next(i for i, r in enumerate(sch.get(block).reads) if r.buffer is made)


def _relayout(
    sch: Schedule,
    block: BlockRV,
    copy: BlockRV,
    buffer: tuple[str, int],
    order: Sequence[Var],
    used: set[Var],
    groups: Sequence[Sequence[IterVar]],
) -> None:
    """Give a reindexed buffer, and the loops of its copy, one dimension a group of variables."""
    own = [var for var in order if var in used]
    if len(own) != len(sch.get(copy).iter_vars):
        # i // 2 for i in range(2) names a variable and does not move with it
        raise ScheduleError(f"{sch.get(copy).name_hint}: a place does not move with its variable")
    kept = [[iv for iv in group if iv.var in used] for group in groups]
    fusion = _fusion(own, [group for group in kept if group])
    sch.transform_layout(block, buffer, fusion, assume_injective_transform=True)
    sch.transform_block_layout(copy, fusion)


def _fusion(order: Sequence[Var], groups: Sequence[Sequence[IterVar]]) -> IndexMap:
    """The index map (variables in `order`) -> one fused index a group."""
    renamed = {var: Var(var.name, var.dtype) for var in order}
    fused: list[PrimExpr] = []
    for group in groups:
        total: PrimExpr | None = None
        for iv in group:
            part = renamed[iv.var]
            total = part if total is None else total * _size(iv) + part
        assert total is not None, "groups are not empty"
        fused.append(total)
    known = all(isinstance(_size(iv), IntImm) for group in groups for iv in group)
    return IndexMap(list(renamed.values()), fused, None if known else _digits(order, groups))


def _digits(order: Sequence[Var], groups: Sequence[Sequence[IterVar]]) -> IndexMap:
    """The map back from fused indices: x -> x // w // h, x // w % h, x % w.

    One size after another is divided by. The sum of such digits simplifies to x again, step by
    step, also where sizes are symbols; that of x // (h * w) and x // w % h does not.
    """
    names = [Var(f"axis{i}", group[0].var.dtype) for i, group in enumerate(groups)]
    digits: dict[Var, PrimExpr] = {}
    for name, group in zip(names, groups):
        remainder: PrimExpr = name
        for iv in reversed(group[1:]):
            digits[iv.var] = remainder % _size(iv)
            remainder = remainder // _size(iv)
        digits[group[0].var] = remainder
    return IndexMap(names, [digits[var] for var in order])


def _size(iv: IterVar) -> PrimExpr:
    assert iv.dom is not None, "block variables have domains"
    return iv.dom.extent


def write_back(sch: Schedule, block: BlockRV) -> BlockRV:
    """The block that stores the finished tile, after which the accumulators are local."""
    back = result_reader(sch, block)
    if back is None:
        return sch.cache_write(block, 0, "local")
    sch.set_scope(block, 0, "local")
    return back


def result_reader(sch: Schedule, block: BlockRV) -> BlockRV | None:
    """The one block that finishes the result element by element, if there is one."""
    users = sch.get_consumers(block)
    if len(users) != 1 or sch.get(block).writes[0].buffer in params_of(sch):
        return None
    back = _finish(sch, users[0])
    return back if _reads_in_place(sch, block, back) else None


def _finish(sch: Schedule, back: BlockRV) -> BlockRV:
    """The last of a chain of spatial consumers, with the others inlined into it."""
    while True:
        users = sch.get_consumers(back)
        if len(users) != 1 or not _is_spatial(sch.get(users[0])):
            return back
        try:
            sch.compute_inline(back)
        except ScheduleError:
            return back
        back = users[0]


def _is_spatial(block: Block) -> bool:
    return block.init is None and all(iv.iter_type == IterVar.DataPar for iv in block.iter_vars)


def _reads_in_place(sch: Schedule, block: BlockRV, back: BlockRV) -> bool:
    """True if the consumer reads the result, no more, at its own variables, one dimension each."""
    made = sch.get(block).writes[0].buffer
    node: Block = sch.get(back)
    if not _is_spatial(node):
        return False
    for region in node.reads:
        if region.buffer is made:
            names = [part.min for part in region.region if isinstance(part.min, Var)]
            wide = [d for d in made.shape if not (isinstance(d, IntImm) and d.value == 1)]
            told = len(names) >= len(wide) and len(set(names)) == len(names)
            return told and not _has_border(node, region)
    return False


def _has_border(node: Block, read: BufferRegion) -> bool:
    """Whether some instances read nothing: no iteration of the producer's loops would run them."""
    return index_outside(node, read.buffer, [part.min for part in read.region]) is not None


def _panel(
    sch: Schedule,
    block: BlockRV,
    m: int | None,
    tile: Tile,
    outer: int,
    copies: Sequence[BlockRV],
) -> tuple[BlockRV | None, bool]:
    """The block that copies panels of the right operand, and whether it does so beforehand.

    None if the operand is read in place. `copies` are those that were made of operands.
    """
    column = sch.get(block).iter_vars[outer + 1].var
    operand = operand_of(sch, block, column)
    panel = {sch.get(copy).writes[0].buffer: copy for copy in copies}.get(operand.buffer)
    contiguous = operand.innermost() is column
    source = operand.buffer if panel is None else sch.get(panel).reads[0].buffer
    free = source in free_buffers(sch)
    if panel is None:
        few_rows = m is not None and m < PANEL_WORTH * tile.rows
        if few_rows and contiguous and not free:
            return None, False
        panel = sch.cache_read(block, operand.read_index, "global")
    axis = next(i for i, index in enumerate(operand.indices) if index is column)
    if free:
        names = {iv.var for iv in sch.get(block).iter_vars[:outer]}
        fixed = [isinstance(i, IntImm) or i in names for i in operand.indices]
        pack(sch, panel, fixed, axis, tile.columns)
    elif not contiguous:
        order = [i for i in range(len(operand.indices)) if i != axis] + [axis]
        sch.transform_layout(panel, ("write", 0), lambda *i: [i[d] for d in order])
    return panel, free


def operand_of(sch: Schedule, block: BlockRV, var: Var) -> Operand:
    """The operand that a variable of the block moves."""
    found = find_contraction(sch.get(block))
    assert found is not None, "still a contraction"
    return found.rhs if any(uses_var(i, var) for i in found.rhs.indices) else found.lhs


def _order_panel(sch: Schedule, panel: BlockRV, jo: LoopRV) -> None:
    """Order the loops of a copy as its target lies in memory."""
    node: Block = sch.get(panel)
    store = next(moves for access, moves in accesses(node) if isinstance(access, BufferStore))
    below = _below(sch, jo, panel)
    steps = [(_owner(sch, panel, loop), loop) for loop in below]
    if any(var is None or store[var] is None for var, _ in steps):
        return
    order = [loop for _, loop in sorted(steps, key=lambda pair: -(store[pair[0]] or 0))]  # type: ignore[index]
    if order != below:
        sch.reorder(*order)


def _owner(sch: Schedule, block: BlockRV, loop: LoopRV) -> Var | None:
    """The one block variable that a loop moves, or None."""
    node: Block = sch.get(block)
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    name = sch.get(loop).loop_var
    owners = [iv.var for iv, value in zip(node.iter_vars, values) if uses_var(value, name)]
    return owners[0] if len(owners) == 1 else None


def _feeds(sch: Schedule, gather: BlockRV, copies: Sequence[BlockRV]) -> bool:
    """Whether a gathered operand is read by a padded copy."""
    users = {sch.get_sref(user) for user in sch.get_consumers(gather)}
    return any(sch.get_sref(copy) in users for copy in copies)


def _vectorize_panel(sch: Schedule, panel: BlockRV, outer: LoopRV, tile: Tile) -> None:
    """Vectorize the copy by the contiguous runs of its source."""
    below = _below(sch, outer, panel)
    var = _owner(sch, panel, below[-1]) if below else None
    if var is None:
        return
    size = sch.get(below[-1]).extent
    run = contiguous_run(sch.get(panel), var, tile.lanes)
    if run > 1 and isinstance(size, IntImm) and size.value % run == 0:
        _, inner = sch.split(below[-1], factors=[None, run])
        sch.vectorize(inner)


def _below(sch: Schedule, outer: LoopRV, block: BlockRV) -> list[LoopRV]:
    """The loops between `outer` and the block."""
    loops = sch.get_loops(block)
    target = sch.get_sref(outer)
    position = [sch.get_sref(loop) for loop in loops].index(target)
    return loops[position + 1 :]


def vectorize_back(sch: Schedule, back: BlockRV, io: LoopRV, lanes: int) -> None:
    """Unroll rows and vectors, so that accumulators have constant indices."""
    below = _below(sch, io, back)
    if not below:
        return
    for loop in below[:-1]:
        sch.unroll(loop)
    outer, inner = sch.split(below[-1], factors=[None, lanes])
    sch.vectorize(inner)
    sch.unroll(outer)


def may_be_short(sch: Schedule, back: BlockRV, io: LoopRV, ii: LoopRV, rows: int) -> None:
    """Let the last tile compute only about as many rows as there are."""
    same = [loop for loop in _below(sch, io, back)[:-1] if _extent_is(sch, loop, rows)]
    if len(same) == 1:
        sch.annotate(io, TILE_ROWS, rows)
        sch.annotate(ii, ROW, True)
        sch.annotate(same[0], ROW, True)


def _extent_is(sch: Schedule, loop: LoopRV, size: int) -> bool:
    extent = sch.get(loop).extent
    return isinstance(extent, IntImm) and extent.value == size


def product_us(cpu: CpuModel, bits: int, form: MatrixForm, columns: int = SYMBOLIC) -> float:
    """Microseconds of one core for a product, with a guess for symbolic extents.

    Columns of unknown number are at least as many as are computed together.
    """
    work = 2.0
    for part in (form.outer, form.m, form.n, form.k):
        size = extent_of(part)
        guess = columns if part is form.n else SYMBOLIC
        work *= guess if size is None else size
    return flops_us(cpu, work, bits)


def _reason(
    cpu: CpuModel, tile: Tile, panels: str | None, overhangs: bool, spread: str
) -> str:
    parts = [
        f"{tile.rows}x{tile.columns} tile: {tile.accumulators()} of {cpu.vector_registers} "
        f"vector registers hold sums, {tile.unroll} steps of k a round"
    ]
    if panels is not None:
        parts.append(f"columns packed {panels} for contiguous vectors")
    if overhangs:
        parts.append("past the end the last row is read again")
    parts.append("serial, too little work for threads" if spread == "serial" else spread)
    return ", ".join(parts)
