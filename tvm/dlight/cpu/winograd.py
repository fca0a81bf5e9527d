"""Winograd's convolution over panels of tiles: `topi.nn.winograd_panels` tells the stages.

    for p, c:                                  # parallel
        padded, rows = ...                     # of one channel of one panel: in the first cache
        V[p, :, :, c] = tiles                  # vectors along the tiles of a row
    for p, b:                                  # parallel; p outside, so that V[p] stays in a cache
        for e, f:
            acc[M, Q] = 0                      # vector registers
            for c: acc[m, :] += U[b, e, f, c, m] * V[p, e, f, c, :]
        for m: pairs = ...
        for m, row, y, x: B = epilogue(sum of pairs)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.dlight.analysis.contraction import find_contraction
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Call, IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.op.arith import is_zero
from tvm.tir.schedule import BlockRV, LoopRV, Schedule
from tvm.tir.stmt import Block, BufferStore
from tvm.tir.winograd import KEY, PADDING, SPAN, TILE

from .access import is_unconditional
from .any_size import replaced
from .base import CPUScheduleRule, root_blocks, with_reason
from .cost import flops_us, threads_for
from .general import Unscheduled, inline_epilogues
from .planes import is_choice
from .weights import fetch_panels
from .winograd_any import AnySize, Shape, output_variables

STAGES: Final = ("rows", "tiles", "products", "pairs")


class Winograd(CPUScheduleRule):
    """Schedules functions with the stages of Winograd's convolution."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None for other functions."""
        sch = open_schedule(func)
        if _stages(sch) is None:
            return None
        blocks = root_blocks(sch)
        output = next(i for i, block in enumerate(blocks) if _stage(sch, block) == "output")
        inline_epilogues(sch, blocks[output:])
        stages = _stages(sch)
        assert stages is not None, "what comes after the output was inlined"
        users = sch.get_consumers(stages["pairs"])
        if len(users) != 1:
            return None
        if not _is_known(sch.get(stages["products"]).writes[0].buffer.shape):
            found = _any_size(sch, stages, users[0], target.cpu)
            return _apart(func, target.cpu) if found is None else found
        unscheduled = Unscheduled(sch)
        words = _Nest(sch, stages, users[0], target.cpu).schedule(unscheduled)
        unscheduled.schedule(target.cpu)
        return with_reason(sch, words)


def _stage(sch: Schedule, block: BlockRV) -> str:
    node: Block = sch.get(block)
    return str(node.annotations.get(KEY) or "")


def _stages(sch: Schedule) -> dict[str, BlockRV] | None:
    """The blocks of the stages by name, or None."""
    found = {_stage(sch, block): block for block in root_blocks(sch)}
    return found if set(STAGES) <= set(found) else None


def _is_known(shape: Sequence[PrimExpr]) -> bool:
    return all(isinstance(extent, IntImm) for extent in shape)


def _apart(func: PrimFunc, cpu: CpuModel) -> Schedule | None:
    """Schedules the consumers separately: they do not read the result element by element."""
    sch = open_schedule(func)
    stages = _stages(sch)
    return None if stages is None else _any_size(sch, stages, stages["output"], cpu)


def _any_size(
    sch: Schedule, stages: dict[str, BlockRV], last: BlockRV, cpu: CpuModel
) -> Schedule | None:
    """The stages as one block that finds its panels when it runs; what else there is, as usual."""
    pad = sch.get_producers(stages["rows"])
    final: Block = sch.get(last)
    pairs = sch.get(stages["pairs"]).writes[0].buffer
    names = output_variables(final, pairs)
    source = _padded(sch.get(pad[0])) if len(pad) == 1 else None
    if names is None or source is None or not is_unconditional(sch, last):
        return None
    rows: Block = sch.get(stages["rows"])
    products: Block = sch.get(stages["products"])
    found = find_contraction(products)
    assert found is not None, "products are summed"
    tiles = sch.get(stages["tiles"]).writes[0].buffer
    weights = found.rhs if found.lhs.buffer is tiles else found.lhs
    extents = {iv.var: iv.dom.extent for iv in final.iter_vars if iv.dom is not None}
    channels = (source.shape[1], extents[names[1]], weights.buffer.shape[-1])
    if not _is_known(channels):
        return None  # weights are known, and the channels of the image only when it runs
    sizes = rows.annotations[PADDING]
    assert isinstance(sizes, Sequence), "rows above the plane, columns to its left"
    top, left = (int(str(size)) for size in sizes)
    shape = Shape(
        _size(source.shape[1]), _size(extents[names[1]]), _size(weights.buffer.shape[-1]),
        source.shape[0], source.shape[2], source.shape[3], extents[names[2]], extents[names[3]],
        top, left,
    )  # fmt: skip
    nest = AnySize(shape, source, weights.buffer, cpu, final, pairs)
    stages_at_once = nest.nest()
    made = replaced(sch, [*pad, *(stages[name] for name in STAGES), last], stages_at_once)
    unscheduled = Unscheduled(made)
    for block in root_blocks(made):
        if made.get(block) is stages_at_once.block:
            unscheduled.done(block)
    unscheduled.schedule(cpu)
    return with_reason(made, nest.reason())


class _Nest:
    """The loops of one convolution."""

    def __init__(
        self, sch: Schedule, stages: dict[str, BlockRV], last: BlockRV, cpu: CpuModel
    ) -> None:
        self.sch, self.stages, self.last, self.cpu = sch, stages, last, cpu
        products: Block = sch.get(stages["products"])
        sizes = [_size(d) for d in products.writes[0].buffer.shape]
        *outer, self.blocks, _, _, self.filters, self.lanes = sizes
        self.panels = outer[0] * outer[1]
        self.channels = _size(products.iter_vars[-1].dom.extent)  # type: ignore[union-attr]
        self.bits = products.writes[0].buffer.dtype.bits

    def schedule(self, unscheduled: Unscheduled) -> str:
        """Schedule all stages; returns the reason."""
        work = 2.0 * self.panels * self.blocks * SPAN**2 * self.filters * self.lanes
        threads = threads_for(self.cpu, flops_us(self.cpu, work * self.channels, self.bits))
        self._tiles(threads)
        unscheduled.done(self.stages["tiles"])
        panel = self._output(threads)
        self._pairs(panel)
        self._products(unscheduled, panel)
        weights = self.blocks * SPAN**2 * self.channels * self.filters * self.bits // 8
        if weights > self.cpu.l2_bytes // 2:
            fetch_panels(self.sch, panel, 1)
        unscheduled.done(self.last)
        spread = "serial" if threads == 1 else f"{threads} threads"
        vectors = -(-self.lanes // self.cpu.lanes(self.bits))
        return (
            f"Winograd's F(4x4, 3x3): panels of {self.lanes} tiles, {self.filters} filters by "
            f"{vectors} vectors in registers, {spread}"
        )

    def _tiles(self, threads: int) -> None:
        """The input of all panels, channel by channel."""
        sch, block = self.sch, self.stages["tiles"]
        pads = sch.get_producers(self.stages["rows"])
        n, p, e, f, c, r, x = sch.get_loops(block)
        sch.reorder(n, p, c, r, e, f, x)
        sch.compute_at(self.stages["rows"], r, preserve_unit_loops=True)
        for pad in pads:
            sch.compute_at(pad, c, preserve_unit_loops=True)
            self._vectorize(sch.get_loops(pad)[-1])
        self._vectorize(x)
        sch.unroll(f)
        loops = sch.get_loops(self.stages["rows"])
        self._vectorize(loops[-1])
        sch.unroll(loops[-2])
        both = sch.fuse(n, p, c)
        if threads > 1:
            sch.parallel(both)

    def _across(self) -> int:
        """Tiles of a row of the image."""
        rows = self.sch.get(self.stages["rows"]).writes[0].buffer.shape
        return (_size(rows[-1]) - 2) // TILE

    def _output(self, threads: int) -> LoopRV:
        """The loops of the result; returns the one over panels and blocks of filters."""
        sch = self.sch
        n, k, y, x = sch.get_loops(self.last)
        rows = self.lanes // self._across()
        b, m = sch.split(k, factors=[self.blocks, self.filters])
        p, r, i = sch.split(y, factors=[None, rows, TILE])
        sch.reorder(n, p, b, m, r, i, x)
        panel = sch.fuse(n, p, b)
        self._vectorize(x)
        sch.unroll(i)
        if threads > 1:
            sch.parallel(panel)
        return panel

    def _products(self, unscheduled: Unscheduled, panel: LoopRV) -> None:
        """Sums in registers, over all channels at once."""
        sch, block = self.sch, self.stages["products"]
        sch.compute_at(block, panel, preserve_unit_loops=True)
        back = sch.cache_write(block, 0, "local")
        e, f, m, q, c = sch.get_loops(block)[-5:]
        lanes = min(self.cpu.lanes(self.bits), self.lanes)
        qo, qi = sch.split(q, factors=[None, lanes])
        sch.reorder(e, f, c, m, qo, qi)
        sch.reverse_compute_at(back, f)
        sch.vectorize(qi)
        for loop in (qo, m):
            sch.unroll(loop)
        below = sch.get_loops(back)[-2:]
        outer, inner = sch.split(below[1], factors=[None, lanes])
        sch.vectorize(inner)
        for loop in (outer, below[0]):
            sch.unroll(loop)
        unscheduled.pending.append((block, c))

    def _pairs(self, panel: LoopRV) -> None:
        sch, block = self.sch, self.stages["pairs"]
        sch.compute_at(block, panel, preserve_unit_loops=True)
        i, g, m, q = sch.get_loops(block)[-4:]
        sch.reorder(m, q, i, g)
        for loop in (i, g):
            sch.unroll(loop)
        self._vectorize(q)

    def _vectorize(self, loop: LoopRV) -> None:
        size = _size(self.sch.get(loop).extent)
        lanes = self.cpu.lanes(self.bits)
        width = lanes if size >= lanes else 1 << (size - 1).bit_length()
        self.sch.vectorize(
            loop if size == width else self.sch.split(loop, factors=[None, width])[-1]
        )


def _size(extent: object) -> int:
    assert isinstance(extent, IntImm), "stages of known sizes only"
    return extent.value


def _padded(node: Block) -> Buffer | None:
    """What a block makes a border of zeros around; None for other blocks."""
    store = node.body
    value = store.value if isinstance(store, BufferStore) else None
    load = value.args[1] if is_choice(value) and isinstance(value, Call) else value
    zero = not isinstance(value, Call) or is_zero(value.args[2])
    return load.buffer if isinstance(load, BufferLoad) and zero else None
