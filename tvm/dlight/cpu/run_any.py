"""Convolutions with windows of one element over runs of any length, output channels along vectors.

    for some images, or a part of the places of one:            # parallel
        P[c, e] = X[n, c, e]                                    # in the second cache
        for jb in blocks of NR filters:
            for e in places, R at a time:                       # the last ones end with the run
                acc[R, NR] = 0                                  # vector registers
                for c: acc[i, :] += P[c, e + i] * W_packed[jb, c, :]
                S[:, e + i, :] = acc[i, :]
            C[n, jb, e] = epilogue(S[e, :])                     # turned back, see `turned_runs`

As `run_conv` for known sizes. Panels of columns (`conv_any`) need no turning, which is little
beside long sums, but leave lanes empty at the end of the last panel, which is much of small planes:
of 7 x 7 they take four vectors of 16, and here the tile of the fewest steps. How many places, of
how many images, are taken at a time, and how many of them make a tile, the call decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.expr import BufferLoad, IntImm, Max, Min, Select, Var, make_const
from tvm.tir.functor import substitute
from tvm.tir.op import builtin
from tvm.tir.op.arith import is_zero, less, less_equal, logical_and
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

from .access import extent, has_size, size_of
from .any_size import UNIT, Loads, Plan, Scope, copied_row, digits_of, one_of, opaque, vector
from .columns import one_run
from .contraction import MatrixForm
from .conv_any import AnySize
from .direct_any import SHARE, SHORTEST, find_packed
from .direct_conv import TRANSPOSE
from .fused import epilogue_of
from .run_conv import tile_time
from .tiles import MAX_VECTORS, Tile, tile_cost
from .turned_runs import Turned
from .weights import free_buffers, pack

TILES: Final = (1, 2, 4, 6, 8, 10, 12, 13, 14)  # places that there is code for, and the most
LEAST: Final = 32  # channels that are summed: less is not worth turning results
# How much faster panels of columns are than `tile_cost` says, beside `tile_time`; fitted to planes
# of 7x7 to 56x56 with 32 to 672 channels.
PANELS: Final = 0.92


def run_any(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel
) -> RunOrPanels | None:
    """The loops of a product whose weights are packed; None for others, which stay."""
    lanes = cpu.lanes(found.output.dtype.bits)
    if len(form.m) != 1 or len(form.n) != 1 or not one_run(sch.get(block), form, found.rhs):
        return None
    dtypes = {str(b.dtype) for b in (found.output, found.lhs.buffer, found.rhs.buffer)}
    if len(dtypes) > 1 or not found.output.dtype.is_float or found.output.dtype.bits != 32:
        return None
    if lanes & (lanes - 1) or not SHORTEST <= lanes <= cpu.vector_registers // 2:
        return None
    if found.lhs.buffer not in free_buffers(sch) or found.store[-1] is not form.n[0].var:
        return None
    if not all(isinstance(index, Var) for index in found.store):
        return None
    if not all(isinstance(index, Var) or is_zero(index) for index in found.lhs.indices):
        return None
    deep = [iv for iv in form.k if not has_size(iv, 1)]
    outs = extent(form.m[0]) or 0
    if len(deep) != 1 or outs % lanes or not outs or (extent(deep[0]) or 0) < LEAST:
        return None
    if any(iv.var in found.lhs.indices and not has_size(iv, 1) for iv in form.outer):
        return None
    best = min(_tiles(cpu, lanes, outs), key=lambda tile: tile_time(cpu, tile))
    panel = sch.cache_read(block, found.lhs.read_index, "global")
    pack(sch, panel, [False] * len(found.lhs.indices),
         list(found.lhs.indices).index(form.m[0].var), best.columns)  # fmt: skip
    packed = find_packed(sch, block, found.rhs.buffer)
    runs = RunAny(sch, block, found, form, cpu, packed, best)
    again = find_contraction(sch.get(block))
    assert again is not None, "a contraction stays one"
    return RunOrPanels(runs, AnySize(sch, block, again, form, cpu, best.columns))


def _tiles(cpu: CpuModel, lanes: int, outs: int) -> list[Tile]:
    """Tiles of whole vectors of filters, and as many places as there are registers for."""
    found = []
    for vectors in range(1, MAX_VECTORS + 1):
        most = min(TILES[-1], (cpu.vector_registers - 1 - vectors) // vectors)
        if outs % (vectors * lanes) == 0 and most >= 1:
            found.append(Tile(most, vectors * lanes, 1, lanes))
    return found


@dataclass(frozen=True)
class Cut:
    """How the places of a call are cut: parts of an image each, or some whole images."""

    length: PrimExpr  # of an image
    images: PrimExpr
    parts: PrimExpr  # of an image
    part: PrimExpr  # places of one
    groups: PrimExpr
    group: PrimExpr  # images of one
    tile: PrimExpr  # places of a tile


class RunAny(Turned):
    """Makes the loops of one product."""

    def __init__(
        self, sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel,
        packed: BufferLoad, best: Tile,
    ) -> None:  # fmt: skip
        (along,), (channel,) = form.n, form.m
        store = sch.get(block).body
        super().__init__(store, along, channel, best.lanes, cpu)
        self.sch, self.node, self.found, self.packed, self.best = (
            sch, sch.get(block), found, packed, best
        )  # fmt: skip
        self.along, self.outer = along, form.outer
        (self.deep,) = (iv for iv in form.k if not has_size(iv, 1))
        self.once = [iv for iv in form.k if iv is not self.deep]
        self.last = epilogue_of(sch, block, found.output, found.store)
        self.gone = [block, *([] if self.last is None else [self.last.block])]
        self.depth, self.vectors = extent(self.deep) or 1, best.columns // best.lanes
        self.blocks = (extent(channel) or 1) // best.columns
        self.sizes = sorted({*(size for size in TILES if size < best.rows), best.rows})
        nbytes, lanes = found.output.dtype.bits // 8, best.lanes
        self.room = cpu.l2_bytes // SHARE // nbytes  # elements of the plane
        self.places = max(lanes, min(2 * cpu.l1d_bytes // (best.columns * nbytes),
                                     self.room // self.depth))  # fmt: skip
        pitch = self.places + 1
        beyond = best.rows + lanes  # read by tiles and vectors that end behind the last place
        self.plane = decl_buffer((self._int(pitch * self.depth + beyond),), self.kind, "plane")
        self.pitch = self.places + beyond  # of a vector of filters in the results
        self.results = decl_buffer(
            (self._int(self.pitch * best.columns),), self.kind, "results"
        )
        self.sums = decl_buffer(
            (self._int(best.rows * self.vectors), self._int(lanes)), self.kind, "sums",
            scope="local",
        )  # fmt: skip

    def reason(self) -> str:
        """The schedule's reason."""
        return (
            f"{self.best.rows}x{self.best.columns} tile, channels along vectors, "
            "runs of any length in the fewest steps"
        )

    def loops(self, plan: Plan, cut: Cut) -> Stmt:
        """The product, cut in a way that the plan holds."""
        parts, part, group, images = cut.parts, cut.part, cut.group, cut.images
        tasks = plan.keep("tasks", cut.groups * parts)
        cores = self.cpu.cores
        shares = Select(less(tasks, self._int(cores)), self._int(min(cores, self.blocks)),
                        self._int(1))  # fmt: skip
        split = plan.keep("split", shares)
        each = plan.keep("each", (self._int(self.blocks) + split - 1) // split)
        task, scope = self._var("task"), Scope()
        number = scope.let("number", task // split)
        block = scope.let("first", task % split * each)
        count = scope.let("count", Max(Min(each, self._int(self.blocks) - block), self._int(0)))
        first = scope.let("image", number // parts * group)
        some = scope.let("images", Min(group, images - first))
        start = scope.let("start", number % parts * part)
        length = scope.let("length", Min(part, cut.length - start))
        places = scope.let("places", some * length)
        pitch = scope.let("pitch", places + 1 - places % 2)  # rows in all lines of a cache
        scope.add(self._copied(first, some, start, length, pitch))
        number, inner = self._var("b"), Scope()
        jb = inner.let("block", block + number)
        after = inner.let("after", Min(jb + 1, self._int(self.blocks - 1)))
        inner.add(one_of(
            cut.tile, self.sizes, lambda size: self._sums(size, jb, after, places, pitch)
        ))  # fmt: skip
        image, v, back = self._var("n"), self._var("v"), Scope()
        at = digits_of(back, first + image, self.outer)
        back.add(For(v, 0, self.vectors, ForKind.SERIAL, self.turned_back(
            self.results, v * self.pitch + image * length,
            (jb * self.vectors + v) * self.lanes, at, start, length)))  # fmt: skip
        inner.add(For(image, 0, some, ForKind.SERIAL, back.stmt()))
        scope.add(For(number, 0, count, ForKind.SERIAL, inner.stmt()))
        memory = [self.plane, self.results, self.sums, self.square]
        body = opaque("run_part", scope.stmt(), memory, [], [])
        kind = ForKind.SERIAL if cores == 1 else ForKind.PARALLEL
        return For(task, 0, tasks * split, kind, body)

    def block(self, plan: Plan, body: Stmt) -> BlockRealize:
        """A statement as the block that computes the product, where there is one at all."""
        whole = plan.around(body)
        for iv in (*self.outer, self.along):
            if extent(iv) is None:
                whole = IfThenElse(less(self._int(0), size_of(iv)), whole)
        own = {self.sch.get(b).writes[0].buffer for b in self.gone[:-1]}
        taken = [r.buffer for b in self.gone for r in self.sch.get(b).reads]
        reads = [buffer for buffer in dict.fromkeys(taken) if buffer not in own]
        writes = [r.buffer for r in self.sch.get(self.gone[-1]).writes]
        return opaque("run_or_panels", whole, [plan.memory], reads, writes)

    def cut(self, plan: Plan) -> tuple[Cut, PrimExpr]:
        """How a call is cut, and its modelled time for one channel and one vector of filters."""
        most = self._int(self.places)
        length = plan.keep("length", size_of(self.along))
        images: PrimExpr = self._int(1)
        for iv in self.outer:
            images = images * size_of(iv)
        images = plan.keep("images", images)
        parts = plan.keep("parts", (length + (most - 1)) // most)
        part = plan.keep("part", (length + (parts - 1)) // parts)
        fit = plan.keep("fit", Max(Min(images, most // part), self._int(1)))
        groups = plan.keep("groups", (images + (fit - 1)) // fit)
        group = plan.keep("group", (images + (groups - 1)) // groups)
        places = plan.keep("places", group * part)
        best = [plan.slot("time"), plan.slot("tile")]
        for size in self.sizes:
            one = Tile(size, self.best.columns, 1, self.lanes)
            tiles = (places + (size - 1)) // size
            time = tiles * round(UNIT * size * tile_time(self.cpu, one))
            better = logical_and(less_equal(self._int(size), places), less(time, plan.at(best[0])))
            plan.put(best, [time, self._int(size)], None if size == 1 else better)
        tile = plan.read("tile", best[1])
        turn = UNIT * TRANSPOSE * self.lanes * self.cpu.fma_ports / self.depth
        # two at least, as a factor of one leaves no trace: the same code for any depth is shared
        time = plan.at(best[0]) * (groups * parts) + images * length * max(round(turn), 2)
        return Cut(length, images, parts, part, groups, group, tile), time

    def _copied(
        self, first: PrimExpr, some: PrimExpr, start: PrimExpr, length: PrimExpr, pitch: PrimExpr
    ) -> Stmt:
        """A part of the places of some images, of all channels, side by side."""
        deep, image, scope = self._var("c"), self._var("n"), Scope()
        at = digits_of(scope, first + image, self.outer)

        def value(i: PrimExpr) -> PrimExpr:
            values = {**at, **self._zeros(), self.deep.var: deep, self.along.var: start + i}
            return BufferLoad(
                self.found.rhs.buffer, [substitute(x, values) for x in self.found.rhs.indices]
            )

        target = deep * pitch + image * length
        zero = make_const(0, self.store.buffer.dtype)
        scope.add(copied_row(self.plane, target, length, self.lanes, value, zero))
        body = For(image, 0, some, ForKind.SERIAL, scope.stmt())
        return For(deep, 0, self.depth, ForKind.SERIAL, body)

    def _zeros(self) -> dict[Var, PrimExpr]:
        return {iv.var: self._int(0) for iv in self.once}

    def _sums(
        self, size: int, jb: Var, after: Var, places: PrimExpr, pitch: PrimExpr
    ) -> Stmt:
        """The sums of all places for a block of filters before another, in tiles of one size."""
        number, scope, lanes = self._var("t"), Scope(), self.lanes
        x = scope.let("x", Max(Min(number * size, places - size), self._int(0)))
        init, store = self.node.init, self.node.body
        assert isinstance(init, BufferStore), "a reduction has an init"
        assert isinstance(store, BufferStore), "a contraction is one store"

        def each(make: Callable[[PrimExpr, PrimExpr, Var], Stmt]) -> Stmt:
            i, v, lane = self._var("i"), self._var("v"), self._var("lane")
            body = For(v, 0, self.vectors, ForKind.UNROLLED, vector(lane, lanes, make(i, v, lane)))
            return For(i, 0, size, ForKind.UNROLLED, body)

        def held(i: PrimExpr, v: PrimExpr, lane: PrimExpr) -> list[PrimExpr]:
            return [i * self.vectors + v, lane]

        deep = self._var("c")
        steps = {**self._zeros(), self.deep.var: deep}
        middle = [substitute(index, steps) for index in self.packed.indices[1:-1]]

        def add(i: PrimExpr, v: PrimExpr, lane: Var) -> Stmt:
            element = held(i, v, lane)
            loads: dict[Buffer, PrimExpr] = {
                self.found.output: BufferLoad(self.sums, element),
                self.found.rhs.buffer: BufferLoad(self.plane, [deep * pitch + x + i]),
                self.packed.buffer: BufferLoad(self.packed.buffer, [jb, *middle, v * lanes + lane]),
            }
            return BufferStore(self.sums, Loads(loads, {}).visit_expr(store.value), element)

        # meanwhile a line of the next panel comes nearer, at each step; the tiles take it in turns
        line = deep * self.lanes + number % self.vectors * (self.depth * self.lanes)
        ahead = self._fetched(after, line)
        scope.add(SeqStmt([
            each(lambda i, v, lane: BufferStore(self.sums, init.value, held(i, v, lane))),
            For(deep, 0, self.depth, ForKind.SERIAL, SeqStmt.flatten([ahead, each(add)])),
            each(lambda i, v, lane: BufferStore(
                self.results, BufferLoad(self.sums, held(i, v, lane)),
                [(v * self.pitch + x + i) * lanes + lane])),
        ]))  # fmt: skip
        return For(number, 0, (places + (size - 1)) // size, ForKind.SERIAL, scope.stmt())

    def _fetched(self, panel: PrimExpr, element: PrimExpr) -> Stmt:
        """A line of a panel of weights comes from memory now."""
        weights = self.packed.buffer
        once = [self._int(0) for _ in weights.shape[2:-1]]
        place = [panel, element // self.best.columns, *once, element % self.best.columns]
        return Evaluate(builtin.prefetch(builtin.address_of(BufferLoad(weights, place))))

    def _stored(
        self, values: Mapping[Var, PrimExpr], place: PrimExpr, total: PrimExpr
    ) -> Stmt:
        given = {**values, self.along.var: place}
        given |= {iv.var: self._int(0) for iv in self.outer if iv.var not in given}
        if self.last is None:
            indices = [substitute(index, given) for index in self.found.store]
            return BufferStore(self.found.output, total, indices)
        node: Block = self.sch.get(self.last.block)
        at = {var: substitute(value, given) for var, value in self.last.variables.items()}
        return Loads({self.found.output: total}, at).visit_stmt(node.body)


class RunOrPanels:
    """One product in both forms, of which the call takes the faster one."""

    def __init__(self, runs: RunAny, panels: AnySize) -> None:
        self.runs, self.panels, self.gone = runs, panels, runs.gone

    def reason(self) -> str:
        """The schedule's reason."""
        return f"{self.runs.reason()}; long ones: {self.panels.reason()}"

    def nest(self) -> BlockRealize:
        """The whole product as one block."""
        plan = Plan(str(self.runs.dtype))
        cut, time = self.runs.cut(plan)
        fewer = less(time, self._time_of_panels(plan, cut.images * cut.length))
        both = IfThenElse(fewer, self.runs.loops(plan, cut), self.panels.nest())
        return self.runs.block(plan, both)

    def _time_of_panels(self, plan: Plan, places: PrimExpr) -> PrimExpr:
        """The time that `RunAny.cut` gives, of panels of columns as even as they can be."""
        lanes, cpu, tiles = self.runs.lanes, self.runs.cpu, self.panels.tiles
        costs = [round(UNIT * PANELS * tile.columns * tile_cost(cpu, tile)) for tile in tiles]
        vectors = plan.keep("vectors", (places + (lanes - 1)) // lanes)
        panels = plan.keep("panels", (vectors + (len(tiles) - 1)) // len(tiles))
        fewer = plan.keep("fewer", vectors // panels)
        wider = vectors - panels * fewer

        def cost(count: PrimExpr) -> PrimExpr:
            found: PrimExpr = IntImm(count.dtype, costs[-1])
            for size in range(len(costs) - 1, 0, -1):
                value = IntImm(count.dtype, costs[size - 1])
                found = Select(less(count, IntImm(count.dtype, size + 1)), value, found)
            return found

        return (panels - wider) * cost(fewer) + wider * cost(fewer + 1)
