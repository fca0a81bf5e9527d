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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, Call, FloorDiv, IntImm, Max, Min, Select, Var, make_const
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op.arith import equal, less, less_equal, logical_and
from tvm.tir.schedule.scopes import TRUE
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)
from tvm.tir.winograd import (
    SPAN,
    TILE,
    inputs_to_points,
    most_vectors,
    outputs_of_pairs,
    pairs_of,
)

from .tiles import LATENCY, LOAD_COST

INDEX = "int64"
PLAN = 64  # numbers of a plan
UNIT = 64  # of modelled time, which generated code compares as whole numbers


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
        self.vectors = most_vectors(cpu, shape.filters)
        self.most = self.vectors * self.lanes  # tiles of a panel
        self.blocks = -(-shape.outs // shape.filters)

    def nest(self) -> BlockRealize:
        """The whole convolution as one block."""
        s, plan = self.s, Plan()
        down = plan.keep("down", (s.high + (TILE - 1)) // TILE)
        across = plan.keep("across", (s.wide + (TILE - 1)) // TILE)
        rows = plan.keep("rows", s.images * down)
        vectors, parts, columns, lines, panels = self._panels(plan, rows, across)
        shares = Select(
            less(panels, _int(self.cpu.cores)), _int(min(self.cpu.cores, self.blocks)), _int(1)
        )
        split = plan.keep("split", shares)
        each = plan.keep("each", (_int(self.blocks) + split - 1) // split)
        task, body = _var("task"), Scope()
        panel, share = body.let("panel", task // split), body.let("share", task % split)
        first_row = body.let("first_row", panel // parts * lines)
        first_column = body.let("first_column", panel % parts * columns)
        height = body.let("lines", Min(lines, rows - first_row))
        length = body.let("columns", Min(columns, across - first_column))
        place = _Panel(first_row, first_column, height, length, down, vectors, columns)
        first = body.let("first", share * each)
        count = body.let("blocks", Min(each, _int(self.blocks) - first))
        memory = self._memory()
        body.add(self._clear(memory.rows))
        body.add(self._input(place, memory))
        body.add(self._filters(place, memory, first, count))
        inner = _opaque("winograd_panel", body.stmt(), list(memory.buffers()), [], [])
        whole = plan.around(For(task, 0, panels * split, ForKind.PARALLEL, inner))
        some = less(_int(0), Min(s.images, Min(s.high, s.wide)))
        reads = [*(region.buffer for region in self.last.reads if region.buffer is not self.pairs),
                 self.data, self.weights]  # fmt: skip
        writes = [region.buffer for region in self.last.writes]
        return _opaque("winograd", IfThenElse(some, whole), [plan.memory], _unique(reads), writes)

    def reason(self) -> str:
        """What was done, in a sentence."""
        return (
            f"Winograd's F(4x4, 3x3) for any size: {self.s.filters} filters by up to "
            f"{self.vectors} vectors of tiles in registers, as many as the call makes use of"
        )

    def _panels(self, plan: Plan, rows: Var, across: Var) -> list[Var]:
        """Vectors of a panel, parts of a row, columns of a part, rows of a panel, panels.

        All sizes that registers hold are tried, by arithmetic, when the program runs.
        """
        names = ("time", "vectors", "parts", "width", "lines", "panels")
        best = [plan.place(name) for name in names]
        for count, cost in enumerate(vector_costs(self.cpu, self.s.filters, self.vectors), 1):
            tiles = count * self.lanes
            parts = plan.keep("parts", (across + (tiles - 1)) // tiles)
            columns = plan.keep("columns", (across + parts - 1) // parts)
            most = plan.keep("most", Max(_int(1), Min(_int(tiles) // columns, rows)))
            groups = plan.keep("groups", (rows + most - 1) // most)
            lines = plan.keep("lines", (rows + groups - 1) // groups)
            panels = plan.keep("panels", groups * parts)
            time = plan.keep("time", panels * cost)
            found = (time, _int(count), parts, columns, lines, panels)
            plan.put(best, found, None if count == 1 else less(time, plan.at(best[0])))
        return [plan.read(name, place) for name, place in zip(names[1:], best[1:])]

    def _memory(self) -> _Memory:
        """What a panel needs, with room for vectors that reach past the end."""
        dtype, s, room = str(self.data.dtype), self.s, self.most + self.lanes
        return _Memory(
            decl_buffer((_int(SPAN), _int(self._span())), dtype, "rows"),
            decl_buffer(
                (_int(SPAN * SPAN), _int(s.channels * self.most + self.lanes)), dtype, "tiles"
            ),
            decl_buffer((_int(SPAN), _int(SPAN), _int(s.filters), _int(self.most)), dtype,
                        "products"),
            decl_buffer((_int(TILE), _int(SPAN), _int(s.filters), _int(room)), dtype, "pairs"),
            decl_buffer((_int(s.filters), _int(self.most)), dtype, "sums", scope="local"),
        )  # fmt: skip

    # --- the input ---

    def _clear(self, rows: Buffer) -> Stmt:
        """Zeros behind the rows, for lanes that have no tile: sums of what lies there are slow."""
        e, group, lane = _var("e"), _var("x"), _var("lane")
        zero = make_const(0, rows.dtype)
        store = self._vector(lane, BufferStore(rows, zero, [e, group * self.lanes + lane]))
        span = self._span() // self.lanes
        return For(e, 0, SPAN, ForKind.SERIAL, For(group, 0, span, ForKind.SERIAL, store))

    def _span(self) -> int:
        """Places of a row that the tiles of whole vectors may read."""
        return (TILE * self.most // self.lanes + 1) * self.lanes

    def _input(self, p: _Panel, memory: _Memory) -> Stmt:
        channel, line = _var("c"), _var("r")
        scope = Scope()
        row = scope.let("row", p.first_row + line)
        image = scope.let("image", row // p.down)
        top = scope.let("top", row % p.down * TILE - self.s.top)
        scope.add(self._rows(p, memory.rows, image, channel, top))
        scope.add(self._tiles(p, memory, channel, line))
        loop = For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())
        return For(channel, 0, self.s.channels, ForKind.SERIAL, loop)

    def _rows(self, p: _Panel, rows: Buffer, image: Var, channel: Var, top: Var) -> Stmt:
        """Six rows of the plane to six rows at points of the polynomials."""
        s, (group, lane) = self.s, (_var("x"), _var("lane"))
        index = group * self.lanes + lane
        scope = Scope()
        start = scope.let("start", p.first_column * TILE - s.left)
        column = start + index
        inside = logical_and(less_equal(_int(0), column), less(column, s.width))

        def pixel(k: int) -> PrimExpr:
            line = top + k
            there = logical_and(less_equal(_int(0), line), less(line, s.height))
            there = logical_and(there, inside)
            load = BufferLoad(self.data, [image, channel, line, column])
            zero = make_const(0, self.data.dtype)
            return Call(self.data.dtype, "tir.if_then_else", (there, load, zero))

        values = inputs_to_points(pixel)
        body = SeqStmt([BufferStore(rows, v, [_int(e), index]) for e, v in enumerate(values)])
        vectors = (p.columns * TILE + (2 + self.lanes - 1)) // self.lanes
        scope.add(For(group, 0, vectors, ForKind.SERIAL, self._vector(lane, body)))
        return scope.stmt()

    def _tiles(self, p: _Panel, memory: _Memory, channel: Var, line: Var) -> Stmt:
        """Columns of the tiles of a row, and where they lie among those of the panel."""
        group, lane = _var("x"), _var("lane")
        index = group * self.lanes + lane
        target = channel * (p.vectors * self.lanes) + line * p.columns + index

        def along(e: int) -> list[PrimExpr]:
            def pixel(k: int) -> PrimExpr:
                return BufferLoad(memory.rows, [_int(e), index * TILE + k])

            return inputs_to_points(pixel)

        stores = SeqStmt([
            BufferStore(memory.tiles, value, [_int(e * SPAN + f), target])
            for e in range(SPAN)
            for f, value in enumerate(along(e))
        ])  # fmt: skip
        vectors = (p.columns + (self.lanes - 1)) // self.lanes
        return For(group, 0, vectors, ForKind.SERIAL, self._vector(lane, stores))

    # --- blocks of filters ---

    def _filters(self, p: _Panel, memory: _Memory, first: Var, count: Var) -> Stmt:
        number = _var("b")
        scope = Scope()
        block = scope.let("block", first + number)
        choice: Stmt | None = None
        for vectors in range(self.vectors, 0, -1):
            sums = self._sums(memory, block, vectors)
            choice = sums if choice is None else IfThenElse(
                equal(p.vectors, _int(vectors)), sums, choice
            )  # fmt: skip
        assert choice is not None, "there is a size"
        scope.add(choice)
        scope.add(self._pairs(p, memory))
        scope.add(self._output(p, memory, block))
        return For(number, 0, count, ForKind.SERIAL, scope.stmt())

    def _sums(self, memory: _Memory, block: Var, vectors: int) -> Stmt:
        """Sums over all channels in registers, point by point."""
        s, width = self.s, vectors * self.lanes
        e, f, channel = _var("e"), _var("f"), _var("c")

        def each(make: Callable[[Var, PrimExpr], Stmt]) -> Stmt:
            m, v, lane = _var("m"), _var("v"), _var("lane")
            body = self._vector(lane, make(m, v * self.lanes + lane))
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
        return For(e, 0, SPAN, ForKind.SERIAL, For(f, 0, SPAN, ForKind.SERIAL, steps))

    def _pairs(self, p: _Panel, memory: _Memory) -> Stmt:
        m, v, lane = _var("m"), _var("v"), _var("lane")
        q = v * self.lanes + lane

        def column(f: int) -> list[PrimExpr]:
            points = pairs_of(lambda e: BufferLoad(memory.products, [_int(e), _int(f), m, q]))
            return [outputs_of_pairs(points, number) for number in range(TILE)]

        stores: list[Stmt] = []
        for y, line in enumerate(zip(*(column(f) for f in range(SPAN)))):
            stores += [BufferStore(memory.pairs, value, [_int(y), _int(g), m, q])
                       for g, value in enumerate(pairs_of(line.__getitem__))]  # fmt: skip
        body = self._vector(lane, SeqStmt(stores))
        return For(m, 0, self.s.filters, ForKind.SERIAL,
                   For(v, 0, p.vectors, ForKind.SERIAL, body))  # fmt: skip

    def _output(self, p: _Panel, memory: _Memory, block: Var) -> Stmt:
        """What the last block says, for all places of the panel."""
        s = self.s
        m, line, y = _var("m"), _var("r"), _var("y")
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
            rule = _Place(self.pairs, memory.pairs, y, m, column, values, lane)
            return rule.visit_stmt(store)

        x, lane, lane2 = _var("x"), _var("lane"), _var("lane")
        whole = inner.let("whole", end // self.lanes)
        inner.add(For(x, 0, whole, ForKind.SERIAL, self._vector(lane, piece(x, lane))))
        rest = IfThenElse(less(whole * self.lanes + lane2, end), piece(whole, lane2))
        inner.add(IfThenElse(less(whole * self.lanes, end), self._vector(lane2, rest)))
        rows = For(y, 0, Min(_int(TILE), s.high - top), ForKind.SERIAL, inner.stmt())
        scope.add(rows)
        body = For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())
        count = Min(_int(s.filters), _int(s.outs) - block * s.filters)
        return For(m, 0, count, ForKind.SERIAL, body)

    def _vector(self, lane: Var, body: Stmt) -> Stmt:
        return For(lane, 0, self.lanes, ForKind.VECTORIZED, body)


class Scope:
    """Statements behind numbers that they use."""

    def __init__(self) -> None:
        self._lets: list[tuple[Var, PrimExpr]] = []
        self._body: list[Stmt] = []

    def let(self, name: str, value: PrimExpr) -> Var:
        """A name for a number."""
        var = _var(name)
        self._lets.append((var, value))
        return var

    def add(self, stmt: Stmt) -> None:
        """One more statement."""
        self._body.append(stmt)

    def stmt(self) -> Stmt:
        """All of it."""
        body = SeqStmt.flatten(self._body)
        for var, value in reversed(self._lets):
            body = LetStmt(var, value, body)
        return body


class Plan:
    """Numbers that are found once a call, in memory.

    As names for expressions they would be seen through by every proof, again and again.
    """

    def __init__(self) -> None:
        self.memory = decl_buffer((_int(PLAN),), INDEX, "plan")
        self._count = 0
        self._steps: list[tuple[Stmt, tuple[Var, PrimExpr] | None]] = []

    def place(self, _: str) -> IntImm:
        """Room for a number."""
        self._count += 1
        assert self._count <= PLAN, "room for all"
        return _int(self._count - 1)

    def at(self, place: IntImm) -> PrimExpr:
        """What is there."""
        return BufferLoad(self.memory, [place])

    def keep(self, name: str, value: PrimExpr) -> Var:
        """A name for a number that is put there now."""
        place, var = self.place(name), _var(name)
        store = BufferStore(self.memory, value, [place])
        self._steps.append((store, (var, self.at(place))))
        return var

    def read(self, name: str, place: IntImm) -> Var:
        """A name for a number that was put there."""
        var = _var(name)
        self._steps.append((Evaluate(_int(0)), (var, self.at(place))))
        return var

    def put(
        self, places: Sequence[IntImm], values: Sequence[PrimExpr], condition: PrimExpr | None
    ) -> None:
        """Numbers for places, under a condition."""
        stores = SeqStmt(
            [BufferStore(self.memory, value, [place]) for place, value in zip(places, values)]
        )
        step = stores if condition is None else IfThenElse(condition, stores)
        self._steps.append((step, None))

    def around(self, body: Stmt) -> Stmt:
        """The statement, behind all of that."""
        for step, name in reversed(self._steps):
            body = body if name is None else LetStmt(*name, body)
            body = body if isinstance(step, Evaluate) else SeqStmt.flatten([step, body])
        return body


@dataclass(frozen=True)
class _Panel:
    first_row: Var
    first_column: Var
    lines: Var
    length: Var  # columns that there are
    down: Var
    vectors: Var
    columns: Var  # from one row to the next


@dataclass(frozen=True)
class _Memory:
    rows: Buffer
    tiles: Buffer
    products: Buffer
    pairs: Buffer
    sums: Buffer

    def buffers(self) -> Iterator[Buffer]:
        yield from (self.rows, self.tiles, self.products, self.pairs, self.sums)


class _Place(StmtExprMutator):
    """The last block's store at a place: pairs are read from those of the panel."""

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
        place = [self._y, _int(number.value), self._m, self._column]
        return BufferLoad(self._made, place)

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
        places = (load.indices[0], load.indices[2], load.indices[1], load.indices[6])
        parts: list[Var] = []
        for number, index in enumerate(places):
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
    (rest,) = found
    used = {first, *rest} & names
    wide = {iv.var for iv in last.iter_vars
            if iv.dom is None or not isinstance(iv.dom.extent, IntImm) or iv.dom.extent.value != 1}
    return (first, *rest) if wide <= used and len(set(rest)) == 3 else None  # type: ignore[return-value]


def _opaque(
    name: str, body: Stmt, made: list[Buffer], reads: list[Buffer], writes: list[Buffer]
) -> BlockRealize:
    block = Block(
        [], [BufferRegion.full_region(b) for b in reads],
        [BufferRegion.full_region(b) for b in writes], name, body, None, made,
    )  # fmt: skip
    return BlockRealize([], TRUE, block)


def _unique(buffers: list[Buffer]) -> list[Buffer]:
    return list(dict.fromkeys(buffers))


def _var(name: str) -> Var:
    return Var(name, INDEX)


def _int(value: int) -> IntImm:
    return IntImm(INDEX, value)
