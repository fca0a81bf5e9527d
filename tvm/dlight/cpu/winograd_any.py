"""Winograd's convolution over planes of any size: how tiles make panels is decided by the call.

    down, across = rows and columns of tiles; rows = n * down
    width = vectors of a panel, the fastest of a few by the model below
    for p in panels:                                # parallel; rows of tiles, or parts of one
        for c, r:                                   # r: rows of tiles in the panel
            R[e, x] = rows of X[i, c] transformed   # six rows at once, zeros outside of the plane
            V[e * 6 + f, c, r * S + x] = tiles      # vectors along the tiles of a row
        for b:                                      # blocks of filters
            for e, f: M[e, f, m, :] = sum over c of U[b, e, f, c, m] * V[e, f, c, :]
            P = pairs of M
            for m, r, y, x: B = epilogue(P)

The tiles of a row lie side by side, S of them, and those of the next row behind them: vectors that
reach past the end of a row write what the next row writes again. So lanes are empty only at the end
of a panel. What is loaded past the edges of the plane is zero, so no padded copy is made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, Call, FloorDiv, IntImm, Min, Select, Var, make_const
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op.arith import less, less_equal, logical_and
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
)
from tvm.tir.transform.prefetch_panels import PANEL
from tvm.tir.winograd import (
    SPAN,
    TILE,
    inputs_to_points,
    max_vectors,
    outputs_of_pairs,
    pairs_of,
)

from .any_size import UNIT, Plan, Scope, choose_panels, i64, name_of, one_of, opaque, vector
from .tiles import LATENCY, LOAD_COST


@dataclass(frozen=True)
class Shape:
    """What is known of a convolution: numbers, and the sizes of the call."""

    channels: int
    outs: int
    filters: int  # of a block of weights
    images: PrimExpr
    height: PrimExpr
    width: PrimExpr
    high: PrimExpr  # of the result
    wide: PrimExpr
    top: int
    left: int


def vector_costs(cpu: CpuModel, filters: int, most: int) -> list[int]:
    """Modelled time of sums over one to `most` vectors of tiles, by the model of `tiles`."""
    found: list[int] = []
    for vectors in range(1, most + 1):
        sums = filters * vectors
        cost = 1 + LOAD_COST * (filters + vectors) / sums
        cost *= max(1.0, cpu.fma_ports * LATENCY / sums)
        found.append(round(UNIT * cost * vectors))
    return found


class AnySize:
    """Makes the loops of one convolution."""

    def __init__(
        self, shape: Shape, data: Buffer, weights: Buffer, cpu: CpuModel, last: Block, pairs: Buffer
    ) -> None:
        self.s, self.data, self.weights, self.cpu = shape, data, weights, cpu
        self.last, self.pairs = last, pairs
        self.lanes = cpu.lanes(data.dtype.bits)
        self.vectors = max_vectors(cpu, shape.filters)
        self.most = self.vectors * self.lanes  # tiles of a panel
        self.blocks = -(-shape.outs // shape.filters)

    def nest(self) -> BlockRealize:
        """The whole convolution as one block."""
        s, plan = self.s, Plan()
        down = plan.keep("down", (s.high + (TILE - 1)) // TILE)
        across = plan.keep("across", (s.wide + (TILE - 1)) // TILE)
        rows = plan.keep("rows", s.images * down)
        costs = vector_costs(self.cpu, s.filters, self.vectors)
        found = choose_panels(plan, rows, across, self.lanes, costs)
        vectors, parts, columns, lines, panels = (
            found.vectors, found.parts, found.columns, found.lines, found.panels
        )  # fmt: skip
        shares = Select(
            less(panels, i64(self.cpu.cores)), i64(min(self.cpu.cores, self.blocks)), i64(1)
        )
        split = plan.keep("split", shares)
        each = plan.keep("each", (i64(self.blocks) + split - 1) // split)
        task, body = name_of("task"), Scope()
        panel, share = body.let("panel", task // split), body.let("share", task % split)
        first_row = body.let("first_row", panel // parts * lines)
        first_column = body.let("first_column", panel % parts * columns)
        height = body.let("lines", Min(lines, rows - first_row))
        length = body.let("columns", Min(columns, across - first_column))
        current = _Panel(first_row, first_column, height, length, down, vectors, columns)
        first = body.let("first", share * each)
        count = body.let("blocks", Min(each, i64(self.blocks) - first))
        memory = self._memory()
        body.add(self._clear(memory.rows))
        body.add(self._input(current, memory))
        body.add(self._filters(current, memory, first, count))
        inner = opaque("winograd_panel", body.stmt(), list(memory.buffers()), [], [])
        whole = plan.around(For(task, 0, panels * split, ForKind.PARALLEL, inner))
        some = less(i64(0), Min(s.images, Min(s.high, s.wide)))
        reads = [*(region.buffer for region in self.last.reads if region.buffer is not self.pairs),
                 self.data, self.weights]  # fmt: skip
        writes = [region.buffer for region in self.last.writes]
        return opaque("winograd", IfThenElse(some, whole), [plan.memory], _unique(reads), writes)

    def reason(self) -> str:
        """The schedule's reason."""
        return (
            f"Winograd's F(4x4, 3x3) for any size: {self.s.filters} filters by up to "
            f"{self.vectors} vectors of tiles in registers, as many as the call makes use of"
        )

    def _memory(self) -> _Memory:
        """The buffers of a panel, padded for vectors that reach past the end."""
        dtype, s, room = str(self.data.dtype), self.s, self.most + self.lanes
        return _Memory(
            decl_buffer((i64(SPAN), i64(self._span())), dtype, "rows"),
            decl_buffer(
                (i64(SPAN * SPAN), i64(s.channels * self.most + self.lanes)), dtype, "tiles"
            ),
            decl_buffer((i64(SPAN), i64(SPAN), i64(s.filters), i64(self.most)), dtype,
                        "products"),
            decl_buffer((i64(TILE), i64(SPAN), i64(s.filters), i64(room)), dtype, "pairs"),
            decl_buffer((i64(s.filters), i64(self.most)), dtype, "sums", scope="local"),
        )  # fmt: skip

    # --- the input ---

    def _clear(self, rows: Buffer) -> Stmt:
        """Zeros behind the rows, for lanes that have no tile: sums of what lies there are slow."""
        e, group, lane = name_of("e"), name_of("x"), name_of("lane")
        zero = make_const(0, rows.dtype)
        store = vector(lane, self.lanes, BufferStore(rows, zero, [e, group * self.lanes + lane]))
        span = self._span() // self.lanes
        return For(e, 0, SPAN, ForKind.SERIAL, For(group, 0, span, ForKind.SERIAL, store))

    def _span(self) -> int:
        """Elements of a row that the tiles of whole vectors may read."""
        return (TILE * self.most // self.lanes + 1) * self.lanes

    def _input(self, p: _Panel, memory: _Memory) -> Stmt:
        channel, line = name_of("c"), name_of("r")
        scope = Scope()
        row = scope.let("row", p.first_row + line)
        image = scope.let("image", row // p.down)
        top = scope.let("top", row % p.down * TILE - self.s.top)
        scope.add(self._rows(p, memory.rows, image, channel, top))
        scope.add(self._tiles(p, memory, channel, line))
        loop = For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())
        return For(channel, 0, self.s.channels, ForKind.SERIAL, loop)

    def _rows(self, p: _Panel, rows: Buffer, image: Var, channel: Var, top: Var) -> Stmt:
        """The input transform along rows: six rows of the plane to six polynomial points."""
        s, (group, lane) = self.s, (name_of("x"), name_of("lane"))
        index = group * self.lanes + lane
        scope = Scope()
        start = scope.let("start", p.first_column * TILE - s.left)
        column = start + index
        inside = logical_and(less_equal(i64(0), column), less(column, s.width))

        def pixel(k: int) -> PrimExpr:
            line = top + k
            there = logical_and(less_equal(i64(0), line), less(line, s.height))
            there = logical_and(there, inside)
            load = BufferLoad(self.data, [image, channel, line, column])
            zero = make_const(0, self.data.dtype)
            return Call(self.data.dtype, "tir.if_then_else", (there, load, zero))

        values = inputs_to_points(pixel)
        body = SeqStmt([BufferStore(rows, v, [i64(e), index]) for e, v in enumerate(values)])
        vectors = (p.columns * TILE + (2 + self.lanes - 1)) // self.lanes
        scope.add(For(group, 0, vectors, ForKind.SERIAL, vector(lane, self.lanes, body)))
        return scope.stmt()

    def _tiles(self, p: _Panel, memory: _Memory, channel: Var, line: Var) -> Stmt:
        """Columns of the tiles of a row, and where they lie among those of the panel."""
        group, lane = name_of("x"), name_of("lane")
        index = group * self.lanes + lane
        target = channel * (p.vectors * self.lanes) + line * p.columns + index

        def along(e: int) -> list[PrimExpr]:
            def pixel(k: int) -> PrimExpr:
                return BufferLoad(memory.rows, [i64(e), index * TILE + k])

            return inputs_to_points(pixel)

        stores = SeqStmt([
            BufferStore(memory.tiles, value, [i64(e * SPAN + f), target])
            for e in range(SPAN)
            for f, value in enumerate(along(e))
        ])  # fmt: skip
        # the last row goes on to the end of the panel: its rows hold zeros there
        rest = p.vectors * self.lanes - line * p.columns
        length = Select(less(line + 1, p.lines), p.columns, rest)
        vectors = (length + (self.lanes - 1)) // self.lanes
        return For(group, 0, vectors, ForKind.SERIAL, vector(lane, self.lanes, stores))

    # --- blocks of filters ---

    def _filters(self, p: _Panel, memory: _Memory, first: Var, count: Var) -> Stmt:
        number = name_of("b")
        scope = Scope()
        block = scope.let("block", first + number)
        sizes = range(1, self.vectors + 1)
        scope.add(one_of(p.vectors, sizes, lambda vectors: self._sums(memory, block, vectors)))
        scope.add(self._pairs(p, memory))
        scope.add(self._output(p, memory, block))
        return For(number, 0, count, ForKind.SERIAL, scope.stmt())

    def _sums(self, memory: _Memory, block: Var, vectors: int) -> Stmt:
        """Sums over all channels in registers, point by point."""
        s, width = self.s, vectors * self.lanes
        e, f, channel = name_of("e"), name_of("f"), name_of("c")

        def each(make: Callable[[Var, PrimExpr], Stmt]) -> Stmt:
            m, v, lane = name_of("m"), name_of("v"), name_of("lane")
            body = vector(lane, self.lanes, make(m, v * self.lanes + lane))
            body = For(v, 0, vectors, ForKind.UNROLLED, body)
            return For(m, 0, s.filters, ForKind.UNROLLED, body)

        def add(m: Var, q: PrimExpr) -> Stmt:
            weight = BufferLoad(self.weights, [block, e * SPAN + f, channel, m])
            tile = BufferLoad(memory.tiles, [e * SPAN + f, channel * width + q])
            total = BufferLoad(memory.sums, [m, q]) + weight * tile
            return BufferStore(memory.sums, total, [m, q])

        zero = make_const(0, self.data.dtype)
        steps = SeqStmt([
            each(lambda m, q: BufferStore(memory.sums, zero, [m, q])),
            For(channel, 0, s.channels, ForKind.SERIAL, each(add)),
            each(lambda m, q: BufferStore(
                memory.products, BufferLoad(memory.sums, [m, q]), [e, f, m, q])),
        ])  # fmt: skip
        points = For(f, 0, SPAN, ForKind.SERIAL, steps)
        return For(e, 0, SPAN, ForKind.SERIAL, points, annotations=self._fetched())

    def _fetched(self) -> dict[str, int]:
        """Weights that no cache nearby holds are fetched ahead: each panel reads them all."""
        s = self.s
        size = s.channels * s.filters * self.blocks * SPAN * SPAN * self.data.dtype.itemsize
        return {PANEL: 1} if size > self.cpu.l2_bytes else {}

    def _pairs(self, p: _Panel, memory: _Memory) -> Stmt:
        m, v, lane = name_of("m"), name_of("v"), name_of("lane")
        q = v * self.lanes + lane

        def column(f: int) -> list[PrimExpr]:
            points = pairs_of(lambda e: BufferLoad(memory.products, [i64(e), i64(f), m, q]))
            return [outputs_of_pairs(points, number) for number in range(TILE)]

        stores: list[Stmt] = []
        for y, line in enumerate(zip(*(column(f) for f in range(SPAN)))):
            stores += [BufferStore(memory.pairs, value, [i64(y), i64(g), m, q])
                       for g, value in enumerate(pairs_of(line.__getitem__))]  # fmt: skip
        body = vector(lane, self.lanes, SeqStmt(stores))
        return For(m, 0, self.s.filters, ForKind.SERIAL,
                   For(v, 0, p.vectors, ForKind.SERIAL, body))  # fmt: skip

    def _output(self, p: _Panel, memory: _Memory, block: Var) -> Stmt:
        """The epilogue for all elements of the panel."""
        s = self.s
        m, line, y = name_of("m"), name_of("r"), name_of("y")
        store = self.last.body
        assert isinstance(store, BufferStore), "looked at by the caller"
        names = output_variables(self.last, self.pairs)
        assert names is not None, "looked at by the caller"
        scope, inner = Scope(), Scope()
        filter_ = scope.let("o", block * s.filters + m)
        row = scope.let("row", p.first_row + line)
        image = scope.let("image", row // p.down)
        top = scope.let("top", row % p.down * TILE)
        high = inner.let("y", top + y)
        begin = inner.let("begin", p.first_column * TILE)
        end = inner.let("end", Min(s.wide - begin, p.length * TILE))

        def piece(x: PrimExpr, lane: PrimExpr) -> Stmt:
            column = (line * p.columns + x * (self.lanes // TILE)) + lane // TILE
            values = dict(zip(names, (image, filter_, high, begin + x * self.lanes + lane)))
            rule = _StorePanelPairs(self.pairs, memory.pairs, y, m, column, values, lane)
            return rule.visit_stmt(store)

        x, lane, lane2 = name_of("x"), name_of("lane"), name_of("lane")
        whole = inner.let("whole", end // self.lanes)
        inner.add(For(x, 0, whole, ForKind.SERIAL, vector(lane, self.lanes, piece(x, lane))))
        partial = IfThenElse(less(whole * self.lanes + lane2, end), piece(whole, lane2))
        inner.add(IfThenElse(less(whole * self.lanes, end), vector(lane2, self.lanes, partial)))
        rows = For(y, 0, Min(i64(TILE), s.high - top), ForKind.SERIAL, inner.stmt())
        scope.add(rows)
        body = For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())
        count = Min(i64(s.filters), i64(s.outs) - block * s.filters)
        return For(m, 0, count, ForKind.SERIAL, body)


@dataclass(frozen=True)
class _Panel:
    first_row: Var
    first_column: Var
    lines: Var
    length: Var  # columns that there are
    down: PrimExpr
    vectors: PrimExpr
    columns: PrimExpr  # from one row to the next


@dataclass(frozen=True)
class _Memory:
    rows: Buffer
    tiles: Buffer
    products: Buffer
    pairs: Buffer
    sums: Buffer

    def buffers(self) -> Iterator[Buffer]:
        yield from (self.rows, self.tiles, self.products, self.pairs, self.sums)


class _StorePanelPairs(StmtExprMutator):
    """The last block's store of one element: pairs are read from those of the panel."""

    def __init__(
        self, pairs: Buffer, made: Buffer, y: Var, m: Var, column: PrimExpr,
        values: Mapping[Var, PrimExpr], lane: PrimExpr,
    ) -> None:  # fmt: skip
        super().__init__()
        self._pairs, self._made, self._y, self._m = pairs, made, y, m
        self._column, self._values, self._lane = column, values, lane

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        if op.buffer is not self._pairs:
            return super().visit_buffer_load_(op)
        number = op.indices[4]
        assert isinstance(number, IntImm), "each pair is read by its number"
        indices = [self._y, i64(number.value), self._m, self._column]
        return BufferLoad(self._made, indices)

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._values.get(op, op)


def output_variables(last: Block, pairs: Buffer) -> tuple[Var, Var, Var, Var] | None:
    """The block variables of image, filter, row and column, as pairs are read; None if not so."""
    if not isinstance(last.body, BufferStore) or last.init is not None:
        return None
    loads = [node for node in walk(last.body.value)
             if isinstance(node, BufferLoad) and node.buffer is pairs]  # fmt: skip
    names = {iv.var for iv in last.iter_vars}
    found: set[tuple[Var, ...]] = set()
    for load in loads:
        indices = (load.indices[0], load.indices[2], load.indices[1], load.indices[6])
        parts: list[Var] = []
        for number, index in enumerate(indices):
            base = index.a if isinstance(index, FloorDiv) else index
            if isinstance(base, IntImm) and number == 0:
                base = Var("image", base.dtype)
            if not isinstance(base, Var):
                return None
            parts.append(base)
        found.add(tuple(parts[1:]))
        first = parts[0]
    if len(found) != 1 or len(loads) == 0:
        return None
    (others,) = found
    used = {first, *others} & names
    wide = {iv.var for iv in last.iter_vars
            if iv.dom is None or not isinstance(iv.dom.extent, IntImm) or iv.dom.extent.value != 1}
    return (first, *others) if wide <= used and len(set(others)) == 3 else None  # type: ignore[return-value]


def _unique(buffers: list[Buffer]) -> list[Buffer]:
    return list(dict.fromkeys(buffers))
