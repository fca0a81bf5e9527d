"""Windows that slide over planes of any size: what a tile of rows reads is copied, with its border.

    for c, y, x, ry, rx: C[c, y, x] += P[c, y * s + ry, x * s + rx] * W[c, ry, rx]

    for some planes:                                # parallel; parts of a plane if there are few
        P = the border's value                      # once: it is the same for all of these planes
        for c, and strips of some tiles of rows:
            P[j, shift : shift + w] = X[c, y * s + j, :]        # in the innermost cache
            for y0 in rows of the result, R at a time:          # the last ones end with the plane
                for x0 in vectors along a row:                  # the last one ends with the row
                    acc[R, V] = 0                               # vector registers
                    for rx, j: row = P[(y0 - y) * s + j, x0 * s + rx :: s]
                               acc[r, :] += row * W[c, ry, rx]      # for all r * s + ry = j
                    C[c, y0 :, x0 :] = epilogue(acc)

Where that is faster for the sizes of a call, channels lie along vectors (`channel_windows`).
Tiles that would reach past the end start earlier, and make again what others have made: so all
are whole, and no index is tested. How many rows make a tile, the call decides by a model of the
time. A plane without a border is read where it is. Where all of a window is in registers, steps of
one element are taken from the plane itself; so are rows shorter than a vector, under masks that are
made once for some planes:

    for c: for x0: for y0:
        for j: row[rx] = X[c, y0 + j, x0 + rx :] under a mask, or the border's value for all lanes
               acc[r, :] += row[rx] * W[c, ry, rx]              # for all rx, and r + ry = j
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.node import Node
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import (
    Add,
    BufferLoad,
    Call,
    IntImm,
    IterVar,
    Max,
    Min,
    Select,
    Var,
    make_const,
)
from tvm.tir.functor import children, substitute, walk
from tvm.tir.op.arith import less, less_equal, logical_and
from tvm.tir.schedule import BlockRV, Schedule
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

from .access import extent, flops, is_unconditional, size_of
from .any_size import (
    UNIT,
    KnownPlan,
    Loads,
    Plan,
    Scope,
    copied_row,
    digits_of,
    filled,
    one_of,
    opaque,
    replaced,
    vector,
)
from .base import root_blocks
from .channel_windows import Chosen, channel_windows
from .cost import MIN_US, flops_us
from .fused import epilogue_of, padding_of
from .phases import PARTS, Phases, has_phases
from .planes import Plane, plane_of
from .tiles import LATENCY
from .turned_runs import Windows
from .window_axes import Axis, ReadPlane, Source, axis_of, read_of, source_of

WIDEST_STEP: Final = 4  # elements between lanes that are picked from whole vectors
MAX_TAPS: Final = 64  # of a window that stand one after the other
MAX_SUMS: Final = 600  # multiplications of all tiles together: code is made of each
# Rows of a tile, where there are so many.
# The first are for steps of one element: planes of 7, 14 and 28 rows are 15 to 25 % faster.
ROWS: Final = (7, 4, 2)
FEW: Final = 2  # of a tile that large windows do without: they have enough sums for a row
PER_TILE: Final = 3.0  # vector instructions that a tile takes beside loads and FMAs
PER_PLANE: Final = (10.0, 60.0)  # and a plane, in place or copied; copied rows, and their vectors
PER_LINE: Final = 12.0
PER_COPIED: Final = 4.0
# Of the time of rows, what channels along vectors may take where sizes are known and `window` has
# masks: it takes less time than rows of open size.
KNOWN_GAIN: Final = 0.8
CHAINS: Final = 8  # sums of a tile that do not wait for one another, if there are so many
LINE: Final = 64  # bytes that a cache gives at once
AT_ONCE: Final = 2  # tiles whose sums a processor is at, while each waits for its own
PLANES: Final = 4  # for each core: with fewer, planes are shared out by rows


def slide(sch: Schedule, cpu: CpuModel) -> tuple[Schedule, set[Block], list[str]]:
    """Give windows over planes of any size their loops; returns the blocks made, and reasons."""
    made: set[Block] = set()
    reasons: list[str] = []
    while True:
        found = next(filter(None, (_windows(sch, b, cpu) for b in root_blocks(sch))), None)
        if found is None:
            return sch, made, reasons
        nest = found.nest()
        made.add(nest.block)
        reasons.append(found.reason())
        sch = replaced(sch, found.gone(), nest)


def _windows(sch: Schedule, block: BlockRV, cpu: CpuModel) -> _Windows | None:
    """The windows of a block; None for other blocks, and where masks are dear."""
    node: Block = sch.get(block)
    store = node.body
    if node.init is None or not isinstance(store, BufferStore):
        return None
    if not is_unconditional(sch, block):
        return None
    plane, bits = plane_of(node), store.buffer.dtype.bits
    spatial = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar]
    reducing = [iv for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce]
    if plane is None or len(spatial) < 2 or len(spatial) + len(reducing) < len(node.iter_vars):
        return None
    if bits != 32 or plane.buffer.dtype.bits != bits or not plane.buffer.dtype.is_scalar:
        return None
    if any(extent(iv) is None for iv in reducing):
        return None
    if list(store.indices) != [iv.var for iv in spatial]:
        return None
    down, along = (axis_of(plane, iv, reducing) for iv in spatial[-2:])
    if down is None or along is None or along.dim != len(plane.indices) - 1:
        return None
    if along.step > WIDEST_STEP or len(down.taps) * len(along.taps) > MAX_TAPS:
        return None
    if any(extent(iv) != 1 for iv in reducing if iv not in (down.tap, along.tap)):
        return None
    found = _Windows(sch, block, plane, down, along, cpu)
    if not found.fits():
        return None
    return None if found.is_known() and not found.pays() else found


@dataclass(frozen=True)
class _Call:
    """What a call has found: sizes of the result, and how it is cut."""

    height: PrimExpr
    width: PrimExpr
    rows: PrimExpr  # of a tile
    strip: PrimExpr  # tiles of which the rows of the plane are copied together
    block: PrimExpr  # columns that are
    read: PrimExpr  # columns of the plane for them
    pitch: PrimExpr
    tiles: PrimExpr
    planes: PrimExpr
    time: PrimExpr  # modelled, of a column of vectors


@dataclass(frozen=True)
class _Part:
    """Of which planes a task makes which tiles."""

    plane: Var
    planes: Var
    tile: Var
    end: Var


@dataclass(frozen=True)
class _Copy:
    """Which elements of the result have what they read at the copy's begin, and its rows."""

    row: Var
    column: PrimExpr
    pitch: PrimExpr


@dataclass(frozen=True)
class _Strip:
    """Where tiles of one plane read from: a copy, or the plane itself."""

    at: Mapping[Var, PrimExpr]
    copy: _Copy | None = None
    edges: bool = False  # whether what is read from the plane may lie outside of it
    width: PrimExpr | None = None  # of rows that are shorter than a vector
    any_width: bool = False  # whether only the call knows whether they are


class _Windows:
    """Makes the loops of one block of windows; `last` is the block that takes its result."""

    def __init__(
        self, sch: Schedule, block: BlockRV, plane: Plane, down: Axis, along: Axis, cpu: CpuModel
    ) -> None:
        self.sch, self.block, self.plane, self.cpu = sch, block, plane, cpu
        self.down, self.along = down, along
        self.node: Block = sch.get(block)
        store, init = self.node.body, self.node.init
        assert isinstance(store, BufferStore), "looked at by the caller"
        assert isinstance(init, BufferStore), "a reduction has an init"
        self.store, self.init = store, init
        self.dtype = along.iv.var.dtype
        self.bits = store.buffer.dtype.bits
        self.lanes = _lanes(cpu.lanes(self.bits), along.size)
        spatial = [iv for iv in self.node.iter_vars if iv.iter_type == IterVar.DataPar]
        self.outer = [iv for iv in spatial if iv not in (down.iv, along.iv)]
        once = [iv for iv in self.node.iter_vars if extent(iv) == 1]
        self.digits = list(dict.fromkeys([*self.outer, *once]))
        self.pad = padding_of(sch, block, plane.buffer)
        self.read = read_of(store.value, plane)
        self.source = source_of(sch, self.pad, self.read, plane, (down, along))
        self.last = epilogue_of(sch, block, store.buffer, store.indices)
        self.channels = None if self.source is None else channel_windows(Windows(
            sch, self.node, down, along, self.read, self.source, self.last, self._is_whole(),
            self.digits, cpu,
        ))  # fmt: skip
        kind = str(plane.buffer.dtype)
        self.room = cpu.l1d_bytes // 2 // (self.bits // 8)
        self.phases: Phases | None = None
        if self.source is not None and not self._is_whole() and has_phases(cpu, along, self.lanes):
            self.phases = Phases(along, self.source.before[along], self.lanes, kind, self.room)
        self.rows = self._rows()
        shape = [self._int(max(r * self._chains(r) for r in self.rows)), self._int(self.lanes)]
        self.sums = decl_buffer(shape, str(store.buffer.dtype), "sums", scope="local")
        read = [self._int(len(along.taps)), shape[1]]
        self.row = decl_buffer(read, kind, "row", scope="local")
        self.copy = decl_buffer((self._int(self.room),), kind, "copy")

    def fits(self) -> bool:
        """Whether the border, and all that is not read from the plane, are of a known form."""
        if self.source is None or self._columns() < self.lanes:
            return False
        names = {self.down.iv.var, self.along.iv.var}
        pending: list[Node] = [self.store.value, self.init.value]
        while pending:
            expr = pending.pop()
            if expr in names:
                return False
            own = isinstance(expr, BufferLoad) and expr.buffer is self.store.buffer
            if expr is not self.read and not own:
                pending += children(expr)
        return True

    @property
    def plain(self) -> Source:
        """The source of the plane; `fits` was true."""
        assert self.source is not None, "looked at when it was made"
        return self.source

    def gone(self) -> list[BlockRV]:
        """The blocks that the loops replace, the last one at the end."""
        last = [] if self.last is None else [self.last.block]
        return [*([] if self.pad is None else [self.pad]), self.block, *last]

    def reason(self) -> str:
        """The schedule's reason."""
        rows = " or ".join(map(str, self.rows))
        by_rows = f"{self.node.name_hint}: windows over {rows} rows of vectors"
        if self.is_known():
            plan = KnownPlan(str(self.dtype))
            found = self._chosen_channels(plan, self._call(plan))
            by_channels = found is not None and _is_less(*found)
            return f"{self.node.name_hint}: channels along vectors" if by_channels else by_rows
        other = "" if self.channels is None else ", or channels along vectors"
        return f"{by_rows}{other}, of planes of any size"

    # --- how many rows make a tile ---

    def _rows(self) -> list[int]:
        """Rows of the tiles that a call may choose, the last ones for few rows."""
        size, taps = self.down.size, len(self.down.taps) * len(self.along.taps)
        room = self.cpu.vector_registers - len(self.down.taps) - 2
        own = ROWS if self.along.step == 1 else ROWS[1:]
        fitting = [rows for rows in own if rows <= room]
        if isinstance(size, IntImm):
            known = [1, *(rows for rows in fitting if rows <= size.value)]
            return [min(known, key=lambda r: -(-size.value // r) * self._cost(r))]
        while fitting and (sum(fitting) + 1) * taps > MAX_SUMS:
            fitting = fitting[:-1] if fitting[-1] == FEW else fitting[1:]
        return [*fitting, 1]

    def _cost(self, rows: int) -> float:
        """The modelled cycles of a tile with this many rows."""
        taps = len(self.down.taps) * len(self.along.taps)
        loads = float(len(self._rows_read(rows)) * len(self.along.taps))
        if self.along.step > 1 and self.phases is None:
            loads *= 2  # two vectors, of which lanes are picked
        broken = 1.0 if self.phases is None else self.phases.broken / len(self.along.taps)
        loads *= 1 + broken * self.lanes * self.bits / (8 * LINE)  # long vectors are in two lines
        loads += taps if self._has_factors() else 0
        chains = self._chains(rows)
        waits = taps / min(chains, len(self.along.taps)) * LATENCY / AT_ONCE
        time = max(rows * taps / self.cpu.fma_ports, loads / 2, waits)
        return time + rows * chains + PER_TILE

    def _chains(self, rows: int) -> int:
        """Into how many sums each row of a tile is taken apart, by the columns of the window.

        The sums of few rows would wait for one another.
        """
        own = self.store.value
        if not isinstance(own, Add) or not self._is_sum(own.a) or self._holds(own.b):
            return 1
        return max(1, min(CHAINS // rows, len(self.along.taps)))

    def _is_sum(self, value: Node) -> bool:
        return isinstance(value, BufferLoad) and value.buffer is self.store.buffer

    def _holds(self, value: PrimExpr) -> bool:
        """Whether a value reads the sum so far."""
        return any(self._is_sum(node) for node in walk(value))

    def _rows_read(self, rows: int) -> dict[int, list[tuple[int, int]]]:
        """The rows of the plane that a tile reads, with the rows and taps that each is for."""
        found: dict[int, list[tuple[int, int]]] = {}
        for row in range(rows):
            for tap in self.down.taps:
                offset = row * self.down.step + tap * self.down.scale
                found.setdefault(offset, []).append((row, tap))
        return dict(sorted(found.items()))

    def _chosen(self, plan: Plan, height: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """The tile rows that are the fastest for this height, and the time of a vector of them."""
        if len(self.rows) == 1:
            (rows,) = self.rows
            tiles = (height + (rows - 1)) // rows
            return self._int(rows), tiles * round(UNIT * self._cost(rows))
        best = [plan.slot("time"), plan.slot("rows")]
        for size in reversed(self.rows):
            tiles = (height + (size - 1)) // size
            time = plan.keep("time", tiles * round(UNIT * self._cost(size)))
            better = logical_and(less_equal(self._int(size), height), less(time, plan.at(best[0])))
            plan.put(best, [time, self._int(size)], None if size == 1 else better)
        return plan.read("rows", best[1]), plan.read("time", best[0])

    def _time(self, call: _Call, vector: PrimExpr) -> PrimExpr:
        """The modelled time of a plane, of which `vector` is that of a column of vectors."""
        vectors = (call.width + (self.lanes - 1)) // self.lanes
        copied = not (self._is_whole() or self._in_place())
        time = vectors * vector + round(UNIT * PER_PLANE[copied])
        if copied:
            lines = (call.height - 1) * self.down.step + (self.down.reach + 1)
            read = (call.read + (self.lanes - 1)) // self.lanes
            time = time + lines * (read * round(UNIT * PER_COPIED) + round(UNIT * PER_LINE))
        return time

    def _faster(self, chosen: Chosen, time: PrimExpr, rows: Stmt) -> Stmt:
        """The form that takes less time."""
        assert self.channels is not None, "looked at by the caller"
        if self.is_known():
            return self.channels.nest(chosen) if _is_less(chosen, time) else rows
        return IfThenElse(less(chosen.time, time), self.channels.nest(chosen), rows)

    def is_known(self) -> bool:
        """Whether planes are of known sizes, however many there are."""
        return isinstance(self.down.size, IntImm) and isinstance(self.along.size, IntImm)

    # --- loops ---

    def _call(self, plan: Plan) -> _Call:
        """What a call finds out before it begins."""
        height, width = plan.keep("height", self.down.size), plan.keep("width", self.along.size)
        rows, time = self._chosen(plan, height)
        tiles = plan.keep("tiles", (height + rows - 1) // rows)
        block = plan.keep("block", Min(width, self._int(self._columns())))
        lanes = Max(block, self._int(self.lanes))  # those of a short row that have no element, too
        read = plan.keep("read", (lanes - 1) * self.along.step + (self.along.reach + 1))
        if self.phases is None:
            vectors = (read + (self._shift() + 2 * self.lanes - 1)) // self.lanes
            # rows that are an odd number of vectors apart are spread over all sets of a cache
            pitch = plan.keep("pitch", (vectors // 2 * 2 + 1) * self.lanes)
        else:
            pitch = plan.keep("pitch", self.phases.pitch(read))
        room = self.room if self.phases is None else self.phases.apart
        most = (self._int(room) // pitch - (self.down.reach + 1)) // self.down.step + 1
        strip = plan.keep("strip", Max(most // rows, self._int(1)))
        planes: PrimExpr = self._int(1)
        for iv in self.outer:
            planes = planes * size_of(iv)
        planes = plan.keep("planes", planes)
        return _Call(height, width, rows, strip, block, read, pitch, tiles, planes, time)

    def _chosen_channels(self, plan: Plan, call: _Call) -> tuple[Chosen, PrimExpr] | None:
        """How channels along vectors would do it, and the time of rows; None without that form."""
        if self.channels is None:
            return None
        chosen = self.channels.plan(plan, call.height, call.width, call.planes)
        time = self._time(call, call.time) * self.channels.channels
        return chosen, plan.keep("rows_time", time)

    def pays(self) -> bool:
        """Whether planes of known sizes are faster so than by `window`.

        That pads planes to whole vectors; what it takes beside the sums is least for rows of one,
        where these end under masks.
        """
        if any(iv.var.dtype != self.dtype for iv in self.outer):
            return False
        if "avx512f" not in self.cpu.features:
            return True
        width = self.along.size
        is_wide = isinstance(width, IntImm) and width.value >= self.cpu.lanes(self.bits)
        plan = KnownPlan(str(self.dtype))
        found = self._chosen_channels(plan, self._call(plan))
        if found is None:
            return is_wide
        times = [time.value for time in (found[0].time, found[1]) if isinstance(time, IntImm)]
        if len(times) < 2:
            return False
        channels, rows = times
        return channels < KNOWN_GAIN * rows or (is_wide and rows <= channels)

    def nest(self) -> BlockRealize:
        """All windows as one block."""
        plan = KnownPlan(str(self.dtype)) if self.is_known() else Plan(str(self.dtype))
        call = self._call(plan)
        height, width, planes, tiles = call.height, call.width, call.planes, call.tiles
        cores = self.cpu.cores
        area = plan.keep("area", Max(height * width, self._int(1)))
        few = Max((planes + (PLANES * cores - 1)) // (PLANES * cores), self._worth() // area)
        chunk = plan.keep("chunk", Max(Min(few, planes), self._int(1)))
        chunks = plan.keep("chunks", (planes + chunk - 1) // chunk)
        alone = Select(
            less(planes, self._int(PLANES * cores)),
            Max(Min(self._int(2 * cores), area // self._worth()), self._int(1)), self._int(1),
        )  # fmt: skip
        split = plan.keep("split", Min(alone, tiles) if cores > 1 else self._int(1))
        each = plan.keep("each", (tiles + split - 1) // split)

        task, scope = self._var("task"), Scope()
        start = scope.let("start", (task // split if cores > 1 else task) * chunk)
        count = scope.let("count", Min(chunk, planes - start))
        first = scope.let("first", task % split * each if cores > 1 else self._int(0))
        end = scope.let("end", Min(first + each, tiles))
        part = _Part(start, count, first, end)
        if isinstance(self.along.size, IntImm):
            is_short = self.along.size.value < self.lanes
            scope.add(self._short(call, part) if is_short else self._wide(call, part))
        elif self._is_whole() or self._in_place():  # what is read beyond a row is under masks
            short = less(width, self._int(self.lanes))
            scope.add(IfThenElse(short, self._short(call, part), self._wide(call, part)))
        else:
            scope.add(self._wide(call, part))
        inner = opaque("windows", scope.stmt(), self._memory(), [], [])
        kind = ForKind.SERIAL if cores == 1 else ForKind.PARALLEL
        loop: Stmt = For(task, 0, chunks * split, kind, inner)
        found = self._chosen_channels(plan, call)
        if found is not None:
            loop = self._faster(*found, loop)
        whole = plan.around(loop)
        for iv in (*self.outer, self.down.iv, self.along.iv):
            if extent(iv) is None:
                whole = IfThenElse(less(self._int(0), size_of(iv)), whole)
        own = {self.sch.get(b).writes[0].buffer for b in self.gone()[:-1]}
        taken = [r.buffer for b in self.gone() for r in self.sch.get(b).reads]
        reads = [buffer for buffer in dict.fromkeys(taken) if buffer not in own]
        writes = [r.buffer for r in self.sch.get(self.gone()[-1]).writes]
        return opaque(f"{self.node.name_hint}_any_size", whole, [plan.memory], reads, writes)

    def _memory(self) -> list[Buffer]:
        pair = [] if self.phases is None else [self.phases.pair]
        return [self.sums, self.row, self.copy, *pair]

    def _worth(self) -> PrimExpr:
        """Elements of the result that are worth a thread."""
        work = flops(self.node) * len(self.down.taps) * len(self.along.taps)
        return self._int(math.ceil(MIN_US / flops_us(self.cpu, work, self.bits)))

    def _columns(self) -> int:
        """Columns of the result of which a tile's part of a plane fits the copy, whole vectors."""
        rows = (max(self.rows) - 1) * self.down.step + self.down.reach + 1
        if self.phases is not None:
            return self.phases.columns(rows) // self.lanes * self.lanes
        elements = self.room // rows - self._shift() - 3 * self.lanes - self.along.reach
        return elements // self.along.step // self.lanes * self.lanes

    def _shift(self) -> int:
        """Elements in front of a copied row, so that vectors of the plane lie at whole vectors."""
        before = self.plain.before[self.along]
        return -before % self.lanes if isinstance(before, int) else 0

    def _planes(self, part: _Part, make: Callable[[Mapping[Var, PrimExpr]], Stmt]) -> Stmt:
        """A loop over the task's planes, with `make` as its body."""
        number, scope = self._var("p"), Scope()
        plane = scope.let("plane", part.plane + number)
        scope.add(make(digits_of(scope, plane, self.digits)))
        return For(number, 0, part.planes, ForKind.SERIAL, scope.stmt())

    def _short(self, call: _Call, part: _Part) -> Stmt:
        """Rows of less than a vector."""
        if self.along.step > 1:
            return self._from_copies(call, part, self._int(0), call.width)

        def tiles(size: int) -> Stmt:
            tile, scope = self._var("t"), Scope()
            y = scope.let("y", Min((part.tile + tile) * size, call.height - size))
            scope.add(self._planes(part, lambda at: self._tile(
                _Strip(at, None, True, call.width), y, self._int(0), size
            )))  # fmt: skip
            return For(tile, 0, part.end - part.tile, ForKind.SERIAL, scope.stmt())

        return one_of(call.rows, self.rows, tiles)

    def _wide(self, call: _Call, part: _Part) -> Stmt:
        """Rows of whole vectors, in blocks of which some rows fit the copy."""
        if self._is_whole() or self._in_place():
            edges, count = not self._is_whole(), part.end - part.tile
            return self._planes(part, lambda at: one_of(
                call.rows, self.rows, lambda size: self._tiles(
                    call, _Strip(at, None, edges), call.width, part.tile, count, size),
            ))  # fmt: skip
        number, scope = self._var("b"), Scope()
        column = scope.let("column", Min(number * call.block, call.width - call.block))
        scope.add(self._from_copies(call, part, column, None))
        blocks = (call.width + (call.block - 1)) // call.block
        return For(number, 0, blocks, ForKind.SERIAL, scope.stmt())

    def _from_copies(
        self, call: _Call, part: _Part, column: PrimExpr, short: PrimExpr | None
    ) -> Stmt:
        """Tiles of copied rows with their border; `short` are the columns if less than a vector."""
        lines = (call.strip * call.rows - 1) * self.down.step + (self.down.reach + 1)
        border = self._filled(self._int(0), lines * call.pitch)
        planes = self._planes(part, lambda at: self._strips(call, part, at, column, short))
        return SeqStmt([border, planes])

    def _strips(
        self, call: _Call, part: _Part, at: Mapping[Var, PrimExpr], column: PrimExpr,
        short: PrimExpr | None,
    ) -> Stmt:  # fmt: skip
        """A part of a plane, tile row by tile row."""
        number, scope = self._var("s"), Scope()
        tile = scope.let("tile", part.tile + number * call.strip)
        count = scope.let("count", Min(call.strip, part.end - tile))
        row = scope.let("row", Min(tile * call.rows, call.height - call.rows))
        lines = (Min(count * call.rows, call.height - row) - 1) * self.down.step
        copy = _Copy(row, column, call.pitch)
        scope.add(self._copied(call, at, copy, lines + (self.down.reach + 1)))
        any_width = short is None and not isinstance(self.along.size, IntImm)
        strip = _Strip(at, copy, False, short, any_width)
        scope.add(one_of(
            call.rows, self.rows,
            lambda size: self._tiles(call, strip, call.block, tile, count, size),
        ))  # fmt: skip
        strips = (part.end - part.tile + (call.strip - 1)) // call.strip
        return For(number, 0, strips, ForKind.SERIAL, scope.stmt())

    def _in_place(self) -> bool:
        """Whether rows with a border are read where they are, under masks.

        They are read one after another, so all factors of the window are in registers.
        """
        taps = len(self.along.taps)
        factors = taps * len(self.down.taps) if self._has_factors() else 0
        return self.along.step == 1 and (
            factors + taps + max(self.rows) < self.cpu.vector_registers
        )

    def _has_factors(self) -> bool:
        """Whether more than the plane is read: a filter."""
        own = (self.read, *walk(self.read))
        return any(
            isinstance(node, BufferLoad) and node.buffer is not self.store.buffer
            and node not in own
            for node in walk(self.store.value)
        )  # fmt: skip

    def _is_whole(self) -> bool:
        """Whether all that windows read is there: the plane has no border."""
        return self.pad is None and not isinstance(self.read, Call)

    # --- the copy ---

    def _filled(self, start: PrimExpr, count: PrimExpr) -> Stmt:
        """The value of the border in some elements of the copy."""
        starts = [start] if self.phases is None else [start, start + self.phases.apart]
        other = self.plain.other
        return SeqStmt.flatten([filled(self.copy, s, count, self.lanes, other) for s in starts])

    def _copied(
        self, call: _Call, at: Mapping[Var, PrimExpr], copy: _Copy, lines: PrimExpr
    ) -> Stmt:  # fmt: skip
        """The rows of a plane that are there; rows of the border where others were before."""
        source, zero, scope = self.plain, self._int(0), Scope()
        above = scope.let("above", copy.row * self.down.step - source.before[self.down])
        odd = 0 if self.phases is None else self.phases.odd
        left = scope.let("left", copy.column * self.along.step - source.before[self.along] - odd)
        first = scope.let("first", Max(-above, zero))
        last = scope.let("last", Max(Min(source.size(self.down) - above, lines), first))
        begin = scope.let("begin", Max(left, zero))
        length = scope.let("length", Min(left + call.read + odd, source.size(self.along)) - begin)
        inset: PrimExpr = Min(begin - left, call.read)
        inset = inset + self._shift() if self.phases is None else inset // PARTS + self.phases.shift
        skipped = scope.let("skipped", inset)
        several = less(call.strip * call.rows, call.height)
        again = [self._filled(zero, first * copy.pitch),
                 self._filled(last * copy.pitch, (lines - last) * copy.pitch)]  # fmt: skip
        scope.add(IfThenElse(several, SeqStmt(again)))

        j, inner = self._var("j"), Scope()
        line = inner.let("line", above + j)
        target = inner.let("target", j * copy.pitch + skipped)

        def value(i: PrimExpr) -> PrimExpr:
            return source.at(at, {self.down: line, self.along: begin + i})

        if self.phases is None:
            row = copied_row(self.copy, target, length, self.lanes, value, source.other)
        else:
            row = self.phases.copied(self.copy, target, length, value, source.other)
        inner.add(row)
        scope.add(For(j, first, last - first, ForKind.SERIAL, inner.stmt()))
        return scope.stmt()

    # --- the sums ---

    def _tiles(
        self, call: _Call, strip: _Strip, width: PrimExpr, first: PrimExpr, count: PrimExpr,
        size: int,
    ) -> Stmt:  # fmt: skip
        """The tiles of some rows, in whole vectors along each."""
        tile, v, inner, scope = self._var("t"), self._var("v"), Scope(), Scope()
        y = inner.let("y", Min((first + tile) * size, call.height - size))
        begin: PrimExpr = self._int(0)
        if strip.width is None:
            begin = Min(v * self.lanes, width - self.lanes)
        if strip.any_width:
            begin = Max(begin, self._int(0))
        x = scope.let("x", begin if strip.copy is None else strip.copy.column + begin)
        (inner if strip.edges else scope).add(self._tile(strip, y, x, size))
        vectors = (width + (self.lanes - 1)) // self.lanes
        if strip.edges:  # whose masks are the same down the plane
            scope.add(For(tile, 0, count, ForKind.SERIAL, inner.stmt()))
            return For(v, 0, vectors, ForKind.SERIAL, scope.stmt())
        inner.add(For(v, 0, vectors, ForKind.SERIAL, scope.stmt()))
        return For(tile, 0, count, ForKind.SERIAL, inner.stmt())

    def _tile(self, strip: _Strip, y: Var, x: PrimExpr, size: int) -> Stmt:
        """One tile: a vector in each of some rows."""
        scope = Scope()

        def each(make: Callable[[int, Var], Stmt], width: PrimExpr | None = None) -> Stmt:
            lane = self._var("lane")
            body = SeqStmt.flatten([make(row, lane) for row in range(size)])
            if width is not None:
                body = IfThenElse(less(lane, width), body)
            return vector(lane, self.lanes, body)

        chains = self._chains(size)
        zero = make_const(0, self.sums.dtype)

        def start(row: int, lane: Var) -> Stmt:
            apart = [BufferStore(self.sums, zero, [self._int(chain * size + row), lane])
                     for chain in range(1, chains)]  # fmt: skip
            first = BufferStore(self.sums, self.init.value, [self._int(row), lane])
            return SeqStmt.flatten([first, *apart])

        def together(row: int, lane: Var) -> Stmt:
            parts: list[PrimExpr] = [BufferLoad(self.sums, [self._int(chain * size + row), lane])
                     for chain in range(chains)]  # fmt: skip
            while len(parts) > 1:
                pairs = [a + b for a, b in zip(parts[::2], parts[1::2])]
                parts = [*pairs, *parts[len(parts) // 2 * 2 :]]
            return BufferStore(self.sums, parts[0], [self._int(row), lane])

        def store(row: int, lane: Var) -> Stmt:
            values = {**strip.at, self.down.iv.var: y + row, self.along.iv.var: x + lane}
            return self._stored(values, BufferLoad(self.sums, [self._int(row), lane]))

        scope.add(each(start))
        by_rows = strip.edges and self._in_place()
        (self._sums_by_rows if by_rows else self._sums_by_taps)(scope, strip, y, x, size)
        if chains > 1:
            scope.add(each(together))
        if strip.any_width:
            width, lanes = self.along.size, self._int(self.lanes)
            scope.add(IfThenElse(less(width, lanes), each(store, width), each(store)))
        else:
            scope.add(each(store, strip.width))
        return scope.stmt()

    def _sums_by_taps(self, scope: Scope, strip: _Strip, y: Var, x: PrimExpr, size: int) -> None:
        """A step along all rows after another: a column of the window is in registers."""
        lane, tap = self._var("lane"), self._var("tap")
        copy, steps = strip.copy, list[Stmt]()
        origin, phases = None, self.phases
        if copy is not None:
            begin = (x - copy.column) * self.along.step + self._shift()
            if phases is not None:
                begin = x - copy.column + phases.shift
            line = (y - copy.row) * self.down.step * copy.pitch
            origin = scope.let("origin", line + begin)
        for offset, uses in self._rows_read(size).items():
            if copy is not None and origin is not None:
                column = tap * self.along.scale + lane * self.along.step
                if phases is not None:
                    column = phases.place(tap) + lane
                value: PrimExpr = BufferLoad(self.copy, [origin + copy.pitch * offset + column])
            else:
                line, column = self._read_at(y, x, offset, tap, lane)
                value = self.plain.at(strip.at, {self.down: line, self.along: column})
                if strip.edges:
                    inside = self._inside(self.down, line), self._inside(self.along, column)
                    value = self._or_border(logical_and(*inside), value)
            steps.append(BufferStore(self.row, value, [tap, lane]))
            steps += self._added(strip, y, x, tap, lane, uses, size)
        body = vector(lane, self.lanes, SeqStmt.flatten(steps))
        scope.add(For(tap, 0, len(self.along.taps), ForKind.UNROLLED, body))

    def _sums_by_rows(self, scope: Scope, strip: _Strip, y: Var, x: PrimExpr, size: int) -> None:
        """A row after another, those that are there under masks: all of the window is in registers.

        So one mask serves all rows, and a row is there or not for all of its lanes.
        """

        def taps(make: Callable[[Var, Var], Sequence[Stmt]]) -> Stmt:
            lane, tap = self._var("lane"), self._var("tap")
            body = vector(lane, self.lanes, SeqStmt.flatten(make(tap, lane)))
            return For(tap, 0, len(self.along.taps), ForKind.UNROLLED, body)

        def one_row(offset: int, uses: Sequence[tuple[int, int]]) -> None:
            def read(tap: Var, lane: Var) -> list[Stmt]:
                line, column = self._read_at(y, x, offset, tap, lane)
                value = self.plain.at(strip.at, {self.down: line, self.along: column})
                value = self._or_border(self._inside(self.along, column), value)
                return [BufferStore(self.row, value, [tap, lane])]

            def outside(tap: Var, lane: Var) -> list[Stmt]:
                return [BufferStore(self.row, self.plain.other, [tap, lane])]

            line = y * self.down.step + (offset - self.plain.before[self.down])
            condition = self._row_inside(line, offset, size)
            reads = taps(read)
            scope.add(reads if condition is None else IfThenElse(condition, reads, taps(outside)))
            scope.add(taps(lambda tap, lane: self._added(strip, y, x, tap, lane, uses, size)))

        for offset, uses in self._rows_read(size).items():
            one_row(offset, uses)

    def _read_at(
        self, y: Var, x: PrimExpr, offset: int, tap: Var, lane: Var
    ) -> tuple[PrimExpr, PrimExpr]:
        """Indices of the plane's source that a lane reads."""
        line = y * self.down.step + (offset - self.plain.before[self.down])
        column = tap * self.along.scale + lane * self.along.step
        return line, x * self.along.step + (column - self.plain.before[self.along])

    def _added(
        self, strip: _Strip, y: Var, x: PrimExpr, tap: Var, lane: Var,
        uses: Sequence[tuple[int, int]], size: int,
    ) -> list[Stmt]:  # fmt: skip
        """What was read is added to the sums of the rows that it is for."""
        made: list[Stmt] = []
        chains = self._chains(size)
        for row, step in uses:
            place = self._int(row) if chains == 1 else tap % chains * size + row
            held = BufferLoad(self.sums, [place, lane])
            values = {**strip.at, **self.down.at(y + row, step), **self.along.at(x + lane, tap)}
            read = BufferLoad(self.row, [tap, lane])
            total = ReadPlane(self.read, read).visit_expr(self.store.value)
            total = Loads({self.store.buffer: held}, values).visit_expr(total)
            made.append(BufferStore(self.sums, total, [place, lane]))
        return made

    def _row_inside(self, line: PrimExpr, offset: int, size: int) -> PrimExpr | None:
        """Whether a row that a tile reads is one of the plane; None if it is one of any plane.

        Conditions of rows in the middle of a tile would keep it from being one run of code.
        """
        before = self.plain.before[self.down]
        last = (self.down.size - size) * self.down.step + (offset - before)
        below = Analyzer().can_prove(less(last, self.plain.size(self.down)))
        terms = [] if below else [less(line, self.plain.size(self.down))]
        if not isinstance(before, int) or offset < before:
            terms.insert(0, less_equal(self._int(0), line))
        return functools.reduce(logical_and, terms) if terms else None

    def _inside(self, axis: Axis, index: PrimExpr) -> PrimExpr:
        """Whether an index that may be one of the border is one of the plane."""
        within = less(index, self.plain.size(axis))
        before = self.plain.before[axis]
        if not isinstance(before, int) or before > 0:
            within = logical_and(less_equal(self._int(0), index), within)
        return within

    def _or_border(self, inside: PrimExpr, value: PrimExpr) -> PrimExpr:
        return Call(value.dtype, "tir.if_then_else", (inside, value, self.plain.other))

    def _stored(self, values: Mapping[Var, PrimExpr], total: PrimExpr) -> Stmt:
        if self.last is None:
            indices = [substitute(index, values) for index in self.store.indices]
            return BufferStore(self.store.buffer, total, indices)
        node: Block = self.sch.get(self.last.block)
        assert isinstance(node.body, BufferStore), "looked at before"
        at = {var: substitute(value, values) for var, value in self.last.variables.items()}
        return Loads({self.store.buffer: total}, at).visit_stmt(node.body)

    def _int(self, value: int) -> IntImm:
        return IntImm(self.dtype, value)

    def _var(self, name: str) -> Var:
        return Var(name, self.dtype)


def _is_less(chosen: Chosen, time: PrimExpr) -> bool:
    """Whether channels along vectors take less time, of planes of known sizes."""
    return (
        isinstance(chosen.time, IntImm) and isinstance(time, IntImm)
        and chosen.time.value < time.value
    )  # fmt: skip


def _lanes(most: int, size: PrimExpr) -> int:
    """Lanes along the result: a vector, or the power of two that a short row fits in."""
    if not isinstance(size, IntImm) or size.value >= most:
        return most
    return 1 << (size.value - 1).bit_length()
