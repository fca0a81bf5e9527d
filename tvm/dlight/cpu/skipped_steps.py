"""Convolutions over planes of any size whose windows reach far past the border: dilated ones.

    for p in panels:
        ry0, ry1 = the rows of the window that meet the plane, for the rows of the panel
        rx0, rx1 = the same along its columns
        for ry in ry0..ry1, rx in rx0..rx1, c: P[c, ry, rx, :] = ...       # as in `conv_any`
        for b: for ry in ry0..ry1, rx in rx0..rx1, c: acc += W[c, ry, rx] * P[c, ry, rx, :]

A window of 3x3 elements that are 24 apart, over a plane of 14x14 within a border of 24, meets the
plane with its middle alone: all else adds products with zeros. For results first..last along an
axis, step t of the window reads first * step + t * scale - before .. last * step + t * scale -
before of the plane; which steps have some of that inside of it, each panel finds for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, IterVar, Max, Min, Select, Var
from tvm.tir.functor import vars_in
from tvm.tir.op.arith import is_zero, less, less_equal, logical_and
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block, BufferStore, For, ForKind, IfThenElse, Stmt

from .access import extent, has_size, size_of
from .any_size import Scope, copied_row, digits_of, filled
from .columns import columns_of
from .contraction import MatrixForm
from .conv_any import AnySize, Panel, around, tiles_for
from .fused import padding_of
from .planes import plane_of
from .tiles import tile_cost
from .weights import free_buffers, pack
from .window_axes import Axis, Source, axis_of, read_of, source_of

WORTH: Final = 0.7  # of the products are left, at most, where sizes are known
# Elements between steps from which on skipping is worth more than channels along vectors, as
# `direct_any` has them. Measured on planes of 14x14 to 56x56 with 64 to 960 channels.
FAR: Final = 6
FEWEST: Final = 4  # filters of a panel of packed weights
WIDEST: Final = 32


@dataclass(frozen=True)
class WideWindow:
    """A window whose steps are some elements apart, over a plane within a border of zeros."""

    axes: tuple[Axis, ...]  # steps along the last one are of one element
    source: Source
    first: bool  # whether skipping is tried ahead of other loops


def wide_window(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel
) -> WideWindow | None:
    """The window of a dilated convolution within a border of zeros; None for others.

    Where sizes are known, None as well where most steps meet the plane.
    """
    node: Block = sch.get(block)
    plane, columns = plane_of(node), columns_of(node, form, found.rhs)
    pad = padding_of(sch, block, found.rhs.buffer)
    if plane is None or columns is None or pad is None or len(form.m) != 1:
        return None
    if plane.buffer is not found.rhs.buffer or not isinstance(node.body, BufferStore):
        return None
    reducing = [iv for iv in node.iter_vars if iv.iter_type == IterVar.CommReduce]
    axes = [axis_of(plane, column.iv, reducing) for column in columns]
    known = tuple(axis for axis in axes if axis is not None)
    if len(known) < len(axes) or known[-1].dim != len(plane.indices) - 1 or known[-1].step != 1:
        return None
    source = source_of(sch, pad, read_of(node.body.value, plane), plane, known)
    if source is None or not is_zero(source.other):
        return None
    # a sequence, which has but one axis, is longer than windows are: nothing to skip
    several = [axis for axis in known[:-1] if len(axis.taps) > 1]
    borders = source.known_before()
    if borders is None:
        return None
    wide = [axis.scale for axis in several if axis.scale <= borders[axis]]
    far = max(wide, default=1)
    bits = found.output.dtype.bits
    room = len(tiles_for(cpu, bits, 1)) * cpu.lanes(bits)
    if far == 1 or _left(known, source, borders, room) > WORTH:
        return None
    first = far >= FAR and not _grouped(found, form)
    return WideWindow(known, source, first)


def _grouped(found: Contraction, form: MatrixForm) -> bool:
    """Whether there are weights for each of several groups."""
    weights = set(vars_in(*found.lhs.indices))
    return any(iv.var in weights and not has_size(iv, 1) for iv in form.outer)


def skipped_steps(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel,
    window: WideWindow,
) -> SkippedSteps:  # fmt: skip
    """The loops of a convolution with such a window; its weights are packed if they may be."""
    taps = {axis.tap.var for axis in window.axes if axis.tap is not None}
    packed = _packed(sch, block, found, form, cpu, taps)
    again = find_contraction(sch.get(block))
    assert again is not None, "a contraction stays one"
    return SkippedSteps(sch, block, again, form, cpu, packed, window.axes, window.source)


def _left(
    axes: Sequence[Axis], source: Source, borders: Mapping[Axis, int], columns: int
) -> float:
    """The share of the products that panels of so many columns take; 0 for unknown sizes."""
    left, inner = 1.0, 1
    for axis in reversed(axes):
        size, plane = extent(axis.iv), source.size(axis)
        if size is None or not isinstance(plane, IntImm):
            return 0.0
        lines = min(size, columns // inner + (axis is not axes[-1]))
        starts = range(size - lines + 1)
        met = 0
        for first in starts:
            before, last = borders[axis], first + lines - 1
            reads = [(first * axis.step + far, last * axis.step + far)
                     for far in (tap * axis.scale - before for tap in axis.taps)]  # fmt: skip
            met += sum(begin < plane.value and end >= 0 for begin, end in reads)
        left *= met / (len(starts) * len(axis.taps))
        inner *= size
    return left


def _packed(
    sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel,
    taps: set[Var],
) -> int:  # fmt: skip
    """Packs weights so that those of a step are one run; filters of a panel, 0 if they stay."""
    (filters,), indices = form.m, list(found.lhs.indices)
    outs = extent(filters) or 1
    widths = [n for n in range(FEWEST, min(outs, WIDEST) + 1) if outs % n == 0]
    if found.lhs.buffer not in free_buffers(sch) or not widths or filters.var not in indices:
        return 0
    if _grouped(found, form):
        return 0
    if not all(isinstance(index, Var) or is_zero(index) for index in indices):
        return 0

    def cost(width: int) -> float:
        tile = tiles_for(cpu, found.output.dtype.bits, outs, width)[-1]
        return tile_cost(cpu, tile, outs)

    best = min(reversed(widths), key=cost)
    panel = sch.cache_read(block, found.lhs.read_index, "global")
    ahead = [dim for dim, index in enumerate(indices) if index in taps]
    pack(sch, panel, [False] * len(indices), indices.index(filters.var), best, ahead)
    return best


class SkippedSteps(AnySize):
    """Makes the loops of one convolution; steps along a row are of one element."""

    def __init__(
        self, sch: Schedule, block: BlockRV, found: Contraction, form: MatrixForm, cpu: CpuModel,
        packed: int, axes: Sequence[Axis], source: Source,
    ) -> None:  # fmt: skip
        super().__init__(sch, block, found, form, cpu, packed)
        self.axes, self.source = axes, source
        self.has_line = False  # rows go to the panel straight on

    def reason(self) -> str:
        """The schedule's reason."""
        return f"{super().reason()}, without steps of the window that are outside of them"

    def _look(self, scope: Scope, p: Panel) -> None:
        """The steps along each axis that meet the plane for some result of the panel."""
        inner: PrimExpr = self._int(1)
        spans: dict[IterVar, tuple[PrimExpr, PrimExpr]] = {}
        one = less_equal(p.lines, self._int(1))
        spans[self.along.iv] = (
            Select(one, p.offset, self._int(0)),
            Select(one, p.offset + p.elements, p.across) - 1,
        )
        for iv in reversed(self.rows):
            begin = scope.let("row", p.first_row // inner)
            more = scope.let("more", (p.first_row + p.lines - 1) // inner - begin)
            first = scope.let("first", begin % size_of(iv))
            within = less(first + more, size_of(iv))
            last = Select(within, first + more, size_of(iv) - 1)
            spans[iv] = Select(within, first, self._int(0)), last
            inner = inner * size_of(iv)
        for axis in self.axes:
            if axis.tap is None:
                continue
            low, high = (scope.let("place", place * axis.step) for place in spans[axis.iv])
            before, zero = self.source.before[axis], self._int(0)
            missed = Max(before - high, zero) + (axis.scale - 1)
            step = scope.let("step", missed // axis.scale)
            beyond = Max(self.source.size(axis) + before - low + (axis.scale - 1), zero)
            end = Min(self._int(len(axis.taps)), beyond // axis.scale)
            self.met[axis.tap] = step, scope.let("steps", Max(end - step, zero))

    def _pack(self, p: Panel, memory: Mapping[str, Buffer], sets: Mapping[Var, PrimExpr]) -> Stmt:
        """Gathers what the steps that are taken read, row by row of the result."""
        line, scope, panel = self._var("r"), Scope(), memory["panel"]
        row = scope.let("row", p.first_row + line)
        values: dict[Var, PrimExpr] = {**sets, **digits_of(scope, row, self.rows)}
        own = self._line(p, line, scope)
        last = Select(less(line + 1, p.lines), own.length, p.lanes - own.begin)
        width, source, zero = scope.let("width", last), self.source, self._int(0)
        loops = [(count, self._var(tap.var.name)) for tap, (_, count) in self.met.items()]
        for (tap, (first, _)), (_, var) in zip(self.met.items(), loops):
            values[tap.var] = first + var
        inner, places = Scope(), dict[Axis, PrimExpr]()
        inside = less(zero, self._int(1))
        for axis in self.axes:
            tap_at = self._int(0) if axis.tap is None else values[axis.tap.var]
            moved = tap_at * axis.scale - source.before[axis]
            if axis is self.axes[-1]:
                left = inner.let("left", own.first_column + moved)
                continue
            place = inner.let("place", values[axis.iv.var] * axis.step + moved)
            inside = logical_and(
                inside, logical_and(less_equal(zero, place), less(place, source.size(axis)))
            )
            places[axis] = place
        begin = inner.let("begin", Max(left, zero))
        inset = inner.let("inset", Min(begin - left, width))
        some = Min(left + width, source.size(self.axes[-1])) - begin
        length = inner.let("length", Select(inside, Max(some, zero), zero))
        end = inner.let("end", inset + length)
        deep: list[tuple[int, Var]] = []
        for iv in self.form.k:
            if iv not in self.met:
                values[iv.var] = self._step(iv, deep)
        channel = Scope()
        target = channel.let("at", self._flat(values) * p.pitch + own.begin)

        def value(i: PrimExpr) -> PrimExpr:
            return source.at(values, {**places, self.axes[-1]: begin + i})

        other = source.other
        copy = copied_row(panel, target + inset, length, self.lanes, value, other)
        channel.add(filled(panel, target, inset + (self.lanes - 1), self.lanes, other))
        channel.add(IfThenElse(less(zero, length), copy))
        rest = width - end + (self.lanes - 1)
        channel.add(filled(panel, target + end, rest, self.lanes, other))
        inner.add(around(deep, channel.stmt()))
        scope.add(around(loops, inner.stmt()))
        return For(line, 0, p.lines, ForKind.SERIAL, scope.stmt())
