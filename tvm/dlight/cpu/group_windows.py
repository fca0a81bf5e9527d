"""Convolutions in groups over planes of any size: a strip of padded rows is one run of elements.

    for n, g, strips of some rows of the result:                # parallel
        P[c, py, px, j, i] = X[n, g, c, (y0 + j) * s + py, i * s + px] with its border
        for fb in blocks of R filters of the group:
            for e in vectors along the run, V at a time:        # the last ones end with it
                acc[R, V] = 0                                   # vector registers
                for c, ry, rx:
                    acc[r, :] += P[c, ry % s, rx % s, (ry // s) * pitch + rx // s + e :] * W[...]
                S[R, e :] = acc
            for r, y, x: C[n, g, fb + r, y, x] = epilogue(S[r, y * pitch + x])

Few filters read each element of the plane, so that gathering columns for them (`conv_any`) takes
longer than the sums. Here an element is copied once, whatever the window; what is summed between
the end of a row and the begin of the next is not stored. With a step the elements that one of it
meets lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tvm.dlight.analysis.contraction import Contraction
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Max, Min, Var
from tvm.tir.functor import substitute, vars_in
from tvm.tir.op.arith import less, less_equal, logical_and
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block, BlockRealize, BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt

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
from .conv_any import tiles_for
from .fused import epilogue_of, padding_of
from .planes import plane_of
from .tiles import tile_cost
from .turned_runs import Windows
from .window_axes import Axis, ReadPlane, axis_of, read_of, source_of

SHARE: Final = 2  # of the second cache, for what a strip reads, and of the first, for its sums
WIDEST_STEP: Final = 4
MAX_SUMS: Final = 700  # multiplications that stand one after another, in all tiles together


def group_windows(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel
) -> GroupWindows | None:
    """The loops of a convolution in groups; None for others, which stay."""
    node: Block = sch.get(block)
    store, plane = node.body, plane_of(node)
    weights = set(vars_in(*found.lhs.indices))
    if not any(iv.var in weights and not has_size(iv, 1) for iv in form.outer):
        return None
    if not isinstance(store, BufferStore) or plane is None or len(form.m) != 1:
        return None
    if plane.buffer is not found.rhs.buffer or found.output.dtype.bits != 32:
        return None
    if len(store.indices) < 3 or not all(isinstance(index, Var) for index in store.indices):
        return None
    by_var = {iv.var: iv for iv in node.iter_vars}
    reducing = [iv for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce]
    down, along = (axis_of(plane, by_var[index], reducing) for index in store.indices[-2:])  # type: ignore[index]
    if down is None or along is None or along.dim != len(plane.indices) - 1:
        return None
    if max(down.step, along.step) > WIDEST_STEP or form.m[0] in (down.iv, along.iv):
        return None
    deep = [iv for iv in reducing if iv not in (down.tap, along.tap) and not has_size(iv, 1)]
    read = read_of(store.value, plane)
    source = source_of(sch, padding_of(sch, block, plane.buffer), read, plane, (down, along))
    if len(deep) > 1 or source is None:
        return None
    last = epilogue_of(sch, block, store.buffer, store.indices)
    outer = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar
             and iv not in (down.iv, along.iv, form.m[0])]  # fmt: skip
    windows = Windows(sch, node, down, along, read, source, last, False, outer, cpu)
    made = GroupWindows(windows, found, form.m[0], deep[0] if deep else None, block)
    return made if made.fits() else None


class GroupWindows:
    """Makes the loops of one convolution."""

    def __init__(
        self, found: Windows, product: Contraction, filters: IterVar, deep: IterVar | None,
        block: BlockRV,
    ) -> None:  # fmt: skip
        self.w, self.product, self.filters, self.deep = found, product, filters, deep
        self.down, self.along, self.cpu = found.down, found.along, found.cpu
        self.dtype = found.along.iv.var.dtype
        store = found.node.body
        assert isinstance(store, BufferStore), "looked at by the caller"
        self.store, bits = store, store.buffer.dtype.bits
        self.lanes = self.cpu.lanes(bits)
        self.each = extent(filters) or 1
        self.depth = 1 if deep is None else extent(deep) or 1
        self.tiles = tiles_for(self.cpu, bits, self.each)
        self.rows = min(self.each, self.tiles[-1].rows)
        self.phases = self.down.step * self.along.step
        self.room = self.cpu.l2_bytes // SHARE // (bits // 8)
        self.places = self.cpu.l1d_bytes // SHARE // (bits // 8) // self.rows
        # how much longer rows and strips of the copy are than those of the result
        self.more = self.along.reach // self.along.step
        self.below = self.down.reach // self.down.step
        lines = self.room // (self.depth * self.phases)
        self.widest = min(self.places, (lines - self.lanes) // (self.below + 1)) - self.more
        kind, lanes = str(store.buffer.dtype), self.lanes
        beyond = (len(self.tiles) + 1) * lanes
        self.copy = decl_buffer((self._int(self.room + beyond),), kind, "copy")
        line = (max(self.widest, 1) + self.more + 2 * lanes) * self.along.step + lanes
        self.line = decl_buffer((self._int(line),), kind, "line")
        self.pitch = self.places + beyond
        self.results = decl_buffer((self._int(self.rows * self.pitch),), kind, "results")
        sums = (self._int(self.rows * len(self.tiles)), self._int(lanes))
        self.sums = decl_buffer(sums, kind, "sums", scope="local")
        gone = [padding_of(found.sch, block, product.rhs.buffer), block,
                None if found.last is None else found.last.block]  # fmt: skip
        self.gone = [one for one in gone if one is not None]

    def fits(self) -> bool:
        """Whether rows of some length fit the caches, and the code is not too long."""
        taps = len(self.along.taps)
        taps *= len(self.down.taps) if self.down.step > 1 else 1
        count = len(self.tiles)
        most = self.rows * taps * count * (count + 1) // 2
        return self.widest >= self.lanes and most <= MAX_SUMS

    def reason(self) -> str:
        """The schedule's reason."""
        return (
            f"{self.rows}x{len(self.tiles) * self.lanes} tile, groups over strips of planes of "
            "any size, each of them one run"
        )

    def nest(self) -> BlockRealize:
        """The whole convolution as one block."""
        plan = Plan(str(self.dtype))
        height, across = self.down.size, self.along.size
        parts = plan.keep("parts", (across + (self.widest - 1)) // self.widest)
        width = plan.keep("width", (across + (parts - 1)) // parts)  # of a part of the rows
        pitch = plan.keep("pitch", width + self.more)
        lines = (self._int(self.room // (self.depth * self.phases) - self.lanes)) // pitch
        most = Min(lines - self.below, self._int(self.places) // pitch)
        fit = Max(Min(most, height), self._int(1))
        strips = plan.keep("strips", (height + fit - 1) // fit)
        strip = plan.keep("strip", (height + strips - 1) // strips)
        vectors = plan.keep("vectors", self._vectors(strip, pitch, width))
        best = [plan.slot("time"), plan.slot("tile")]
        for size, tile in enumerate(self.tiles, 1):
            cost = round(UNIT * size * tile_cost(self.cpu, tile))
            time = (vectors + (size - 1)) // size * cost
            better = logical_and(
                less_equal(self._int(size), vectors), less(time, plan.at(best[0]))
            )
            plan.put(best, [time, self._int(size)], None if size == 1 else better)
        tile_size = plan.read("tile", best[1])
        pieces: PrimExpr = self._int(1)
        for iv in self.w.outer:
            pieces = pieces * size_of(iv)
        tasks = plan.keep("tasks", pieces * strips * parts)

        task, scope = self._var("task"), Scope()
        once = [iv.var for iv in self.w.node.iter_vars if extent(iv) == 1]
        at: dict[Var, PrimExpr] = dict.fromkeys(once, self._int(0))
        at |= digits_of(scope, scope.let("piece", task // (strips * parts)), self.w.outer)
        # the last part begins where the one before it is not done, so that all are of one size
        x = scope.let("left", Min(task % parts * width, across - width))
        y = scope.let("top", Min(task // parts % strips * strip, height - strip))
        held = scope.let("held", (strip + self.below) * pitch + self.lanes)  # of one phase
        scope.add(self._copied(at, x, y, strip, pitch, held))
        number, inner = self._var("b"), Scope()
        first = inner.let("first", Min(number * self.rows, self._int(self.each - self.rows)))
        inner.add(one_of(
            tile_size, range(1, len(self.tiles) + 1),
            lambda size: self._sums(size, first, at, vectors, pitch, held),
        ))  # fmt: skip
        inner.add(self._output(first, at, x, y, strip, width, pitch))
        blocks = -(-self.each // self.rows)
        scope.add(For(number, 0, blocks, ForKind.SERIAL, inner.stmt()))
        memory = [self.copy, self.results, self.sums]
        memory += [self.line] if self.along.step > 1 else []
        body = opaque("group_strip", scope.stmt(), memory, [], [])
        kind = ForKind.SERIAL if self.cpu.cores == 1 else ForKind.PARALLEL
        made = plan.around(For(task, 0, tasks, kind, body))
        for iv in (*self.w.outer, self.down.iv, self.along.iv):
            if extent(iv) is None:
                made = IfThenElse(less(self._int(0), size_of(iv)), made)
        sch = self.w.sch
        own = {sch.get(b).writes[0].buffer for b in self.gone[:-1]}
        taken = [r.buffer for b in self.gone for r in sch.get(b).reads]
        reads = [buffer for buffer in dict.fromkeys(taken) if buffer not in own]
        writes = [r.buffer for r in sch.get(self.gone[-1]).writes]
        return opaque("group_windows", made, [plan.memory], reads, writes)

    def _vectors(self, rows: PrimExpr, pitch: PrimExpr, width: PrimExpr) -> PrimExpr:
        """Vectors of a run of so many rows."""
        return ((rows - 1) * pitch + width + (self.lanes - 1)) // self.lanes

    # --- the copy ---

    def _phase(self, deep: PrimExpr, down: PrimExpr, along: PrimExpr, held: PrimExpr) -> PrimExpr:
        """Where the elements of a phase of the steps begin."""
        return ((deep * self.down.step + down) * self.along.step + along) * held

    def _copied(
        self, at: Mapping[Var, PrimExpr], x: PrimExpr, y: PrimExpr, rows: PrimExpr,
        pitch: PrimExpr, held: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The rows that a strip reads, of all channels, with their border."""
        source, zero, lanes = self.w.source, self._int(0), self.lanes
        sx, sy = self.along.step, self.down.step
        deep, j, scope, inner = self._var("c"), self._var("j"), Scope(), Scope()
        wide = scope.let("wide", pitch * sx)
        left = scope.let("left", x * sx - source.before[self.along])
        begin = scope.let("begin", Max(left, zero))
        skipped = scope.let("skipped", Min(begin - left, wide))
        length = scope.let("length", Min(left + wide, source.size(self.along)) - begin)
        line = inner.let("line", y * sy + j - source.before[self.down])
        row = inner.let("row", self._phase(deep, j % sy, zero, held) + j // sy * pitch)
        values = dict(at) if self.deep is None else {**at, self.deep.var: deep}

        def value(i: PrimExpr) -> PrimExpr:
            return source.at(values, {self.down: line, self.along: begin + i})

        target, start = (self.copy, row) if sx == 1 else (self.line, zero)
        # as far as the last vector that is read, or picked from
        count = pitch + (lanes - 1) if sx == 1 else (pitch + lanes) * sx + (lanes - 1)
        inner.add(filled(target, start, count, lanes, source.other))
        some = logical_and(less_equal(zero, line), less(line, source.size(self.down)))
        copy = copied_row(target, start + skipped, length, lanes, value, source.other)
        inner.add(IfThenElse(some, copy))
        if sx > 1:
            for phase in range(sx):
                group, lane = self._var("v"), self._var("lane")
                place = group * lanes + lane
                pick = BufferStore(
                    self.copy, BufferLoad(self.line, [place * sx + phase]),
                    [row + held * phase + place],
                )  # fmt: skip
                body = vector(lane, lanes, pick)
                inner.add(For(group, 0, (pitch + (lanes - 1)) // lanes, ForKind.SERIAL, body))
        lines = (rows - 1) * sy + (self.down.reach + 1)
        scope.add(For(j, 0, lines, ForKind.SERIAL, inner.stmt()))
        return For(deep, 0, self.depth, ForKind.SERIAL, scope.stmt())

    # --- the sums ---

    def _sums(
        self, size: int, first: PrimExpr, at: Mapping[Var, PrimExpr], vectors: PrimExpr,
        pitch: PrimExpr, held: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The sums of some filters along a run, in tiles of one size."""
        lanes, number, scope = self.lanes, self._var("t"), Scope()
        begin = scope.let("begin", Min(number * size, vectors - size) * lanes)
        init = self.w.node.init
        assert isinstance(init, BufferStore), "a reduction has an init"

        def each(make: Callable[[PrimExpr, PrimExpr, Var], Stmt]) -> Stmt:
            r, v, lane = self._var("r"), self._var("v"), self._var("lane")
            body = For(v, 0, size, ForKind.UNROLLED, vector(lane, lanes, make(r, v, lane)))
            return For(r, 0, self.rows, ForKind.UNROLLED, body)

        deep, ry = self._var("c"), self._var("ry")
        steps = {**at, **({} if self.deep is None else {self.deep.var: deep})}

        def tap(down: PrimExpr | int, along: int) -> Stmt:
            i, s = along * self.along.scale, self.along.step
            j, t = down * self.down.scale, self.down.step
            phase = self._phase(deep, j % t * self._int(1), self._int(i % s), held)
            place = phase + j // t * pitch + i // s + begin
            values = {**steps, **_at_taps(self.down, down), **_at_taps(self.along, along)}

            def add(r: PrimExpr, v: PrimExpr, lane: Var) -> Stmt:
                element = BufferLoad(self.copy, [place + v * lanes + lane])
                total = ReadPlane(self.w.read, element).visit_expr(self.store.value)
                sums = [r * size + v, lane]
                loads = {self.store.buffer: BufferLoad(self.sums, sums)}
                total = Loads(loads, {**values, self.filters.var: first + r}).visit_expr(total)
                return BufferStore(self.sums, total, sums)

            return each(add)

        rows, columns = self.down.taps, self.along.taps
        if self.down.step == 1:
            body: Stmt = SeqStmt.flatten([tap(ry, rx) for rx in columns])
            body = For(ry, 0, len(rows), ForKind.SERIAL, body)
        else:  # whose phases are constants
            body = SeqStmt.flatten([tap(y, x) for y in rows for x in columns])
        scope.add(SeqStmt([
            each(lambda r, v, lane: BufferStore(self.sums, init.value, [r * size + v, lane])),
            For(deep, 0, self.depth, ForKind.SERIAL, body),
            each(lambda r, v, lane: BufferStore(
                self.results, BufferLoad(self.sums, [r * size + v, lane]),
                [r * self.pitch + begin + v * lanes + lane])),
        ]))  # fmt: skip
        return For(number, 0, (vectors + (size - 1)) // size, ForKind.SERIAL, scope.stmt())

    # --- what follows ---

    def _output(
        self, first: PrimExpr, at: Mapping[Var, PrimExpr], x: PrimExpr, y: PrimExpr,
        rows: PrimExpr, width: PrimExpr, pitch: PrimExpr,
    ) -> Stmt:  # fmt: skip
        """The epilogue for all rows of a strip."""
        r, row, v, scope = self._var("r"), self._var("row"), self._var("v"), Scope()
        lane, rest, lanes = self._var("lane"), self._var("lane"), self.lanes
        whole = scope.let("whole", width // lanes)

        def piece(column: PrimExpr) -> Stmt:
            values = {**at, self.filters.var: first + r, self.down.iv.var: y + row,
                      self.along.iv.var: x + column}  # fmt: skip
            place = r * self.pitch + row * pitch + column
            return self._stored(values, BufferLoad(self.results, [place]))

        full = For(v, 0, whole, ForKind.SERIAL, vector(lane, lanes, piece(v * lanes + lane)))
        column = whole * lanes + rest
        end = vector(rest, lanes, IfThenElse(less(column, width), piece(column)))
        some = IfThenElse(less(whole * lanes, width), end)
        body = For(row, 0, rows, ForKind.SERIAL, SeqStmt([full, some]))
        scope.add(For(r, 0, self.rows, ForKind.SERIAL, body))
        return scope.stmt()

    def _stored(self, values: Mapping[Var, PrimExpr], total: PrimExpr) -> Stmt:
        if self.w.last is None:
            indices = [substitute(index, values) for index in self.store.indices]
            return BufferStore(self.store.buffer, total, indices)
        node: Block = self.w.sch.get(self.w.last.block)
        at = {var: substitute(value, values) for var, value in self.w.last.variables.items()}
        loads: dict[Buffer, PrimExpr] = {self.store.buffer: total}
        return Loads(loads, at).visit_stmt(node.body)

    def _int(self, value: int) -> IntImm:
        return IntImm(self.dtype, value)

    def _var(self, name: str) -> Var:
        return Var(name, self.dtype)


def _at_taps(axis: Axis, tap: PrimExpr | int) -> dict[Var, PrimExpr]:
    if axis.tap is None:
        return {}
    dtype = axis.tap.var.dtype
    return {axis.tap.var: IntImm(dtype, tap) if isinstance(tap, int) else tap}
