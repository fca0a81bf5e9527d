"""Convolutions over planes of any size: how wide a panel of columns is, the call decides.

    C[n, f, y, x] = sum over c, ry, rx of W[f, c, ry, rx] * X[n, c, y * s + ry, x * s + rx]

    vectors = n * y * x / lanes, shared out evenly  # to panels of at most as many as registers hold
    for p in panels:                                # parallel; elements in row-major order
        for r: for c, ry, rx:                       # r: rows of which the panel has elements
            P[c, ry, rx, begin + x] = X[...]        # vectors along x, zeros outside of the plane
        for b:                                      # some filters; their sums stay in a cache
            for i: acc[MR, V] = 0                   # vector registers
                for c, ry, rx: acc[m, :] += W[i * MR + m, c, ry, rx] * P[c, ry, rx, :]
                T[i * MR :, :] = acc
            for r, m, x: C = epilogue(T)

Where all vectors of a panel are within a row each, what is in registers goes to C at once.
A panel begins and ends anywhere in a row, so that lanes are empty at the end of the last one only.
All that depends on the number of vectors are the sums, which are there once for each; packing and
what follows the convolution are the same for all. Steps of more than one element along a row, and
those of a window within a border, are picked from a copy of the row in the innermost cache.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.arith import Analyzer
from tvm.dlight.analysis.contraction import Contraction
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import (
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
from tvm.tir.functor import substitute, vars_in, walk
from tvm.tir.op import builtin
from tvm.tir.op.arith import (
    equal,
    is_zero,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
)
from tvm.tir.op.forms import conjuncts
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    SeqStmt,
    Stmt,
)

from .access import size_of
from .any_size import (
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
from .columns import columns_of
from .contraction import MatrixForm, extent_of
from .cost import GRAIN, MIN_US, flops_us
from .fused import epilogue_of, is_border, padding_of
from .tiles import MAX_VECTORS, Tile, choose_tile, tile_cost

FILTERS: Final = 48  # whose sums are kept until the epilogue: with 64 columns, 12 kB
UNROLLED: Final = 8  # steps of a window along a row that stand one after the other
LINE: Final = 64  # bytes that memory gives at once
FEWEST: Final = 16  # channels of a part
STEPS: Final = 4  # of other sums, in the body of a loop, where there are few accumulators


def tiles_for(cpu: CpuModel, bits: int, rows: int, panel: int = 0) -> list[Tile]:
    """The best tile of each width, up to the width that is the fastest for many columns.

    Where weights are packed by panels of so many rows, tiles have a part of those.
    """
    lanes = cpu.lanes(bits)
    heights = [rows] if panel == 0 else [n for n in range(1, panel + 1) if panel % n == 0]
    found: list[Tile] = []
    for vectors in range(1, MAX_VECTORS + 1):
        made = [choose_tile(cpu, bits, most, None, None, [vectors * lanes]) for most in heights]
        whole = [tile for tile in made if panel == 0 or panel % tile.rows == 0]
        found.append(min(whole, key=lambda tile: tile_cost(cpu, tile, rows)))
    costs = [tile_cost(cpu, tile, rows) for tile in found]
    return found[: costs.index(min(costs)) + 1]


@dataclass(frozen=True)
class Panel:
    """A panel, as its task sees it."""

    first_row: Var
    offset: Var  # of its first element in that row
    across: PrimExpr  # elements of a row
    lines: Var  # rows of which it has elements
    elements: Var  # of the panel
    vectors: Var
    lanes: Var  # of the whole panel
    pitch: Var  # from one step of the sum to the next
    straight: Var  # whether its vectors are whole, each within a row
    starts: tuple[tuple[Var, Var], ...]  # row and column of each vector, where they are


@dataclass(frozen=True)
class Line:
    """The part of a row that lies in a panel."""

    first_column: Var
    begin: Var  # of its elements among those of the panel
    length: Var


@dataclass(frozen=True)
class _Edges:
    """Index v along a row of the padded plane is index v - before of the plane, or zero."""

    before: int | PrimExpr
    size: PrimExpr
    others: tuple[PrimExpr, ...]  # what else has to hold, by variables of the padding


class AnySize:
    """Makes the loops of one convolution; `last` is the block that takes its result, if any.

    Weights may be packed, by panels of so many filters (`weights.pack`).
    """

    def __init__(
        self,
        sch: Schedule,
        block: BlockRV,
        found: Contraction,
        form: MatrixForm,
        cpu: CpuModel,
        packed: int = 0,
    ) -> None:
        self.sch, self.block, self.found, self.form, self.cpu = sch, block, found, form, cpu
        self.node: Block = sch.get(block)
        columns = columns_of(self.node, form, found.rhs)
        assert columns is not None, "looked at by the caller"
        *self.down, self.along = columns
        self.dtype = self.along.iv.var.dtype
        self.index = str(self.dtype)
        (self.filters,) = form.m
        self.outs = _known(self.filters)
        self.bits = found.output.dtype.bits
        self.lanes = cpu.lanes(self.bits)
        self.packed = packed
        self.tiles = tiles_for(cpu, self.bits, self.outs, packed)
        self.most = len(self.tiles) * self.lanes
        weights = set(vars_in(*found.lhs.indices))
        self.groups = [iv for iv in form.outer if iv.var in weights]
        self.rows = [iv for iv in form.outer if iv.var not in weights]
        self.rows += [column.iv for column in self.down]
        self.pad = padding_of(sch, block, found.rhs.buffer)
        self.last = epilogue_of(sch, block, found.output, found.store)
        names = set(vars_in(self._plane_indices()[self.along.dim]))
        self.near = [iv for iv in form.k if iv.var in names]  # steps along a row
        self.far = [iv for iv in form.k if iv.var not in names]
        several = self.pad is not None and any(_known(iv) > 1 for iv in self.near)
        self.has_line = self.along.step > 1 or several  # a row is looked at once, edges and all
        few = self.has_line and self.far and _known(self.far[-1]) <= UNROLLED
        self.nearest = self.far[-1] if few else None  # rows that are copied together
        self.edges = self._edges()
        self.part = self._part()
        self.parts = _known(form.k[0]) // self.part
        self.steps = math.prod(_known(iv) for iv in form.k) // self.parts  # of a part
        self.number = self._var("part")
        # steps of the window of which a panel takes some alone: the first, and how many
        self.met: dict[IterVar, tuple[PrimExpr, PrimExpr]] = {}

    def _part(self) -> int:
        """Channels that are summed at a time: as many as a cache nearby holds of a panel."""
        first, channels = self.form.k[0], _known(self.form.k[0])
        if first not in self.far:
            return channels
        each = math.prod(_known(iv) for iv in self.form.k[1:]) * (self.most + self.lanes)
        fit = self.cpu.l2_bytes // 2 // (each * self.bits // 8)
        found = max((n for n in range(1, min(fit, channels) + 1) if channels % n == 0), default=0)
        return found if found >= FEWEST else channels

    @property
    def gone(self) -> list[BlockRV]:
        """The blocks that the loops replace, the last one at the end."""
        last = [] if self.last is None else [self.last.block]
        return [*([] if self.pad is None else [self.pad]), self.block, *last]

    def reason(self) -> str:
        """The schedule's reason."""
        tile = self.tiles[-1]
        sizes = "" if len(self.tiles) == 1 else f", down to {self.tiles[0].columns} columns for few"
        return (
            f"{tile.rows}x{tile.columns} tile: {tile.accumulators()} of "
            f"{self.cpu.vector_registers} vector registers hold sums{sizes}; "
            "panels of rows of planes of any size"
        )

    def nest(self) -> BlockRealize:
        """The whole convolution as one block."""
        plan = Plan(self.index)
        across = plan.keep("across", size_of(self.along.iv))
        total = plan.keep("total", self._product(self.rows) * across)
        most = len(self.tiles)
        vectors = plan.keep("vectors", (total + (self.lanes - 1)) // self.lanes)
        panels = plan.keep("panels", (vectors + (most - 1)) // most)
        heights = [_height(tile, self.outs) for tile in self.tiles]
        fewest = self._int(-(-self.outs // max(heights)))
        few = Select(
            less(panels, self._int(self.cpu.cores)),
            Min(self._int(self.cpu.cores), fewest), self._int(1),
        )  # fmt: skip
        split = plan.keep("split", few)
        task, scope = self._var("task"), Scope()
        group = scope.let("group", task // (panels * split))
        panel = scope.let("panel", task // split % panels)
        share = scope.let("share", task % split)
        first_vector = scope.let("first_vector", panel * vectors // panels)
        width = scope.let("vectors", (panel + 1) * vectors // panels - first_vector)
        start = scope.let("start", first_vector * self.lanes)
        first_row = scope.let("first_row", start // across)
        offset = scope.let("offset", start - first_row * across)
        elements = scope.let("places", Min(width * self.lanes, total - start))
        region = Panel(
            first_row, offset, across,
            scope.let("lines", (offset + elements + across - 1) // across), elements, width,
            scope.let("lanes", width * self.lanes),
            scope.let("pitch", width * self.lanes + self.lanes),
            *self._vectors(scope, offset, first_row, across, elements, width),
        )  # fmt: skip
        self._look(scope, region)
        height = scope.let("height", self._chosen(width, heights))
        blocks = scope.let("blocks", (self._int(self.outs) + height - 1) // height)
        each = scope.let("each", (blocks + split - 1) // split)
        sets = digits_of(scope, group, self.groups)
        memory = self._memory()
        first = scope.let("first", share * each)
        count = scope.let("count", Max(self._int(0), Min(each, blocks - first)))
        work: Stmt = SeqStmt([
            self._pack(region, memory, sets),
            self._filters(region, memory, sets, height, first, count),
        ])  # fmt: skip
        if self.parts > 1:
            scope.add(self._cleared(memory["sums"]))  # which outlive the loop for that
            work = For(self.number, 0, self.parts, ForKind.SERIAL, work)
        scope.add(work)
        inner = opaque("conv_panel", scope.stmt(), list(memory.values()), [], [])
        loop = self._parallel(task, self._product(self.groups) * panels * split, inner)
        whole = plan.around(loop)
        sizes = [size_of(iv) for iv in (*self.groups, *self.rows, self.along.iv)]
        some = [less(self._int(0), size) for size in sizes if not isinstance(size, IntImm)]
        for condition in some:
            whole = IfThenElse(condition, whole)
        own = {self.found.output, *(self.sch.get(b).writes[0].buffer for b in self.gone[:-1])}
        taken = [r.buffer for b in self.gone for r in self.sch.get(b).reads]
        reads = [buffer for buffer in dict.fromkeys(taken) if buffer not in own]
        writes = [r.buffer for r in self.sch.get(self.gone[-1]).writes]
        return opaque("conv", whole, [plan.memory], reads, writes)

    def _look(self, scope: Scope, p: Panel) -> None:
        """Finds what else depends on where a panel is."""

    def _vectors(
        self, scope: Scope, offset: Var, first_row: Var, across: PrimExpr, elements: Var, width: Var
    ) -> tuple[Var, tuple[tuple[Var, Var], ...]]:
        """Whether the panel's vectors are whole and each within a row; where they begin then."""
        one = less_equal(offset + elements, across)
        rows = logical_or(one, equal(across % self.lanes, self._int(0)))
        straight = scope.let("straight", logical_and(rows, equal(elements, width * self.lanes)))
        starts = [(first_row, offset)]
        for _ in self.tiles[1:]:
            row, column = starts[-1]
            ends = less_equal(across, column + self.lanes)
            next_row = scope.let("row", row + Select(ends, self._int(1), self._int(0)))
            after = column + self.lanes - Select(ends, across, self._int(0))
            starts.append((next_row, scope.let("column", after)))
        return straight, tuple(starts)

    def _parallel(self, task: Var, total: PrimExpr, inner: Stmt) -> Stmt:
        if self.cpu.cores == 1:
            return For(task, 0, total, ForKind.SERIAL, inner)
        work = 2.0 * self.outs * self.steps * self.most
        grain = math.ceil(MIN_US / max(flops_us(self.cpu, work, self.bits), 1e-3))
        return For(task, 0, total, ForKind.PARALLEL, inner, annotations={GRAIN: grain})

    def _memory(self) -> dict[str, Buffer]:
        """The buffers of a panel, padded for vectors that reach past the end."""
        plane, result = str(self.found.rhs.buffer.dtype), str(self.found.output.dtype)
        pitch = self.most + self.lanes
        most = max(tile.accumulators() for tile in self.tiles)
        heights = [_height(tile, self.outs) for tile in self.tiles]
        if self.parts > 1:  # the sums of all filters wait for the next part
            heights = [-(-self.outs // height) * height for height in heights]
        height = max(heights)
        made = {
            "panel": decl_buffer((self._int(self.steps * pitch),), plane, "panel"),
            "sums": decl_buffer((self._int(height), self._int(pitch)), result, "sums"),
            "tile": decl_buffer(
                (self._int(most), self._int(self.lanes)), result, "tile", scope="local"
            ),
        }
        if self.has_line:
            lines = 1 if self.nearest is None else _known(self.nearest)
            made["line"] = decl_buffer((self._int(lines * self._line_size()),), plane, "line")
        return made

    def _cleared(self, sums: Buffer) -> Stmt:
        """All sums, as they are before the first part."""
        init = self.node.init
        assert isinstance(init, BufferStore), "a contraction has an init"
        row, number, lane = self._var("m"), self._var("v"), self._var("lane")
        height, vectors = sums.shape[0], len(self.tiles) + 1
        store = BufferStore(sums, init.value, [row, number * self.lanes + lane])
        body = vector(lane, self.lanes, store)
        body = For(number, 0, vectors, ForKind.SERIAL, body)
        return For(row, 0, height, ForKind.SERIAL, body)

    def _line_size(self) -> int:
        """Elements of a row of the plane that the columns of a panel read, in whole vectors."""
        size = (self.most + self.lanes) * self.along.step + self.along.reach + self.lanes
        return -(-size // self.lanes) * self.lanes

    # --- the input ---

    def _pack(self, p: Panel, memory: Mapping[str, Buffer], sets: Mapping[Var, PrimExpr]) -> Stmt:
        """Gathers the panel: all that its sums read, row by row of the result."""
        line, scope = self._var("r"), Scope()
        row = scope.let("row", p.first_row + line)
        values: dict[Var, PrimExpr] = {**sets, **digits_of(scope, row, self.rows)}
        own = self._line(p, line, scope)
        last = Select(less(line + 1, p.lines), own.length, p.lanes - own.begin)
        count = scope.let("vectors", (last + (self.lanes - 1)) // self.lanes)
        loops: list[tuple[int, Var]] = []
        for iv in self.far if self.nearest is None else self.far[:-1]:
            values[iv.var] = self._step(iv, loops)
        body = (
            self._picked(p, own, memory, values, count)
            if self.has_line
            else self._as_it_is(p, own, memory, values, count)
        )
        scope.add(around(loops, body))
        packed = For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())
        if self.has_line or self.pad is not None:
            return packed
        one_row = logical_and(p.straight, equal(p.lines, self._int(1)))
        return IfThenElse(one_row, self._within_a_row(p, memory, sets), packed)

    def _within_a_row(
        self, p: Panel, memory: Mapping[str, Buffer], sets: Mapping[Var, PrimExpr]
    ) -> Stmt:
        """Whole vectors of one row of the plane, as many as the panel has, straight on."""
        scope = Scope()
        row = {**sets, **digits_of(scope, p.first_row, self.rows)}

        def copies(vectors: int) -> Stmt:
            loops: list[tuple[int, Var]] = []
            steps = {iv.var: self._step(iv, loops) for iv in (*self.far, *self.near)}
            at: dict[Var, PrimExpr] = {**row, **steps}
            lane, number = self._var("lane"), self._var("v")
            column = number * self.lanes + lane
            value = self._value({**at, self.along.iv.var: p.offset + column}, guarded=False)
            target = self._flat(at) * ((vectors + 1) * self.lanes) + column
            copy = vector(lane, self.lanes, BufferStore(memory["panel"], value, [target]))
            return around(loops, For(number, 0, vectors, ForKind.UNROLLED, copy))

        scope.add(one_of(p.vectors, range(1, len(self.tiles) + 1), copies))
        return scope.stmt()

    def _line(self, p: Panel, line: Var, scope: Scope) -> Line:
        """Which elements of a row are the panel's."""
        before = scope.let("before", line * p.across - p.offset)
        begin = scope.let("begin", Max(before, self._int(0)))
        first = scope.let("first_column", begin - before)
        length = scope.let("length", Min(p.across - first, p.elements - begin))
        return Line(first, begin, length)

    def _as_it_is(
        self, p: Panel, own: Line, memory: Mapping[str, Buffer],
        values: Mapping[Var, PrimExpr], count: Var,
    ) -> Stmt:  # fmt: skip
        """Neighbouring columns read neighbouring elements: vectors of the plane."""
        loops: list[tuple[int, Var]] = []
        steps = {iv.var: self._step(iv, loops) for iv in self.near}
        at = {**values, **steps}
        base = self._flat(at) * p.pitch + own.begin
        scope, panel = Scope(), memory["panel"]
        start = scope.let("at", base)

        def store(group: PrimExpr, *, guarded: bool) -> Stmt:
            lane = self._var("lane")
            column = group * self.lanes + lane
            x = own.first_column + column
            value = self._value({**at, self.along.iv.var: x}, guarded=guarded)
            return vector(lane, self.lanes, BufferStore(panel, value, [start + column]))

        if self.pad is not None:
            group = self._var("x")
            scope.add(For(group, 0, count, ForKind.SERIAL, store(group, guarded=True)))
            return around(loops, scope.stmt())
        size = self.found.rhs.buffer.shape[self.along.dim]
        end = substitute(
            self._plane_indices()[self.along.dim], {**at, self.along.iv.var: own.first_column}
        )
        inside = Max(self._int(0), (size - end) // self.lanes)
        whole = scope.let("whole", Min(inside, count))
        group, edge = self._var("x"), self._var("x")
        scope.add(For(group, 0, whole, ForKind.SERIAL, store(group, guarded=False)))
        guarded = store(whole + edge, guarded=True)
        scope.add(For(edge, 0, count - whole, ForKind.SERIAL, guarded))
        return around(loops, scope.stmt())

    def _picked(
        self, p: Panel, own: Line, memory: Mapping[str, Buffer],
        values: Mapping[Var, PrimExpr], count: Var,
    ) -> Stmt:  # fmt: skip
        """Rows of the plane as they are, then every `step`-th element of them.

        What was just stored is slow to read at other places than it was stored to: some rows are
        copied before the first is read.
        """
        copies: list[tuple[int, Var]] = []
        picks: list[tuple[int, Var]] = []
        start = self._start(own)
        row: PrimExpr = self._int(0)
        if self.nearest is not None:
            row = self._step(self.nearest, copies)
        copy_row = self._guarded_row if self.edges is None else self._whole_row
        at = values if self.nearest is None else {**values, self.nearest.var: row}
        copy = copy_row(memory["line"], row * self._line_size(), at, start, count)
        if self.nearest is not None:
            row = self._step(self.nearest, picks)
            at = {**values, self.nearest.var: row}
        pick = self._picks(p, own, memory, row * self._line_size(), at, count)
        return SeqStmt([around(copies, copy), around(picks, pick)])

    def _picks(
        self, p: Panel, own: Line, memory: Mapping[str, Buffer], base: PrimExpr,
        values: Mapping[Var, PrimExpr], count: Var,
    ) -> Stmt:  # fmt: skip
        """The elements that a step of the window reads, for each of its steps along a row."""
        line, panel, step = memory["line"], memory["panel"], self.along.step
        zero: dict[Var, PrimExpr] = {iv.var: self._int(0) for iv in self.near}
        indices = self._plane_indices()
        loops: list[tuple[int, Var]] = []
        steps = {iv.var: self._step(iv, loops) for iv in self.near}
        origin: dict[Var, PrimExpr] = {**values, self.along.iv.var: self._int(0)}
        shift = Analyzer().simplify(
            substitute(indices[self.along.dim], {**origin, **steps})
            - substitute(indices[self.along.dim], {**origin, **zero})
        )
        group2, lane2 = self._var("x"), self._var("lane")
        target = group2 * self.lanes + lane2
        pick = BufferStore(
            panel, BufferLoad(line, [base + target * step + shift]),
            [self._flat({**values, **steps}) * p.pitch + own.begin + target],
        )  # fmt: skip
        picked = vector(lane2, self.lanes, pick)
        if math.prod(_known(iv) for iv in self.near) <= UNROLLED:  # all of a vector's at once
            picked = For(group2, 0, count, ForKind.SERIAL, around(loops, picked, unrolled=True))
        else:
            picked = around(loops, For(group2, 0, count, ForKind.SERIAL, picked))
        return picked

    def _start(self, own: Line) -> PrimExpr:
        """The first index along a row of the padded plane that a panel reads."""
        zero: dict[Var, PrimExpr] = {iv.var: self._int(0) for iv in self.near}
        return substitute(
            self._plane_indices()[self.along.dim], {**zero, self.along.iv.var: own.first_column}
        )

    def _at(self, values: Mapping[Var, PrimExpr], along: PrimExpr) -> list[PrimExpr]:
        """Indices of the padded plane."""
        return [substitute(index, values) if dim != self.along.dim else along
                for dim, index in enumerate(self._plane_indices())]  # fmt: skip

    def _guarded_row(
        self, line: Buffer, base: PrimExpr, values: Mapping[Var, PrimExpr], start: PrimExpr,
        count: Var,
    ) -> Stmt:  # fmt: skip
        """The row with its edges, which are tested for at each element."""
        group, lane = self._var("x"), self._var("lane")
        source = group * self.lanes + lane
        value = self._load(self._at(values, start + source), guarded=True)
        copied = (count * (self.lanes * self.along.step) + self.along.reach) // self.lanes + 1
        copy = vector(lane, self.lanes, BufferStore(line, value, [base + source]))
        return For(group, 0, copied, ForKind.SERIAL, copy)

    def _whole_row(
        self, line: Buffer, base: PrimExpr, values: Mapping[Var, PrimExpr], start: PrimExpr,
        count: Var,
    ) -> Stmt:  # fmt: skip
        """What there is of the row, between edges that are there; all of an edge if it is one."""
        edges, scope = self.edges, Scope()
        assert edges is not None, "looked at by the caller"
        wanted = scope.let(
            "wanted", count * (self.lanes * self.along.step) + self.along.reach
        )
        left = scope.let("left", start - edges.before)
        begin = scope.let("begin", Max(left, self._int(0)))
        length = scope.let("length", Min(left + wanted, edges.size) - begin)
        inset = scope.let("inset", Min(begin - left, wanted))
        other = make_const(0, line.dtype)

        def value(i: PrimExpr) -> PrimExpr:
            found = self._load(self._at(values, begin + i + edges.before), guarded=True)
            return found.args[1] if isinstance(found, Call) else found

        target = base + inset
        row = copied_row(line, target, length, self.lanes, value, other)
        inside = [substitute(term, self._named(values)) for term in edges.others]
        if inside:
            none = copied_row(line, target, length, self.lanes, lambda i: other, other)
            row = IfThenElse(functools.reduce(logical_and, inside), row, none)
        if not isinstance(edges.before, int) or edges.before:
            scope.add(filled(line, base, inset + (self.lanes - 1), self.lanes, other))
        scope.add(row)
        end = scope.let("end", inset + Max(length, self._int(0)))
        scope.add(filled(line, base + end, wanted - end + (self.lanes - 1), self.lanes, other))
        return scope.stmt()

    def _named(self, values: Mapping[Var, PrimExpr]) -> dict[Var, PrimExpr]:
        """Indices of the padding by its own variables."""
        assert self.pad is not None, "others than edges along rows are those of a padding"
        store = self.sch.get(self.pad).body
        return dict(zip(store.indices, self._at(values, self._int(0))))

    def _edges(self) -> _Edges | None:
        """Where rows of the plane begin and end; None where that is not plain."""
        plane, dim = self.found.rhs.buffer, self.along.dim
        if dim != len(plane.shape) - 1:
            return None
        if self.pad is None:
            return _Edges(0, plane.shape[dim], ())
        store = self.sch.get(self.pad).body
        assert isinstance(store, BufferStore), "a padding is one store"
        assert isinstance(store.value, Call), "a padding is a choice"
        condition, load, other = store.value.args
        name = store.indices[dim]
        assert isinstance(load, BufferLoad), "looked at before"
        uses = [name in set(walk(index)) for index in load.indices]
        moved = Analyzer().simplify(name - load.indices[-1])
        if sum(uses) != 1 or not uses[-1] or not is_zero(other):
            return None
        if any(var in store.indices for var in vars_in(moved)):
            return None
        along = [term for term in conjuncts(condition) if name in set(walk(term))]
        others = [term for term in conjuncts(condition) if term not in along]
        if not all(is_border(term, load, len(load.indices) - 1) for term in along):
            return None
        before = moved.value if isinstance(moved, IntImm) else moved
        return _Edges(before, load.buffer.shape[-1], tuple(others))

    def _plane_indices(self) -> tuple[PrimExpr, ...]:
        return self.found.rhs.indices

    def _value(self, values: Mapping[Var, PrimExpr], *, guarded: bool) -> PrimExpr:
        return self._load([substitute(i, values) for i in self._plane_indices()], guarded=guarded)

    def _load(self, indices: Sequence[PrimExpr], *, guarded: bool) -> PrimExpr:
        """What the convolution reads there: of the padded plane, or of the plane."""
        plane, dim = self.found.rhs.buffer, self.along.dim
        inside = less(indices[dim], plane.shape[dim])
        if self.pad is None:
            load: PrimExpr = BufferLoad(plane, list(indices))
            return _guarded(inside, load) if guarded else load
        node: Block = self.sch.get(self.pad)
        store = node.body
        assert isinstance(store, BufferStore), "a padding is one store"
        at = dict(zip(store.indices, indices))
        choice = substitute(store.value, at)  # type: ignore[arg-type]
        assert isinstance(choice, Call), "a padding is a choice"
        condition = logical_and(choice.args[0], inside)
        return Call(choice.dtype, "tir.if_then_else", (condition, *choice.args[1:]))

    # --- sums, and what follows ---

    def _filters(
        self, p: Panel, memory: Mapping[str, Buffer],
        sets: Mapping[Var, PrimExpr], height: Var, first: Var, count: Var,
    ) -> Stmt:  # fmt: skip
        block, scope = self._var("b"), Scope()
        start = scope.let("filter", (first + block) * height)
        kept = scope.let("kept", block * height if self.parts > 1 else self._int(0))
        filters = scope.let("filters", Min(height, self._int(self.outs) - start))
        sizes = range(1, len(self.tiles) + 1)
        scope.add(one_of(
            p.vectors, sizes,
            lambda vectors: self._sums(
                p, memory, sets, self.tiles[vectors - 1], start, filters, kept),
        ))  # fmt: skip
        left = self._output(p, memory, sets, start, filters, kept)
        scope.add(IfThenElse(self._if_last(logical_not(p.straight)), left))
        return For(block, 0, count, ForKind.SERIAL, scope.stmt())

    def _sums(
        self, p: Panel, memory: Mapping[str, Buffer], sets: Mapping[Var, PrimExpr], tile: Tile,
        start: Var, filters: Var, kept: Var,
    ) -> Stmt:  # fmt: skip
        """Accumulates over the whole reduction in registers, tile of filters by tile."""
        acc, panel, lanes = memory["tile"], memory["panel"], self.lanes
        vectors, pitch = tile.columns // lanes, tile.columns + lanes
        number = self._var("i")

        def each(make: Callable[[Var, PrimExpr, list[PrimExpr]], Stmt]) -> Stmt:
            m, v, lane = self._var("m"), self._var("v"), self._var("lane")
            element: list[PrimExpr] = [m * vectors + v, lane]
            body = vector(lane, lanes, make(m, v * lanes + lane, element))
            body = For(v, 0, vectors, ForKind.UNROLLED, body)
            return For(m, 0, tile.rows, ForKind.UNROLLED, body)

        store, init = self.node.body, self.node.init
        assert isinstance(store, BufferStore), "a contraction is one store"
        assert isinstance(init, BufferStore), "a contraction has an init"
        loops: list[tuple[Var, int | PrimExpr, bool]] = []
        steps = self._steps(tile, loops)
        base, scope = self._flat(steps) * pitch, Scope()

        def row_of(m: PrimExpr) -> PrimExpr:
            row: PrimExpr = start + number * tile.rows + m
            past = self.outs % tile.rows or _height(tile, self.outs) % tile.rows
            ahead = not isinstance(m, Var)
            return Min(row, self._int(self.outs - 1)) if past or ahead else row

        weights = self._packed_weights(scope, start + number * tile.rows, {**sets, **steps})

        def add(m: Var, q: PrimExpr, element: list[PrimExpr]) -> Stmt:
            loads: dict[Buffer, PrimExpr] = {
                self.found.output: BufferLoad(acc, element),
                self.found.rhs.buffer: BufferLoad(panel, [base + q]),
            }
            if weights is not None:
                loads[self.found.lhs.buffer] = weights(m)
            values = {**sets, **steps, self.filters.var: row_of(m)}
            return BufferStore(acc, Loads(loads, values).visit_expr(store.value), element)

        body, at = each(add), self._fetching_loop(loops)
        for number_of, (var, extent, unrolled) in reversed([*enumerate(loops)]):
            if number_of == at:
                later = [inner for inner, *_ in loops[at + 1 :]]
                first = {inner: self._int(0) for inner in later}
                ahead = self._fetched(tile, {**sets, **steps}, lambda m: row_of(m + tile.rows))
                body = SeqStmt.flatten([substitute(ahead, first), body])
            body = For(var, 0, extent, ForKind.UNROLLED if unrolled else ForKind.SERIAL, body)
        sums, row = memory["sums"], kept + number * tile.rows
        keep = each(lambda m, q, element: BufferStore(
            sums, BufferLoad(acc, element), [row + m, q]))  # fmt: skip
        begin = each(lambda m, q, element: BufferStore(acc, init.value, element))
        if self.parts > 1:
            begin = each(lambda m, q, element: BufferStore(
                acc, BufferLoad(sums, [row + m, q]), element))  # fmt: skip
        straight = self._straight(p, acc, sets, tile, row_of)
        scope.add(SeqStmt([begin, body, IfThenElse(self._if_last(p.straight), straight, keep)]))
        count = (filters + (tile.rows - 1)) // tile.rows
        return For(number, 0, count, ForKind.SERIAL, scope.stmt())

    def _packed_weights(
        self, scope: Scope, first: PrimExpr, steps: Mapping[Var, PrimExpr]
    ) -> Callable[[PrimExpr], PrimExpr] | None:
        """The weight of each row of a tile from the filter `first` on, where they are packed."""
        if not self.packed:
            return None
        weights = self.found.lhs
        panel = scope.let("of_panel", first // self.packed)
        within = scope.let("within", first % self.packed)
        middle = [substitute(index, steps) for index in weights.indices[1:-1]]
        return lambda m: BufferLoad(weights.buffer, [panel, *middle, within + m])

    def _if_last(self, condition: PrimExpr) -> PrimExpr:
        """The condition, and that this is the last part of the sums."""
        if self.parts == 1:
            return condition
        return logical_and(equal(self.number, self._int(self.parts - 1)), condition)

    def _fetching_loop(self, loops: Sequence[tuple[Var, int | PrimExpr, bool]]) -> int | None:
        """The loop whose steps take a line of each filter; None where a cache nearby has all."""
        if self.packed or self.met:  # one after another, which processors see
            return None
        every = math.prod(_known(iv) for iv in (*self.groups, self.filters, *self.form.k))
        if every * self.bits // 8 <= self.cpu.l2_bytes:
            return None
        sizes = [extent for _, extent, _ in loops if isinstance(extent, int)]
        nbytes = [math.prod(sizes[n + 1 :]) * self.bits // 8 for n in range(len(sizes))]
        return next((n for n, step in enumerate(nbytes) if step <= LINE), None)

    def _fetched(
        self, tile: Tile, values: Mapping[Var, PrimExpr], row_of: Callable[[PrimExpr], PrimExpr]
    ) -> Stmt:
        """The weights that the next tile of filters takes at this step come from memory now."""
        m, weights = self._var("m"), self.found.lhs
        at = {**values, self.filters.var: row_of(m)}
        load = BufferLoad(weights.buffer, [substitute(index, at) for index in weights.indices])
        fetch = Evaluate(builtin.prefetch(builtin.address_of(load)))
        return For(m, 0, tile.rows, ForKind.UNROLLED, fetch)

    def _straight(
        self, p: Panel, acc: Buffer, sets: Mapping[Var, PrimExpr], tile: Tile,
        row_of: Callable[[Var], PrimExpr],
    ) -> Stmt:  # fmt: skip
        """The epilogue of a tile whose vectors are each within a row."""
        m, scope = self._var("m"), Scope()
        stores: list[Stmt] = []
        filters = scope.let("o", row_of(m))
        for v, (row, column) in enumerate(p.starts[: tile.columns // self.lanes]):
            lane, inner = self._var("lane"), Scope()
            at = {**sets, **digits_of(inner, row, self.rows), self.filters.var: filters}
            at |= {iv.var: self._int(0) for iv in self.form.outer if iv.var not in at}
            element = [m * (tile.columns // self.lanes) + v, lane]
            store = self._stored({**at, self.along.iv.var: column + lane}, BufferLoad(acc, element))
            inner.add(vector(lane, self.lanes, store))
            stores.append(inner.stmt())
        scope.add(SeqStmt.flatten(stores))
        return For(m, 0, tile.rows, ForKind.UNROLLED, scope.stmt())

    def _steps(
        self, tile: Tile, loops: list[tuple[Var, int | PrimExpr, bool]]
    ) -> dict[Var, PrimExpr]:
        """Loops over the steps of the sum, some of the innermost unrolled."""
        found: dict[Var, PrimExpr] = {}
        for iv, (first, count) in self.met.items():
            var = self._var(iv.var.name)
            found[iv.var] = first + var
            loops.append((var, count, False))
        others = [iv for iv in self.form.k if iv not in self.met]
        moving = [iv for iv in others if self._size(iv) > 1]
        for iv in others:
            size = self._size(iv)
            if size == 1:
                found[iv.var] = self._origin(iv)
                continue
            var = self._var(iv.var.name)
            found[iv.var] = self._origin(iv) + var
            if iv is not moving[-1] or size <= UNROLLED:
                loops.append((var, size, iv is moving[-1]))
                continue
            most = STEPS if tile.accumulators() <= 16 else 2
            times = max(n for n in range(1, most + 1) if size % n == 0)
            loops.append((var, size // times, False))
            if times > 1:
                within = self._var(iv.var.name)
                loops.append((within, times, True))
                found[iv.var] = self._origin(iv) + var * times + within
        return found

    def _output(
        self, p: Panel, memory: Mapping[str, Buffer], sets: Mapping[Var, PrimExpr],
        start: Var, filters: Var, kept: Var,
    ) -> Stmt:  # fmt: skip
        """The epilogue for all elements of the panel."""
        line, m, scope = self._var("r"), self._var("m"), Scope()
        row = scope.let("row", p.first_row + line)
        values: dict[Var, PrimExpr] = {**sets, **digits_of(scope, row, self.rows)}
        own = self._line(p, line, scope)
        inner = Scope()
        values[self.filters.var] = inner.let("o", start + m)
        values |= {iv.var: self._int(0) for iv in self.form.outer if iv.var not in values}

        def piece(x: PrimExpr, lane: PrimExpr) -> Stmt:
            column = x * self.lanes + lane
            at = {**values, self.along.iv.var: own.first_column + column}
            total = BufferLoad(memory["sums"], [kept + m, own.begin + column])
            return self._stored(at, total)

        x, lane, lane2 = self._var("x"), self._var("lane"), self._var("lane")
        whole = inner.let("whole", own.length // self.lanes)
        inner.add(For(x, 0, whole, ForKind.SERIAL, vector(lane, self.lanes, piece(x, lane))))
        partial = IfThenElse(less(whole * self.lanes + lane2, own.length), piece(whole, lane2))
        some = less(whole * self.lanes, own.length)
        inner.add(IfThenElse(some, vector(lane2, self.lanes, partial)))
        scope.add(For(m, 0, filters, ForKind.SERIAL, inner.stmt()))
        return For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())

    def _stored(self, values: Mapping[Var, PrimExpr], total: PrimExpr) -> Stmt:
        if self.last is None:
            indices = [substitute(index, values) for index in self.found.store]
            return BufferStore(self.found.output, total, indices)
        node: Block = self.sch.get(self.last.block)
        assert isinstance(node.body, BufferStore), "looked at before"
        at = {var: substitute(value, values) for var, value in self.last.variables.items()}
        return Loads({self.found.output: total}, at).visit_stmt(node.body)

    # --- numbers ---

    def _int(self, value: int) -> IntImm:
        return IntImm(self.dtype, value)

    def _var(self, name: str) -> Var:
        return Var(name, self.dtype)

    def _product(self, ivs: Sequence[IterVar]) -> PrimExpr:
        total: PrimExpr = self._int(1)
        for iv in ivs:
            total = total * size_of(iv)
        return total

    def _chosen(self, vectors: Var, values: Sequence[int]) -> PrimExpr:
        """The value for a number of vectors."""
        found: PrimExpr = self._int(values[-1])
        for count in range(len(values) - 1, 0, -1):
            value = values[count - 1]
            found = Select(less(vectors, self._int(count + 1)), self._int(value), found)
        return found

    def _step(self, iv: IterVar, loops: list[tuple[int, Var]]) -> PrimExpr:
        """A loop over the steps of a variable, none where there is one."""
        if self._size(iv) == 1:
            return self._origin(iv)
        var = self._var(iv.var.name)
        loops.append((self._size(iv), var))
        return self._origin(iv) + var

    def _size(self, iv: IterVar) -> int:
        """Steps of a variable of the reduction, in a part of the sums."""
        return self.part if iv is self.form.k[0] else _known(iv)

    def _origin(self, iv: IterVar) -> PrimExpr:
        """The first step of the part."""
        whole = self.parts == 1 or iv is not self.form.k[0]
        return self._int(0) if whole else self.number * self.part

    def _flat(self, steps: Mapping[Var, PrimExpr]) -> PrimExpr:
        """The flat index of a step of the reduction, within its part."""
        total: PrimExpr = self._int(0)
        for iv in self.form.k:
            total = total * self._size(iv) + (steps[iv.var] - self._origin(iv))
        return total


def _guarded(condition: PrimExpr, load: PrimExpr) -> PrimExpr:
    zero = make_const(0, load.dtype)
    return Call(load.dtype, "tir.if_then_else", (condition, load, zero))


def around(
    loops: Sequence[tuple[int | PrimExpr, Var]], body: Stmt, *, unrolled: bool = False
) -> Stmt:
    """Loops around a statement, by their extents and variables."""
    kind = ForKind.UNROLLED if unrolled else ForKind.SERIAL
    for size, var in reversed(loops):
        body = For(var, 0, size, kind, body)
    return body


def _height(tile: Tile, outs: int) -> int:
    """Filters whose sums are kept: whole tiles of them."""
    return max(1, min(FILTERS // tile.rows, -(-outs // tile.rows))) * tile.rows


def _known(iv: IterVar) -> int:
    size = extent_of([iv])
    assert size is not None, "filters and windows are of known sizes"
    return size
