"""Convolutions as matrix products: weights by columns of the input, gathered panel by panel.

    C[f, y, x] = sum over c, ry, rx of W[f, c, ry, rx] * X[c, y + ry, x + rx]

Rows are the output channels, columns the output positions (y, x), and (c, ry, rx) are summed. The
panel of columns is gathered from X by rows of the image, so its copies are vectors too; each
element gathered is used by all output channels. (Chellapilla et al., "High Performance
Convolutional Neural Networks for Document Processing", 2006, gather all of it at once.)
"""

from __future__ import annotations

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import vars_in, walk
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block, BlockRealize

from .access import is_unconditional
from .any_size import replaced
from .base import CPUScheduleRule, root_blocks, with_reason
from .channels_last import channels_last_form, channels_last_tile, schedule_channels_last
from .columns import columns_of, one_run
from .contraction import MatrixForm, extent_of, schedule_contraction
from .conv_any import AnySize
from .direct_any import DirectAny, direct_any
from .direct_conv import direct_form, schedule_direct
from .general import Unscheduled, inline_epilogues
from .group_windows import GroupWindows, group_windows
from .groups import split_groups
from .run_any import RunOrPanels, run_any
from .run_conv import run_form, schedule_run
from .runs import as_runs
from .skipped_steps import skipped_steps, wide_window
from .tiles import Tile


class Conv2D(CPUScheduleRule):
    """Schedules functions with a convolution (of any number of dimensions)."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is a convolution with shared weights."""
        plane = _one_plane(func)
        runs = None if plane is None else as_runs(func, plane)
        if runs is not None:
            made = _schedule(runs.func, target.cpu, plain=True)
            if made is not None:
                return runs.schedule_of_planes(made)
        return _schedule(func, target.cpu)


def _one_plane(func: PrimFunc) -> list[PrimExpr] | None:
    """The extents of the plane whose elements are all columns of the only convolution."""
    if not isinstance(func.body, BlockRealize):
        return None
    found: list[PrimExpr] | None = None
    for block in walk(func.body):
        form = _conv_form(block) if isinstance(block, Block) and block.init is not None else None
        if form is None:
            continue
        operand = find_contraction(block)
        if found is not None or operand is None or extent_of(form.n) is not None:
            return None
        if len(form.n) < 2 or not one_run(block, form, operand.rhs):
            return None
        found = [iv.dom.extent for iv in form.n if iv.dom is not None]
    return found


def _schedule(func: PrimFunc, cpu: CpuModel, *, plain: bool = False) -> Schedule | None:
    """The schedule; None if there is no convolution."""
    sch = open_schedule(func)
    for block in root_blocks(sch):
        split_groups(sch, block)
    blocks = root_blocks(sch)
    if not any(_conv_form(sch.get(b), plain) or _channels_last(sch, b, cpu) for b in blocks):
        return None
    inline_epilogues(sch)
    sch, made, reasons = _of_any_size(sch, cpu, plain)
    unscheduled = Unscheduled(sch)
    for block in root_blocks(sch):
        found, form = find_contraction(sch.get(block)), _conv_form(sch.get(block), plain)
        if sch.get(block) in made:
            unscheduled.done(block)
        elif found is not None and form is not None:
            direct = direct_form(sch, block, found, form, cpu)
            run = run_form(sch, block, found, form, cpu)
            if run is not None and (direct is None or run.cycles < direct.cycles):
                reasons.append(
                    schedule_run(sch, block, found, form, run, cpu, unscheduled.pending)
                )
            elif direct is None:
                reasons.append(
                    schedule_contraction(sch, block, found, form, cpu, unscheduled.pending)
                )
            else:
                reasons.append(
                    schedule_direct(sch, block, found, form, direct, cpu, unscheduled.pending)
                )
            unscheduled.done(block)
        elif found is not None and (last := _channels_last(sch, block, cpu)) is not None:
            reasons.append(
                schedule_channels_last(sch, block, found, *last, cpu, unscheduled.pending)
            )
            unscheduled.done(block)
    unscheduled.schedule(cpu)
    return with_reason(sch, "; ".join(reasons))


def _channels_last(sch: Schedule, block: BlockRV, cpu: CpuModel) -> tuple[MatrixForm, Tile] | None:
    """The form and tile of a convolution whose channels are last; None for other blocks."""
    found = find_contraction(sch.get(block))
    form = channels_last_form(sch, block, found)
    if found is None or form is None:
        return None
    tile = channels_last_tile(form, found.output.dtype.bits, cpu)
    return None if tile is None else (form, tile)


def _of_any_size(
    sch: Schedule, cpu: CpuModel, plain: bool
) -> tuple[Schedule, set[Block], list[str]]:
    """Convolutions over planes of any size as blocks that find their panels when they run."""
    made: set[Block] = set()
    reasons: list[str] = []
    while True:
        for block in root_blocks(sch):
            found, form = find_contraction(sch.get(block)), _conv_form(sch.get(block), plain)
            if found is None or form is None or not is_unconditional(sch, block):
                continue
            if found.lhs.buffer is found.rhs.buffer:
                continue  # a copy of one factor's plane would be that of the other
            window = None if plain else wide_window(sch, block, found, form, cpu)
            if window is not None or extent_of(form.n) is None:
                break
            if _is_grouped(found) and _has_panels(sch.get(block), found, form):
                break
        else:
            return sch, made, reasons
        nest: DirectAny | GroupWindows | RunOrPanels | AnySize | None = None
        if window is None or not window.first:
            nest = run_any(sch, block, found, form, cpu)
            if nest is None and not plain:
                nest = direct_any(sch, block, found, form, cpu)
                nest = nest or group_windows(sch, block, found, form, cpu)
        if nest is None and window is not None:
            nest = skipped_steps(sch, block, found, form, cpu, window)
        nest = nest or AnySize(sch, block, found, form, cpu)
        loops, gone, reason = nest.nest(), nest.gone, nest.reason()
        made.add(loops.block)
        reasons.append(reason)
        sch = replaced(sch, gone, loops)


def _conv_form(block: Block, plain: bool = False) -> MatrixForm | None:
    """Rows, columns and sum of a convolution; None for other blocks, as `plain` products.

    Variables of the result that stand before the rows (images of a batch) are outer loops.
    """
    found = find_contraction(block)
    if found is None or (found.rhs.is_plain() and not plain) or not _is_weight(found):
        return None
    if extent_of(found.m) == 1 or extent_of(found.n) == 1 or not found.m:
        return None
    order = [index for index in found.store if isinstance(index, Var)]
    if len(order) != len(found.store) - _constants(found):
        return None
    rows = [order.index(iv.var) for iv in found.m if iv.var in order]
    if not rows:
        return None  # indexed by something made of them
    first_row = min(rows)
    outer = [iv for iv in found.n if iv.var in order and order.index(iv.var) < first_row]
    columns = [iv for iv in found.n if iv not in outer]
    if not columns or any(extent_of([iv]) is None for iv in (*found.m, *found.k)):
        return None
    form = MatrixForm((*found.batch, *outer), found.m, tuple(columns), found.k)
    if extent_of(columns) is None and not _has_panels(block, found, form):
        return None
    return form


def _has_panels(block: Block, found: Contraction, form: MatrixForm) -> bool:
    """Whether its columns are read along rows of a plane, by filters of one number."""
    return len(form.m) == 1 and columns_of(block, form, found.rhs) is not None


def _is_grouped(found: Contraction) -> bool:
    """Weights of their own for each group."""
    used = set(vars_in(*found.lhs.indices))
    return any(iv.var in used for iv in found.batch)


def _is_weight(found: Contraction) -> bool:
    """One weight for each row and tap, also flipped as in transposed convolutions."""
    own = {iv.var for iv in (*found.batch, *found.m, *found.k)}
    used = set(vars_in(*found.lhs.indices))
    return found.lhs.is_plain() or used <= own


def _constants(found: Contraction) -> int:
    return sum(1 for index in found.store if not isinstance(index, Var))

