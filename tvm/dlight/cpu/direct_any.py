"""Convolutions over planes of any size with the output channels along vectors.

    for n, strips of some rows of the result:                   # parallel
        P[c, j, :] = X[n, c, y0 * s + j, :] with its border     # in the second cache
        for jb in blocks of NR filters:
            for y, x0 in rows of the result, R at a time:       # the last ones end with the row
                acc[R, NR] = 0                                  # vector registers
                for c, ry, rx:
                    acc[i, :] += P[c, y * s + ry, (x0 + i) * s + rx] * W_packed[jb, c, ry, rx, :]
                S[:, y, x0 + i, :] = acc[i, :]
            C[n, jb, y, x] = epilogue(S[y, x, :])               # turned back, see `turned_runs`

As `direct_conv` for known sizes: an element of the plane is one broadcast, whatever the window's
step. Panels of columns (`conv_any`) take each element once for every step of the window when they
are packed, and leave lanes empty where planes are small: here a row takes the tile of the fewest
steps, and each element is copied once. How many rows make a strip, and how many columns a tile, the
call decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, IterVar, Max, Min, Select, Var
from tvm.tir.functor import substitute
from tvm.tir.op.arith import less, less_equal, logical_and
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
)

from .access import extent, has_size, size_of
from .any_size import (
    UNIT,
    Loads,
    Plan,
    Scope,
    copied_row,
    digits_of,
    filled,
    one_of,
    opaque,
    vector,
)
from .contraction import MatrixForm
from .fused import epilogue_of, padding_of
from .planes import plane_of
from .tiles import LATENCY, LOAD_COST
from .turned_runs import TurnedRuns, Views, Windows, views_of
from .weights import free_buffers, pack
from .window_axes import Axis, ReadPlane, axis_of, read_of, source_of

SHARE: Final = 2  # of the second cache, for what a strip reads; of twice the first, for its sums
WIDEST: Final = 14  # columns of a tile
TILES: Final = (1, 3, 4, 5, 7, 10, 12, 14)  # those that there is code of
SHORTEST: Final = 4  # columns that a register tile has room for, at least


def direct_any(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel
) -> DirectAny | None:
    """The loops of a convolution whose weights are packed; None for others, which stay."""
    node: Block = sch.get(block)
    store, plane = node.body, plane_of(node)
    lanes = cpu.lanes(found.output.dtype.bits)
    if not isinstance(store, BufferStore) or plane is None or len(form.m) != 1:
        return None
    if plane.buffer is not found.rhs.buffer or found.lhs.buffer not in free_buffers(sch):
        return None
    outs = extent(form.m[0]) or 0
    if found.output.dtype.bits != 32 or outs % lanes or lanes & (lanes - 1) or lanes < SHORTEST:
        return None
    if not outs or lanes > cpu.vector_registers // 2 or len(store.indices) < 3:
        return None
    if not all(isinstance(index, Var) for index in (*found.lhs.indices, *store.indices)):
        return None
    by_var = {iv.var: iv for iv in node.iter_vars}
    reducing = [iv for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce]
    down, along = (axis_of(plane, by_var[index], reducing) for index in store.indices[-2:])  # type: ignore[index]
    if down is None or along is None or along.dim != len(plane.indices) - 1:
        return None
    taps = {axis.tap for axis in (down, along)}
    deep = [iv for iv in reducing if iv not in taps and not has_size(iv, 1)]
    weights = set(found.lhs.indices)
    outer = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar
             and iv not in (down.iv, along.iv, form.m[0])]  # fmt: skip
    if len(deep) != 1 or any(iv.var in weights and not has_size(iv, 1) for iv in outer):
        return None
    pad, read = padding_of(sch, block, plane.buffer), read_of(store.value, plane)
    source = source_of(sch, pad, read, plane, (down, along))
    last = epilogue_of(sch, block, store.buffer, store.indices)
    if source is None:
        return None
    once = [iv for iv in node.iter_vars if has_size(iv, 1)]
    windows = Windows(sch, node, down, along, read, source, last, False,
                      list(dict.fromkeys([*outer, *once])), cpu)  # fmt: skip
    views = views_of(windows)
    if views is None:
        return None
    if columns_of_tile(cpu, len(along.taps), 1) < SHORTEST:
        return None
    if not _fits(cpu, extent(deep[0]) or 1, down, along, found.output.dtype.bits // 8):
        return None
    vectors = 2 if outs % (2 * lanes) == 0 else 1
    panel = sch.cache_read(block, found.lhs.read_index, "global")
    pack(sch, panel, [False] * len(found.lhs.indices),
         list(found.lhs.indices).index(form.m[0].var), vectors * lanes)  # fmt: skip
    packed = find_packed(sch, block, plane.buffer)
    again = Windows(sch, sch.get(block), down, along, read_of(sch.get(block).body.value, plane),
                    source, last, False, windows.outer, cpu)  # fmt: skip
    gone = [*([] if pad is None else [pad]), block, *([] if last is None else [last.block])]
    return DirectAny(again, form.m[0], deep[0], lanes, vectors, views, packed, gone)


def _fits(cpu: CpuModel, depth: int, down: Axis, along: Axis, nbytes: int) -> bool:
    """Whether a strip has room for the columns that a tile reads, of all channels."""
    columns = (WIDEST - 1) * along.step + along.reach + 1
    return depth * (down.reach + 1) * columns * nbytes <= cpu.l2_bytes // SHARE


def columns_of_tile(cpu: CpuModel, taps: int, vectors: int) -> int:
    """Columns of the largest tile: sums, weights of a row of the window, and an element fit."""
    return min(WIDEST, (cpu.vector_registers - 1 - taps * vectors) // vectors)


def find_packed(sch: Schedule, block: BlockRV, plane: Buffer) -> BufferLoad:
    """The load of packed weights."""
    found = find_contraction(sch.get(block))
    assert found is not None, "a contraction stays one"
    operand = found.lhs if found.rhs.buffer is plane else found.rhs
    return BufferLoad(operand.buffer, operand.indices)


class DirectAny(TurnedRuns):
    """Makes the loops of one convolution."""

    def __init__(
        self, found: Windows, filters: IterVar, deep: IterVar, lanes: int, vectors: int,
        views: Views, packed: BufferLoad, gone: list[BlockRV],
    ) -> None:  # fmt: skip
        super().__init__(found, filters, lanes, views)
        self.deep, self.vectors, self.packed, self.gone = deep, vectors, packed, gone
        self.depth, self.outs = extent(deep) or 1, extent(filters) or 1
        self.blocks = self.outs // (vectors * lanes)
        self.tiles = self._tiles()
        size = self.store.buffer.dtype.bits // 8
        self.room = self.cpu.l2_bytes // SHARE // size
        self.places = 2 * self.cpu.l1d_bytes // (SHARE // 2 * lanes * vectors * size)
        # columns of the widest part of a row, of which both hold what one row takes
        line = self.room // self.depth // (self.down.reach + 1)
        self.widest = min(self.places, (line - self.along.reach - 1) // self.along.step + 1)
        self.plane = decl_buffer((self._int(self.room + 2 * lanes),), self.kind, "plane")
        self.results = decl_buffer(
            (self._int(self.places * vectors * lanes),), self.kind, "results"
        )
        most = self._int(max(map(math.prod, self.tiles)))
        self.sums = decl_buffer((most, self._int(lanes)), self.kind, "sums", scope="local")

    def _columns(self, size: int) -> dict[int, list[tuple[int, int]]]:
        """The columns of the plane that a tile reads, with the results and taps of each."""
        found: dict[int, list[tuple[int, int]]] = {}
        for result in range(size):
            for tap in self.along.taps:
                column = result * self.along.step + tap * self.along.scale
                found.setdefault(column, []).append((result, tap))
        return dict(sorted(found.items()))

    def _tiles(self) -> list[tuple[int, int]]:
        """Columns and vectors of the tiles that a call may choose."""
        taps = len(self.along.taps)
        most = columns_of_tile(self.cpu, taps, self.vectors)
        found = [(size, self.vectors) for size in TILES if size <= most]
        if self.vectors > 1:  # one after the other, where that is wider
            wider = columns_of_tile(self.cpu, taps, 1)
            found += [(size, 1) for size in TILES if most < size <= wider]
        return found

    def reason(self) -> str:
        """The schedule's reason."""
        return (
            f"{max(self.tiles)[0]}x{self.vectors * self.lanes} tile, channels along vectors, "
            "rows of planes of any size in the fewest steps"
        )

    def _cost(self, size: int, vectors: int) -> float:
        """Modelled cycles of a tile of so many columns, for one row of the window."""
        sums, taps = size * vectors, len(self.along.taps)
        loads = len(self._columns(size)) + taps * vectors
        cost = 1 + LOAD_COST * loads / (sums * taps)
        cost *= max(1.0, self.cpu.fma_ports * LATENCY / sums)
        return sums * taps * cost / self.cpu.fma_ports * (self.vectors / vectors)

    def nest(self) -> BlockRealize:
        """The whole convolution as one block."""
        plan = Plan(str(self.dtype))
        height, whole_width = plan.keep("height", self.down.size), self.along.size
        parts = plan.keep("parts", (whole_width + (self.widest - 1)) // self.widest)
        width = plan.keep("width", (whole_width + (parts - 1)) // parts)  # of a part of the rows
        pitch = plan.keep("pitch", (width - 1) * self.along.step + (self.along.reach + 1))
        lines = self._int(self.room // self.depth) // pitch
        most = Min((lines - (self.down.reach + 1)) // self.down.step + 1,
                   self._int(self.places) // width)  # fmt: skip
        strip = plan.keep("strip", Max(Min(most, height), self._int(1)))
        strips = plan.keep("strips", (height + strip - 1) // strip)
        images: PrimExpr = self._int(1)
        for iv in self.w.outer:
            images = images * size_of(iv)
        tasks = plan.keep("tasks", images * strips * parts)
        cores = self.cpu.cores
        shares = Select(less(tasks, self._int(cores)), self._int(min(cores, self.blocks)),
                        self._int(1))  # fmt: skip
        split = plan.keep("split", shares)
        each = plan.keep("each", (self._int(self.blocks) + split - 1) // split)
        best = [plan.slot("time"), plan.slot("tile")]
        for tile_number, (size, vectors) in enumerate(self.tiles):
            tiles = (width + (size - 1)) // size
            time = plan.keep("time", tiles * round(UNIT * self._cost(size, vectors)))
            better = logical_and(less_equal(self._int(size), width), less(time, plan.at(best[0])))
            plan.put(best, [time, self._int(tile_number)], None if size == 1 else better)
        tile = plan.read("tile", best[1])

        task, scope = self._var("task"), Scope()
        number = scope.let("number", task // split)
        first = scope.let("first", task % split * each)
        count = scope.let("count", Max(Min(each, self._int(self.blocks) - first), self._int(0)))
        image = scope.let("image", number // (strips * parts))
        at = digits_of(scope, image, self.w.outer)
        # the last part begins where the one before it is not done, so that all are of one size
        x = scope.let("left", Min(number % parts * width, whole_width - width))
        y = scope.let("top", number // parts % strips * strip)
        rows = scope.let("rows", Min(strip, height - y))
        copied = scope.let("lines", (rows - 1) * self.down.step + (self.down.reach + 1))
        scope.add(self._copied(at, y * self.down.step, x * self.along.step, copied, pitch))
        block, inner = self._var("b"), Scope()
        jb = inner.let("block", first + block)
        inner.add(self._rows(jb, rows, width, copied * pitch, pitch, tile))
        v, row = self._var("v"), self._var("row")
        channel = (jb * self.vectors + v) * self.lanes
        whole = less_equal(parts, self._int(1))  # then all rows of a strip are one run
        back = self.turned_back(
            self.results, v * self.places + row * width, channel, at,
            (y + row) * whole_width + x, Select(whole, rows * width, width),
        )  # fmt: skip
        back = For(row, 0, Select(whole, self._int(1), rows), ForKind.SERIAL, back)
        inner.add(For(v, 0, self.vectors, ForKind.SERIAL, back))
        scope.add(For(block, 0, count, ForKind.SERIAL, inner.stmt()))
        memory = [self.plane, self.results, self.sums, self.square]
        body = opaque("direct_strip", scope.stmt(), memory, [], [])
        kind = ForKind.SERIAL if cores == 1 else ForKind.PARALLEL
        loop: Stmt = For(task, 0, tasks * split, kind, body)
        for view in self.views.results.values():
            loop = DeclBuffer(view, loop)
        if isinstance(self.views.length, Var):
            loop = LetStmt(self.views.length, height * whole_width, loop)
        made = plan.around(loop)
        for iv in (*self.w.outer, self.down.iv, self.along.iv):
            if extent(iv) is None:
                made = IfThenElse(less(self._int(0), size_of(iv)), made)
        sch = self.w.sch
        own = {sch.get(b).writes[0].buffer for b in self.gone[:-1]}
        taken = [r.buffer for b in self.gone for r in sch.get(b).reads]
        reads = [buffer for buffer in dict.fromkeys(taken) if buffer not in own]
        writes = [r.buffer for r in sch.get(self.gone[-1]).writes]
        return opaque("direct_any", made, [plan.memory], reads, writes)

    def _copied(
        self, at: Mapping[Var, PrimExpr], top: PrimExpr, first: PrimExpr, lines: PrimExpr,
        pitch: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The part of the rows that a strip reads, of all channels, with their border."""
        source, zero = self.w.source, self._int(0)
        deep, j, scope, inner = self._var("c"), self._var("j"), Scope(), Scope()
        left = scope.let("left", first - source.before[self.along])
        begin = scope.let("begin", Max(left, zero))
        skipped = scope.let("skipped", Min(begin - left, pitch))
        length = scope.let("length", Min(left + pitch, source.size(self.along)) - begin)
        row = inner.let("row", (deep * lines + j) * pitch)
        line = inner.let("line", top + j - source.before[self.down])
        inner.add(filled(self.plane, row, pitch + (self.lanes - 1), self.lanes, source.other))

        def value(i: PrimExpr) -> PrimExpr:
            return source.at({**at, self.deep.var: deep}, {self.down: line, self.along: begin + i})

        some = logical_and(less_equal(zero, line), less(line, source.size(self.down)))
        copy = copied_row(self.plane, row + skipped, length, self.lanes, value, source.other)
        inner.add(IfThenElse(some, copy))
        scope.add(For(j, 0, lines, ForKind.SERIAL, inner.stmt()))
        return For(deep, 0, self.depth, ForKind.SERIAL, scope.stmt())

    def _rows(
        self, jb: Var, rows: Var, width: PrimExpr, channel: PrimExpr, pitch: PrimExpr,
        tile: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The sums of a strip, for a block of filters."""
        y, scope = self._var("y"), Scope()
        line = scope.let("line", y * self.down.step * pitch)

        def tiles(chosen: int) -> Stmt:
            size, vectors = self.tiles[chosen]
            number, part, inner = self._var("t"), self._var("v"), Scope()
            first: PrimExpr = self._int(0) if vectors == self.vectors else part
            x = inner.let("x", Min(number * size, width - size))
            origin = inner.let("origin", line + x * self.along.step)
            target = y * width + x
            inner.add(self._tile(size, vectors, jb, first, origin, channel, pitch, target))
            body = For(number, 0, (width + (size - 1)) // size, ForKind.SERIAL, inner.stmt())
            parts = self.vectors // vectors
            return body if parts == 1 else For(part, 0, parts, ForKind.SERIAL, body)

        scope.add(one_of(tile, range(len(self.tiles)), tiles))
        return For(y, 0, rows, ForKind.SERIAL, scope.stmt())

    def _tile(
        self, size: int, vectors: int, jb: Var, first: PrimExpr, origin: PrimExpr,
        channel: PrimExpr, pitch: PrimExpr, target: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The sums of some columns, for some vectors of filters from `first` on."""
        lanes = self.lanes
        init = self.w.node.init
        assert isinstance(init, BufferStore), "a reduction has an init"
        store = self.w.node.body
        assert isinstance(store, BufferStore), "a contraction is one store"

        def each(make: Callable[[PrimExpr, PrimExpr, Var], Stmt]) -> Stmt:
            i, v, lane = self._var("i"), self._var("v"), self._var("lane")
            body = For(v, 0, vectors, ForKind.UNROLLED, vector(lane, lanes, make(i, v, lane)))
            return For(i, 0, size, ForKind.UNROLLED, body)

        def place(i: PrimExpr, v: PrimExpr, lane: PrimExpr) -> list[PrimExpr]:
            return [i * vectors + v, lane]

        deep, ry = self._var("c"), self._var("ry")
        steps: dict[Var, PrimExpr] = {iv.var: self._int(0) for iv in self.w.outer}
        steps[self.deep.var] = deep
        if self.down.tap is not None:
            steps[self.down.tap.var] = ry
        scope, made = Scope(), list[Stmt]()
        row = scope.let("row", origin + deep * channel + ry * (pitch * self.down.scale))
        # each element of the plane is read once, for all steps along the row that it is for: else
        # what is read for one step would be kept for the next, and registers run out
        for column, uses in self._columns(size).items():
            element = BufferLoad(self.plane, [row + column])
            for i, tap in uses:
                if self.along.tap is not None:
                    steps[self.along.tap.var] = self._int(tap)
                middle = [substitute(index, steps) for index in self.packed.indices[1:-1]]
                for v in range(vectors):
                    lane = self._var("lane")
                    held = [self._int(i * vectors + v), lane]
                    loads: dict[Buffer, PrimExpr] = {
                        self.store.buffer: BufferLoad(self.sums, held),
                        self.packed.buffer: BufferLoad(
                            self.packed.buffer, [jb, *middle, (first + v) * lanes + lane]),
                    }  # fmt: skip
                    total = ReadPlane(self.w.read, element).visit_expr(store.value)
                    total = Loads(loads, {}).visit_expr(total)
                    made.append(vector(lane, lanes, BufferStore(self.sums, total, held)))
        scope.add(SeqStmt.flatten(made))
        body = For(ry, 0, len(self.down.taps), ForKind.SERIAL, scope.stmt())
        return SeqStmt([
            each(lambda i, v, lane: BufferStore(self.sums, init.value, place(i, v, lane))),
            For(deep, 0, self.depth, ForKind.SERIAL, body),
            each(lambda i, v, lane: BufferStore(
                self.results, BufferLoad(self.sums, place(i, v, lane)),
                [((first + v) * self.places + target + i) * lanes + lane])),
        ])  # fmt: skip
