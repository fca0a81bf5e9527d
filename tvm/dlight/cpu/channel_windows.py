"""Windows over small planes of any size, with the channels along vectors.

    for cb in blocks of L channels:                 # parallel
        F[ry, rx, :] = W[cb, ry, rx]                # turned in registers, L x L at a time
        for n, strips of some rows of the result:
            P[y, left + x, :] = X[n, cb, y, x]      # turned as well, between columns of the border
            for y, x0 in rows of the result, T at a time:           # the last ones end with the row
                acc[T, :] = 0                                       # vector registers
                for ry of those whose row is there: for rx:
                    acc[t, :] += P[y * s + ry, (x0 + t) * s + rx, :] * F[ry, rx, :]
                S[y, x0 + t, :] = acc[t, :]
            C[n, cb, y, x] = epilogue(S[y, x, :])   # turned back

Rows of a plane that are no whole vectors leave lanes empty, and steps pick lanes from others: here
no lane is empty, and a step costs nothing. The price is turning each element, on the way in and
out. A plane is one run of elements for that: its rows need not be long. Which form is faster
depends on the sizes of the call, and is decided by a model (see `sliding`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import (
    Add,
    BufferLoad,
    FloatImm,
    IntImm,
    IterVar,
    Max,
    Min,
    Mul,
    Select,
    Var,
    make_const,
)
from tvm.tir.functor import walk
from tvm.tir.op.arith import is_zero, less, less_equal, logical_and
from tvm.tir.stmt import (
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    LetStmt,
    SeqStmt,
    Stmt,
)

from .access import extent, params_of, size_of
from .any_size import UNIT, Loads, Plan, Scope, digits_of, one_of, opaque, vector
from .cost import GRAIN, MIN_US, flops_us
from .turned_runs import TurnedRuns, Views, Windows, views_of
from .window_axes import ReadPlane

# Results of a tile, where a row has as many: more share what is loaded, fewer fit short rows.
TILES: Final = (14, 7, 5, 4, 3, 2, 1)
MAX_SUMS: Final = 400  # multiplications of all tiles together: code is made of each
ROOM: Final = 2  # of the first cache's size, for what a strip of the plane turns into
TYPICAL: Final = 14 * 14  # results of a plane whose size is not known
# Cycles of a square of 16 x 16 that is turned, with its loads and stores; of a tile beside its sums
# and loads; of a step of the window; of an image beside all that.
TURN: Final = 130
PER_TILE: Final = 10
PER_STEP: Final = 3
PER_IMAGE: Final = 60


def channel_windows(found: Windows) -> ChannelWindows | None:
    """The form with channels along vectors; None where the block has no such form."""
    store, init = found.node.body, found.node.init
    assert isinstance(store, BufferStore), "looked at by the caller"
    assert isinstance(init, BufferStore), "a reduction has an init"
    lanes = found.cpu.lanes(store.buffer.dtype.bits)
    channel = next((iv for iv in reversed(found.outer) if (extent(iv) or 0) >= lanes), None)
    if channel is None or lanes & (lanes - 1) or lanes > found.cpu.vector_registers // 2:
        return None
    if not found.is_whole and not _leaves_out_border(store, init, found):
        return None
    views = views_of(found)
    factors = _factors(found, channel)
    if views is None or factors is None:
        return None
    return ChannelWindows(found, channel, lanes, views, factors[0])


def _leaves_out_border(store: BufferStore, init: BufferStore, found: Windows) -> bool:
    """Whether what the border adds changes nothing, so that its rows need not be added."""
    value, other = store.value, found.source.other
    if not isinstance(value, Add | Max | Min) or not isinstance(other, IntImm | FloatImm):
        return False
    if not (isinstance(value.a, BufferLoad) and value.a.buffer is store.buffer):
        return False
    if not isinstance(value, Add):
        return value.b is found.read and structural_equal(other, init.value)
    product = value.b
    own = product is found.read or (
        isinstance(product, Mul) and (product.a is found.read or product.b is found.read)
    )
    return own and is_zero(other) and is_zero(init.value)


def _factors(found: Windows, channel: IterVar) -> tuple[Buffer | None] | None:
    """The filter, an element for each channel and step of the window in their order; or none."""
    loads = [node for node in walk(found.node.body.value) if isinstance(node, BufferLoad)]  # type: ignore[attr-defined]
    inner = {found.read, *walk(found.read)}
    made = found.node.body.buffer  # type: ignore[attr-defined]
    loads = [node for node in loads if node.buffer is not made and node not in inner]
    if not loads:
        return (None,)
    if len(loads) > 1 or loads[0].buffer not in params_of(found.sch) or loads[0].buffer.strides:
        return None
    buffer, wanted = loads[0].buffer, [channel.var]
    wanted += [axis.tap.var for axis in (found.down, found.along) if axis.tap is not None]
    wide = [(index, size) for index, size in zip(loads[0].indices, buffer.shape)
            if not (isinstance(size, IntImm) and size.value == 1)]  # fmt: skip
    sizes = [size_of(channel), *(
        size_of(axis.tap) for axis in (found.down, found.along) if axis.tap is not None
    )]  # fmt: skip
    if [index for index, _ in wide] != wanted:
        return None
    same = all(isinstance(a, IntImm) and isinstance(b, IntImm) and a.value == b.value
               for a, b in zip(sizes, (size for _, size in wide)))  # fmt: skip
    return (buffer,) if same else None


class ChannelWindows(TurnedRuns):
    """Makes the loops of one block of windows."""

    def __init__(
        self, found: Windows, channel: IterVar, lanes: int, views: Views, factors: Buffer | None
    ) -> None:
        super().__init__(found, channel, lanes, views)
        self.channels = extent(channel) or lanes
        self.blocks = -(-self.channels // lanes)
        self.images = [iv for iv in found.outer if iv is not channel]
        self.taps = len(found.down.taps) * len(found.along.taps)
        self.places = ROOM * found.cpu.l1d_bytes // (lanes * self.store.buffer.dtype.bits // 8)
        self.sizes = self._sizes()
        self.factors = factors
        self.weights = None if factors is None else factors.with_changes(
            shape=(self._int(self.channels), self._int(self.taps)), strides=(), elem_offset=None,
        )  # fmt: skip
        self._memory()

    def _memory(self) -> None:
        lanes, kind = self._int(self.lanes), self.kind
        room = self._int(self.places * self.lanes)
        self.plane = decl_buffer((room,), kind, "plane")
        self.results = decl_buffer((room,), kind, "results")
        taps = self._int(self._padded(self.taps) * self.lanes)
        self.filter = decl_buffer((taps,), kind, "filter")
        self.at = decl_buffer((self._int(self.places),), str(self.dtype), "at")
        self.sums = decl_buffer((self._int(max(self.sizes)), lanes), kind, "sums", scope="local")

    def _padded(self, count: int) -> int:
        return -(-count // self.lanes) * self.lanes

    def _sizes(self) -> list[int]:
        """Results of the tiles that a call may choose, most first."""
        room = self.cpu.vector_registers - len(self.along.taps) - 1
        found = [size for size in TILES if size <= max(room, 1)]
        while len(found) > 1 and sum(found) * len(self.along.taps) > MAX_SUMS:
            del found[0]
        return found

    # --- the model ---

    def _cost(self, size: int) -> float:
        """The modelled cycles of a tile of so many results, for one row of the window."""
        columns = len(self.along.taps)
        loads = len(self._columns(size)) + (columns if self.factors is not None else 0)
        sums = size * columns / self.cpu.fma_ports
        return max(sums, loads, 4 * columns / max(1, min(size, 4))) + PER_STEP

    def _columns(self, size: int) -> dict[int, list[tuple[int, int]]]:
        """The columns of the plane that a tile reads, with the results and taps of each."""
        found: dict[int, list[tuple[int, int]]] = {}
        for result in range(size):
            for tap in self.along.taps:
                column = result * self.along.step + tap * self.along.scale
                found.setdefault(column, []).append((result, tap))
        return dict(sorted(found.items()))

    def plan(
        self, plan: Plan, height: PrimExpr, width: PrimExpr, planes: PrimExpr
    ) -> Chosen:
        """What a call decides: the tile, the strips, and the time of an image, in `UNIT`s."""
        across = plan.keep("across", self.w.source.size(self.along))
        source_height = self.w.source.size(self.down)
        left = self.w.source.before[self.along]
        needed = (width - 1) * self.along.step + (self.along.reach + 1)
        pitch = plan.keep("pitch", Max(needed, across + left))
        # a place more, for elements that there are not
        most = Min((self._int(self.places - 1) // pitch - (self.down.reach + 1))
                   // self.down.step + 1, self._int(self.places) // width)  # fmt: skip
        strip = plan.keep("strip", Max(Min(most, height), self._int(1)))
        strips = plan.keep("strips", (height + strip - 1) // strip)
        best = [plan.slot("time"), plan.slot("size")]
        rows = len(self.down.taps)
        for size in reversed(self.sizes):
            tiles = (width + (size - 1)) // size
            cost = rows * self._cost(size) + PER_TILE + size
            time = plan.keep("time", tiles * round(UNIT * cost))
            values = [time, self._int(size)]
            better = logical_and(less_equal(self._int(size), width), less(time, plan.at(best[0])))
            plan.put(best, values, None if size == 1 else better)
        tile = plan.read("size", best[1])
        row = plan.read("time", best[0])
        turn = round(UNIT * TURN * (self.lanes / 16) ** 2)
        lanes = self.lanes
        copied = (strip - 1) * self.down.step + (self.down.reach + 1)
        copied = Min(copied, source_height) * across
        squares = strips * ((copied + (lanes - 1)) // lanes)
        squares = squares + (height * width + strips * (lanes - 1)) // lanes
        once = self._padded(self.taps) // lanes if self.factors is not None else 0
        images = planes // self.channels
        all_rows = row * height + squares * turn + round(UNIT * PER_IMAGE)
        fits = less_equal((self.down.reach + 1) * pitch, self._int(self.places - 1))
        fits = logical_and(fits, less_equal(Max(width, self._int(lanes)), self._int(self.places)))
        open_images = isinstance(height, IntImm) and not isinstance(images, IntImm)
        shared = self._int(1) if open_images else Max(images, self._int(1))
        filters = once * turn // shared
        time = plan.keep("time", (all_rows + filters) * self.blocks)
        never = make_const(2 ** (self.dtype.bits - 2), self.dtype)
        time = plan.keep("time", Select(fits, time, never))
        return Chosen(height, width, across, pitch, strip, strips, tile, images, time)

    # --- loops ---

    def nest(self, c: Chosen) -> Stmt:
        """All windows."""
        task, scope = self._var("task"), Scope()
        inside = self.blocks >= 2 * self.cpu.cores or self.cpu.cores == 1
        block = task if inside else scope.let("block", task // c.images)
        first = scope.let("channel", Min(block * self.lanes, self._int(self.channels - self.lanes)))
        scope.add(self._places(c))
        scope.add(self._border(c))
        if self.weights is not None:
            scope.add(self._turned_filter(first))
        image, one = self._var("image"), Scope()
        number = image if inside else one.let("image", task % c.images)
        at = digits_of(one, number, self.images)
        one.add(self._strips(c, first, at))
        body = one.stmt()
        scope.add(For(image, 0, c.images, ForKind.SERIAL, body) if inside else body)
        memory = [self.plane, self.results, self.at, self.sums, self.square]
        if self.weights is not None:
            memory.append(self.filter)
        inner = opaque("channel_windows", scope.stmt(), memory, [], [])
        tasks = self._int(self.blocks) if inside else self.blocks * c.images
        loop = self._parallel(task, tasks, inner)
        views = [self.views.source, *self.views.results.values()]
        if self.weights is not None:
            views.append(self.weights)
        for view in views:
            loop = DeclBuffer(view, loop)
        area = self.w.source.size(self.down) * c.across
        lengths = (self.views.length, c.height * c.width), (self.views.source_length, area)
        for name, value in lengths:
            loop = LetStmt(name, value, loop) if isinstance(name, Var) else loop
        return loop

    def _parallel(self, task: Var, total: PrimExpr, inner: Stmt) -> Stmt:
        if self.cpu.cores == 1:
            return For(task, 0, total, ForKind.SERIAL, inner)
        bits, work = self.store.buffer.dtype.bits, 2.0 * self.taps * self.lanes * TYPICAL
        grain = math.ceil(MIN_US / max(flops_us(self.cpu, work, bits), 1e-3))
        return For(task, 0, total, ForKind.PARALLEL, inner, annotations={GRAIN: grain})

    def _places(self, c: Chosen) -> Stmt:
        """Where the elements of some rows of the plane go; those past its end to the last place."""
        lane, row, column = self._var("lane"), self._var("y"), self._var("x")
        none = vector(lane, self.lanes, BufferStore(
            self.at, self._int((self.places - 1) * self.lanes), [lane]))  # fmt: skip
        left = self.w.source.before[self.along]
        place = (row * c.pitch + (column + left)) * self.lanes
        store = BufferStore(self.at, place, [row * c.across + column])
        rows = For(column, 0, c.across, ForKind.SERIAL, store)
        return SeqStmt([none, For(row, 0, self._lines(c), ForKind.SERIAL, rows)])

    def _lines(self, c: Chosen) -> PrimExpr:
        """The most rows of the plane that a strip reads."""
        lines = (c.strip - 1) * self.down.step + (self.down.reach + 1)
        return Min(lines, self.w.source.size(self.down))

    def _border(self, c: Chosen) -> Stmt:
        """The columns of the border, which no strip writes."""
        row, column, lane, scope = self._var("y"), self._var("x"), self._var("lane"), Scope()
        before = self.w.source.before[self.along]
        left = self._int(before) if isinstance(before, int) else before
        x = scope.let("x", column + Select(less(column, left), self._int(0), c.across))
        store = BufferStore(
            self.plane, self.w.source.other, [(row * c.pitch + x) * self.lanes + lane]
        )
        scope.add(vector(lane, self.lanes, store))
        columns = For(column, 0, c.pitch - c.across, ForKind.SERIAL, scope.stmt())
        return For(row, 0, self._lines(c), ForKind.SERIAL, columns)

    def _turned_filter(self, first: Var) -> Stmt:
        """The filter of some channels, these along vectors."""
        weights = self.weights
        assert weights is not None, "looked at by the caller"

        def value(row: PrimExpr, place: PrimExpr) -> PrimExpr:
            return BufferLoad(weights, [first + row, place])

        def store(place: int) -> Callable[[PrimExpr], PrimExpr]:
            return lambda start: (start + place) * self.lanes

        return self.squares(self._int(self.taps), value, self.filter, store)

    def _strips(self, c: Chosen, first: Var, at: Mapping[Var, PrimExpr]) -> Stmt:
        """A strip of the planes of an image after another."""
        number, scope, zero = self._var("s"), Scope(), self._int(0)
        y = scope.let("first", number * c.strip)
        count = scope.let("rows", Min(c.strip, c.height - y))
        top, size = self.w.source.before[self.down], self.w.source.size(self.down)
        above = scope.let("above", y * self.down.step - top)
        begin = scope.let("begin", Max(above, zero))
        end = scope.let("end", Min(above + (count - 1) * self.down.step
                                   + (self.down.reach + 1), size))  # fmt: skip
        length = scope.let("length", Max((end - begin) * c.across, zero))
        start = scope.let("start", begin * c.across)
        scope.add(self._turned_plane(first, at, start, length))
        scope.add(self._rows(c, count, above, begin))
        scope.add(self.turned_back(
            self.results, zero, first, at, y * c.width, count * c.width
        ))
        return For(number, 0, c.strips, ForKind.SERIAL, scope.stmt())

    def _turned_plane(
        self, first: Var, at: Mapping[Var, PrimExpr], start: Var, length: Var
    ) -> Stmt:
        view, source = self.views.source, self.w.source

        def value(row: PrimExpr, place: PrimExpr) -> PrimExpr:
            values = {**at, self.channel.var: first + row}
            found = source.at(values, {})
            assert isinstance(found, BufferLoad), "an element of a buffer"
            return BufferLoad(view, [*found.indices[:-2], start + place])

        def store(place: int) -> Callable[[PrimExpr], PrimExpr]:
            return lambda begin: BufferLoad(self.at, [begin + place])

        return self.squares(length, value, self.plane, store)

    # --- the sums ---

    def _rows(self, c: Chosen, count: Var, above: Var, begin: Var) -> Stmt:
        """All results of a strip."""
        y, scope, zero = self._var("y"), Scope(), self._int(0)
        top = scope.let("top", above + y * self.down.step)  # the row of the first tap
        scale, size = self.down.scale, self.w.source.size(self.down)
        first = scope.let("first", Max(-top + (scale - 1), zero) // scale)
        inside = Max(size - top + (scale - 1), zero) // scale
        end = Min(self._int(len(self.down.taps)), inside)
        steps = scope.let("steps", Max(end - first, zero))
        line = scope.let("line", (top + first * scale - begin) * c.pitch)
        target = scope.let("target", y * c.width)

        def tiles(size: int) -> Stmt:
            number, inner = self._var("t"), Scope()
            x = inner.let("x", Min(number * size, c.width - size))
            inner.add(self._tile(c, size, line + x * self.along.step, first, steps, target + x))
            return For(number, 0, (c.width + (size - 1)) // size, ForKind.SERIAL, inner.stmt())

        scope.add(one_of(c.tile, self.sizes, tiles))
        return For(y, 0, count, ForKind.SERIAL, scope.stmt())

    def _tile(
        self, c: Chosen, size: int, origin: PrimExpr, first: Var, steps: Var, target: PrimExpr
    ) -> Stmt:
        lanes, step, scope = self.lanes, self._var("ry"), Scope()
        origin = scope.let("origin", origin * lanes)
        init = self.w.node.init
        assert isinstance(init, BufferStore), "a reduction has an init"

        def each(make: Callable[[int, Var], Stmt]) -> Stmt:
            lane = self._var("lane")
            return vector(lane, lanes, SeqStmt.flatten([make(n, lane) for n in range(size)]))

        def start(result: int, lane: Var) -> Stmt:
            return BufferStore(self.sums, init.value, [self._int(result), lane])

        def keep(result: int, lane: Var) -> Stmt:
            total = BufferLoad(self.sums, [self._int(result), lane])
            return BufferStore(self.results, total, [(target + result) * lanes + lane])

        inner, lane = Scope(), self._var("lane")
        row = inner.let("row", origin + step * (c.pitch * (self.down.scale * lanes)))
        taps = inner.let("taps", (first + step) * (len(self.along.taps) * lanes))
        added: list[Stmt] = []
        for column, uses in self._columns(size).items():
            value = BufferLoad(self.plane, [row + column * lanes + lane])
            for result, tap in uses:
                place = [self._int(result), lane]
                loads: dict[Buffer, PrimExpr] = {self.store.buffer: BufferLoad(self.sums, place)}
                if self.factors is not None:
                    loads[self.factors] = BufferLoad(self.filter, [taps + tap * lanes + lane])
                total = ReadPlane(self.w.read, value).visit_expr(self.store.value)
                added.append(BufferStore(self.sums, Loads(loads, {}).visit_expr(total), place))
        inner.add(vector(lane, lanes, SeqStmt.flatten(added)))
        scope.add(each(start))
        scope.add(For(step, 0, steps, ForKind.SERIAL, inner.stmt()))
        scope.add(each(keep))
        return scope.stmt()

@dataclass(frozen=True)
class Chosen:
    """What a call has found: sizes, and how the result is cut."""

    height: PrimExpr
    width: PrimExpr
    across: PrimExpr  # columns of the plane
    pitch: PrimExpr
    strip: PrimExpr  # rows of the result whose plane is turned at once
    strips: PrimExpr
    tile: PrimExpr
    images: PrimExpr
    time: PrimExpr  # of all channels of an image, in `UNIT`s
