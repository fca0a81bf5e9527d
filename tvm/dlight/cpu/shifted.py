"""Convolutions over planes of any size: rows of weights by planes that are shifted, not gathered.

    C[f, y, x] = sum over c, ry, rx of W[f, c, ry, rx] * X[c, y * s + ry, x * s + rx]

With Q columns in a row of the plane, Y * Q columns are one run through memory, and so they are a
step of the window further on:

    P[c, ay, ax, y * Q + x] = X[c, y * s + ay, x * s + ax]        # each phase of a stride apart
    for jo: for io:
        acc[MR, NR] = 0                                           # vector registers
        for c, ry, rx:
            acc[i, :] += W[io + i, c, ry, rx] * P[c, ry % s, rx % s, jo + ry // s * Q + rx // s :]
        D[io :, jo :] = acc
    C[f, y, x] = epilogue(D[f, y * Q + x])

The few columns between two rows of the result are computed in vain, and nothing has to be divided
by a size that is known only when the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.dlight.analysis.contraction import Operand
from tvm.ir.expr import PrimExpr, Range
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Call, IntImm, IterVar, Min, Var, make_const
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.op.arith import ceildiv, less, logical_and
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.schedule.analysis.interval import linear_terms
from tvm.tir.schedule.analysis.query import scope_of
from tvm.tir.schedule.buffers import with_scope
from tvm.tir.schedule.rebuild import change_block, nest
from tvm.tir.schedule.regions import with_regions
from tvm.tir.schedule.scopes import TRUE, ScopeEdit, edit_scope, place_below
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, SeqStmt, Stmt

from .base import Decompositions
from .contraction import MatrixForm, extent_of, product_us
from .cost import share_out
from .planes import inline_copy
from .reduction import keep_whole
from .tiles import Tile, choose_tile

UNROLLED = 8  # steps of a window along a row that stand one after the other


@dataclass(frozen=True)
class Column:
    """A variable of the result along a dimension of the plane, and the window's shifts along it."""

    iv: IterVar
    dim: int  # of the plane
    step: int
    shift: PrimExpr  # made of variables of the window
    reach: int  # the largest shift

    @property
    def phases(self) -> int:
        """How many places of a step are read at all."""
        return min(self.step, self.reach + 1)


def columns_of(node: Block, form: MatrixForm, plane: Operand) -> list[Column] | None:
    """How each column variable moves in the plane; None if the block is of another form."""
    domains = {iv.var: iv.dom for iv in node.iter_vars if iv.dom is not None}
    window = {iv.var for iv in form.k}
    found: list[Column] = []
    for iv in form.n:
        places = [
            dim for dim, index in enumerate(plane.indices)
            if any(part is iv.var for part in walk(index))
        ]  # fmt: skip
        if len(places) != 1:
            return None
        index = plane.indices[places[0]]
        terms = linear_terms(index, domains)
        if terms is None or not set(terms) <= window | {iv.var}:
            return None
        reach = 0
        for var, scale in terms.items():
            size = domains[var].extent
            if var is not iv.var and (scale < 0 or not isinstance(size, IntImm)):
                return None
            reach += 0 if var is iv.var else scale * (size.value - 1)  # type: ignore[attr-defined]
        shift = Analyzer().simplify(substitute(index, {iv.var: make_const(0, iv.var.dtype)}))
        if terms.get(iv.var, 0) < 1:
            return None
        found.append(Column(iv, places[0], terms[iv.var], shift, reach))
    used = {column.dim for column in found}
    return found if len(used) == len(found) else None


def one_run(node: Block, form: MatrixForm, plane: Operand) -> bool:
    """True if all columns are one run through the plane as it is: windows of one place."""
    columns = columns_of(node, form, plane)
    last = len(plane.indices)
    if columns is None or [column.dim for column in columns] != list(range(last))[-len(columns):]:
        return False
    same = Analyzer()
    return all(
        column.step == 1
        and column.reach == 0
        and same.can_prove_equal(_extent(column.iv), plane.buffer.shape[column.dim])
        for column in columns
    )


def schedule_shifted(
    sch: Schedule,
    block: BlockRV,
    form: MatrixForm,
    plane: Operand,
    columns: list[Column],
    cpu: CpuModel,
    later: Decompositions,
    widths: Sequence[int] | None = None,
) -> tuple[list[BlockRV], str]:
    """Schedule a convolution; returns the copy of its plane, and a sentence of reason.

    `widths` are those of tiles to choose from.
    """
    node: Block = sch.get(block)
    bits = node.writes[0].buffer.dtype.bits
    tile = choose_tile(cpu, bits, extent_of(form.m), None, None, widths)
    copy = _Shifted(sch, block, form, plane, columns, tile).rewrite()
    work = product_us(cpu, bits, form)
    _fill(sch, copy, tile, cpu, work)
    loops, count = sch.get_loops(block), len(form.outer)
    outer, (row, column, *taps) = loops[:count], loops[count:]
    back = sch.cache_write(block, 0, "local")
    io, ii = sch.split(row, factors=[None, tile.rows])
    jo, jv, ji = sch.split(column, factors=[None, tile.columns // tile.lanes, tile.lanes])
    sch.reorder(*outer, jo, io, *taps, ii, jv, ji)
    sch.reverse_compute_at(back, io)
    _store(sch, back, tile.lanes)
    sch.vectorize(ji)
    sch.unroll(jv)
    sch.unroll(ii)
    steps = sch.get(taps[-1]).extent
    if isinstance(steps, IntImm) and steps.value <= UNROLLED:
        sch.unroll(taps[-1])
    later.append((block, taps[0]))
    groups = sch.get(outer[0]).extent if outer else None
    whole = isinstance(groups, IntImm) and groups.value >= cpu.cores  # no other split is needed
    spread = share_out(sch, outer[:1] if whole else [jo], cpu, work, sch.get(block), heavy=True)
    return [copy], (
        f"{tile.rows}x{tile.columns} tile: {tile.accumulators()} of {cpu.vector_registers} "
        f"vector registers hold sums, rows of weights by shifted planes, {spread}"
    )


class _Shifted:
    """Rewrites a convolution; see the head of this file."""

    def __init__(
        self,
        sch: Schedule,
        block: BlockRV,
        form: MatrixForm,
        plane: Operand,
        columns: list[Column],
        tile: Tile,
    ) -> None:
        self.sch, self.block, self.form, self.tile = sch, block, form, tile
        self.columns, self.plane = columns, plane
        self.node: Block = sch.get(block)
        self._analyzer = Analyzer()
        for iv in self.node.iter_vars:
            if iv.dom is not None:
                self._analyzer.bind(iv.var, iv.dom)
        self.positions = [
            self._analyzer.simplify(_extent(column.iv) + column.reach // column.step)
            for column in columns
        ]
        self.pitches = self._pitches()

    def rewrite(self) -> BlockRV:
        """Put a copy of the plane, the product, and a copy of its columns in place."""
        sch, node = self.sch, self.node
        store = node.body
        assert isinstance(store, BufferStore), "a contraction is one store"
        plane = self.plane.buffer
        run = self._rounded(_extent(self.columns[0].iv) * self.pitches[0], self.tile.columns)
        ahead = sum(
            (column.reach // column.step * pitch
             for column, pitch in zip(self.columns, self.pitches)),
            make_const(0, run.dtype),
        )  # fmt: skip
        kept = [dim for dim in range(len(plane.shape)) if dim not in self._dims()]
        phases = [column for column in self.columns if column.phases > 1]
        source = _buffer(
            plane, "shifted",
            [plane.shape[dim] for dim in kept]
            + [make_const(column.phases, run.dtype) for column in phases]
            + [self._analyzer.simplify(run + ahead)],
        )  # fmt: skip
        (filters,) = self.form.m
        rows = self._rounded(_extent(filters), self.tile.rows)
        sums = _buffer(
            store.buffer, "run", [*(_extent(iv) for iv in self.form.outer), rows, run]
        )
        copy = self._copy(source, kept, phases)
        product = self._product(source, sums, kept, phases, filters, rows, run)
        crop = self._crop(sums, filters)
        state, place = sch.state, sch.get_sref(self.block)
        scope = scope_of(place)
        top = place_below(scope, place).stmt
        assert top is not None, "a place in the scope"
        makers = sch.get_producers(self.block)
        edit = _Replace(top, [copy, product[1], crop], node, product[0])
        edit_scope(state, scope, edit, allocate=[source, sums])
        made = next(p for p in sch.get_producers(self.block)
                    if sch.get(p).writes[0].buffer is source)  # fmt: skip
        _writes_all(sch, made)
        for maker in makers:
            if sch.get(maker).writes[0].buffer is plane:
                inline_copy(sch, maker, made)
        _writes_all(sch, made)
        for user in sch.get_consumers(self.block):
            inline_copy(sch, user, user)
        return made

    def _dims(self) -> list[int]:
        return [column.dim for column in self.columns]

    def _rounded(self, extent: PrimExpr, step: int) -> PrimExpr:
        return self._analyzer.simplify(ceildiv(extent, step) * step)

    def _pitches(self) -> list[PrimExpr]:
        """How far apart in a run neighbours along each column variable are."""
        found: list[PrimExpr] = [make_const(1, self.columns[-1].iv.var.dtype)]
        for count in reversed(self.positions[1:]):
            found.insert(0, self._analyzer.simplify(count * found[0]))
        return found

    def _run(self, at: Sequence[PrimExpr]) -> PrimExpr:
        total = at[0] * self.pitches[0]
        for place, pitch in zip(at[1:], self.pitches[1:]):
            total = total + place * pitch
        return total

    def _copy(
        self, target: Buffer, kept: list[int], phases: list[Column]
    ) -> Stmt:
        """target[c, a, y * Q + x] = X[c, y * s + a, x * s + a]"""
        plane = self.plane.buffer
        shape = [plane.shape[dim] for dim in kept]
        shape += [make_const(column.phases, plane.shape[-1].dtype) for column in phases]
        iter_vars, loops = _grid([*shape, *self.positions], "v")
        names: list[PrimExpr] = [iv.var for iv in iter_vars]
        channels, phase = names[: len(kept)], names[len(kept) : len(shape)]
        at = names[len(shape) :]
        shift = dict(zip((column.dim for column in phases), phase))
        place = dict(zip(kept, channels))
        inside: PrimExpr = TRUE
        for column, index in zip(self.columns, at):
            whole = index * column.step if column.step > 1 else index
            place[column.dim] = whole + shift[column.dim] if column.dim in shift else whole
            inside = logical_and(inside, less(place[column.dim], plane.shape[column.dim]))
        indices = [place[dim] for dim in range(len(plane.shape))]
        zero = make_const(0, plane.dtype)
        load = BufferLoad(plane, indices)
        value = Call(plane.dtype, "tir.if_then_else", (inside, load, zero))
        store = BufferStore(target, value, [*channels, *phase, self._run(at)])
        return _block(iter_vars, loops, target.name, store)[1]

    def _product(
        self,
        source: Buffer,
        sums: Buffer,
        kept: list[int],
        phases: list[Column],
        filters: IterVar,
        rows: PrimExpr,
        run: PrimExpr,
    ) -> tuple[Block, Stmt]:
        store, init = self.node.body, self.node.init
        assert isinstance(store, BufferStore), "a contraction is one store"
        assert isinstance(init, BufferStore), "a contraction has an init"
        old = [*self.form.outer, filters, *self.form.k]
        sizes = [*(_extent(iv) for iv in self.form.outer), rows, run,
                 *(_extent(iv) for iv in self.form.k)]  # fmt: skip
        iter_vars, loops = _grid(sizes, "v")
        split = len(self.form.outer) + 1
        names = [iv.var for iv in iter_vars]
        own = dict(zip((iv.var for iv in old), [*names[:split], *names[split + 1 :]]))
        iter_vars = [
            IterVar(iv.dom, iv.var, IterVar.CommReduce) if place > split else iv
            for place, iv in enumerate(iter_vars)
        ]
        values: dict[Var, PrimExpr] = dict(own)
        limit = _extent(filters)
        if not self._analyzer.can_prove_equal(rows, limit):
            values[filters.var] = Min(own[filters.var], limit - 1)
        target = [*names[:split], names[split]]
        run_at: PrimExpr = names[split]
        steps: dict[int, PrimExpr] = {}
        for column, pitch in zip(self.columns, self.pitches):
            shift = substitute(column.shift, own)
            run_at = run_at + shift // column.step * pitch
            steps[column.dim] = shift % column.step
        place = [
            *(substitute(self.plane.indices[dim], own) for dim in kept),
            *(steps[column.dim] for column in phases),
            self._analyzer.simplify(run_at),
        ]
        rule = _Loads({self.plane.buffer: BufferLoad(source, place),
                       store.buffer: BufferLoad(sums, target)}, values)  # fmt: skip
        body = BufferStore(sums, rule.visit_expr(store.value), target)
        return _block(
            iter_vars, loops, self.node.name_hint, body, BufferStore(sums, init.value, target)
        )

    def _crop(self, sums: Buffer, filters: IterVar) -> Stmt:
        """C[n, f, y, x] = sums[n, f, y * Q + x]"""
        store = self.node.body
        assert isinstance(store, BufferStore), "a contraction is one store"
        target = store.buffer
        iter_vars, loops = _grid(target.shape, "v")
        names = {
            index: iv.var for index, iv in zip(store.indices, iter_vars) if isinstance(index, Var)
        }
        zero = make_const(0, target.shape[-1].dtype)
        place = [names.get(iv.var, zero) for iv in (*self.form.outer, filters)]
        at = self._run([names.get(column.iv.var, zero) for column in self.columns])
        body = BufferStore(target, BufferLoad(sums, [*place, at]), [iv.var for iv in iter_vars])
        return _block(iter_vars, loops, target.name, body)[1]


def _writes_all(sch: Schedule, copy: BlockRV) -> None:
    """What a run holds past its last row counts as written: it is read, and never used."""
    node: Block = sch.get(copy)
    (write,) = node.writes
    end = Range.from_min_extent(0, write.buffer.shape[-1])
    new = change_block(node, writes=[BufferRegion(write.buffer, [*write.region[:-1], end])])
    sch.state.replace(sch.get_sref(copy), new, {node: new})


class _Replace(ScopeEdit):
    """Puts statements in the place of a nest; of its block there is a new one."""

    def __init__(self, top: Stmt, new: Sequence[Stmt], old: Block, block: Block) -> None:
        super().__init__({})
        self._top, self._new = top, new
        self.track(old, block)

    def visit_stmt(self, stmt: Stmt) -> Stmt:
        return SeqStmt.flatten(self._new) if stmt is self._top else super().visit_stmt(stmt)


class _Loads(StmtExprMutator):
    """Replaces loads of some buffers, and variables in all others."""

    def __init__(
        self, loads: Mapping[Buffer, BufferLoad], values: Mapping[Var, PrimExpr]
    ) -> None:
        super().__init__()
        self._loads, self._values = loads, values

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        found = self._loads.get(op.buffer)
        return super().visit_buffer_load_(op) if found is None else found

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._values.get(op, op)


def _extent(iv: IterVar) -> PrimExpr:
    assert iv.dom is not None, "block variables have domains"
    return iv.dom.extent


def _buffer(like: Buffer, suffix: str, shape: Sequence[PrimExpr]) -> Buffer:
    made = with_scope(like, "global", f"{like.name}_{suffix}")
    return made.with_changes(shape=tuple(shape), strides=(), elem_offset=None)


def _grid(
    shape: Sequence[PrimExpr], prefix: str
) -> tuple[list[IterVar], list[tuple[Var, PrimExpr]]]:
    loops = [(Var(f"i{dim}", extent.dtype), extent) for dim, extent in enumerate(shape)]
    iter_vars = [
        IterVar(
            Range.from_min_extent(IntImm(extent.dtype, 0), extent),
            Var(f"{prefix}{dim}", extent.dtype), IterVar.DataPar,
        )
        for dim, extent in enumerate(shape)
    ]  # fmt: skip
    return iter_vars, loops


def _block(
    iter_vars: list[IterVar],
    loops: list[tuple[Var, PrimExpr]],
    name: str,
    body: BufferStore,
    init: BufferStore | None = None,
) -> tuple[Block, Stmt]:
    block = with_regions(Block(iter_vars, [], [], name, body, init))
    return block, nest(loops, BlockRealize([var for var, _ in loops], TRUE, block))


def _fill(
    sch: Schedule, copy: BlockRV, tile: Tile, cpu: CpuModel, work: float
) -> None:
    """Vectors along the rows of the copy."""
    loops = sch.get_loops(copy)
    size = sch.get(loops[-1]).extent
    known = size.value if isinstance(size, IntImm) else None
    if known is None or known > tile.lanes:
        loops[-1:] = sch.split(loops[-1], factors=[None, tile.lanes])
        if known is None:
            keep_whole(sch, loops[-2])
    sch.vectorize(loops[-1])
    share_out(sch, loops[:2], cpu, work / 8, sch.get(copy), heavy=True)


def _store(sch: Schedule, back: BlockRV, lanes: int) -> None:
    """Rows and vectors unrolled, so that accumulators have constant places."""
    row, column = sch.get_loops(back)[-2:]
    vectors, inner = sch.split(column, factors=[None, lanes])
    sch.vectorize(inner)
    sch.unroll(vectors)
    sch.unroll(row)
