"""Convolutions as matrix products: weights by columns of the input, gathered panel by panel.

    C[f, y, x] = sum over c, ry, rx of W[f, c, ry, rx] * X[c, y + ry, x + rx]

Rows are the output channels, columns the output places (y, x), the sum runs over (c, ry, rx). The
panel of columns is gathered from X by rows of the image, so its copies are vectors too; each
element gathered is used by all output channels. (Chellapilla et al., "High Performance
Convolutional Neural Networks for Document Processing", 2006, gather all of it at once.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.base import open_schedule
from tvm.ir.expr import PrimExpr
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.schedule import BlockRV, Schedule
from tvm.tir.stmt import Block, BlockRealize

from .base import CPUScheduleRule, root_blocks, with_reason
from .contraction import MatrixForm, extent_of, schedule_contraction
from .forms import faster_for, joined
from .general import Rest, inline_epilogues
from .groups import split_groups
from .runs import as_runs
from .shifted import columns_of, one_run, schedule_shifted
from .tiles import choose_tile


class Conv2D(CPUScheduleRule):
    """Schedules functions with a convolution (of any number of dimensions)."""

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if no block is a convolution with shared weights."""
        plane = _one_plane(func)
        runs = None if plane is None else as_runs(func, plane)
        if runs is not None:
            made = _in_forms(runs.func, target.cpu, plain=True)
            made = None if made is None else runs.schedule_of_planes(made)
            if made is not None:
                return made
        return _in_forms(func, target.cpu)


def _in_forms(func: PrimFunc, cpu: CpuModel, *, plain: bool = False) -> Schedule | None:
    """The schedule, in two forms where the sizes of the call choose."""
    made = _in_tiles(func, cpu, None, plain)
    few = None if made is None else _few_columns(func, cpu, plain)
    if made is None or few is None:
        return made
    condition, width = few
    narrow = _in_tiles(func, cpu, [width], plain)
    return made if narrow is None else joined(condition, narrow, made)


def _one_plane(func: PrimFunc) -> list[PrimExpr] | None:
    """The extents of the plane whose places are all columns of the only convolution."""
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


def _in_tiles(
    func: PrimFunc, cpu: CpuModel, widths: Sequence[int] | None, plain: bool
) -> Schedule | None:
    """The schedule with tiles of one of some widths, by default the best for large planes."""
    sch = open_schedule(func)
    for block in root_blocks(sch):
        split_groups(sch, block)
    if not any(_conv_form(sch.get(b), plain) is not None for b in root_blocks(sch)):
        return None
    inline_epilogues(sch)
    rest = Rest(sch)
    reasons: list[str] = []
    for block in root_blocks(sch):
        found = find_contraction(sch.get(block))
        form = _conv_form(sch.get(block), plain)
        if found is not None and form is not None:
            reasons.append(_schedule(sch, block, found, form, cpu, rest, widths))
    rest.schedule(cpu)
    return with_reason(sch, "; ".join(reasons))


def _few_columns(
    func: PrimFunc, cpu: CpuModel, plain: bool
) -> tuple[PrimExpr, int] | None:
    """When tiles of one vector are faster, and how wide they are; None if sizes are known."""
    sch = open_schedule(func)
    for block in root_blocks(sch):
        split_groups(sch, block)
    forms = [(sch.get(b), form) for b in root_blocks(sch)
             if (form := _conv_form(sch.get(b), plain)) is not None]  # fmt: skip
    if len(forms) != 1:
        return None
    node, form = forms[0]
    found = find_contraction(node)
    columns = None if found is None else columns_of(node, form, found.rhs)
    if columns is None or extent_of(form.n) is not None:
        return None
    count: PrimExpr = columns[0].iv.dom.extent  # type: ignore[union-attr]
    for column in columns[1:]:
        assert column.iv.dom is not None, "block variables have domains"
        count = count * (column.iv.dom.extent + column.reach // column.step)
    bits = node.writes[0].buffer.dtype.bits
    rows, width = extent_of(form.m), cpu.lanes(bits)
    wide = choose_tile(cpu, bits, rows, None, None)
    narrow = choose_tile(cpu, bits, rows, None, None, [width])
    if wide.columns == narrow.columns:
        return None
    return faster_for(cpu, count, narrow, wide), width


def _schedule(
    sch: Schedule,
    block: BlockRV,
    found: Contraction,
    form: MatrixForm,
    cpu: CpuModel,
    rest: Rest,
    widths: Sequence[int] | None,
) -> str:
    """Columns that are known, or one run as they are, are gathered in panels.

    Others are runs of shifted planes.
    """
    if extent_of(form.n) is not None or one_run(sch.get(block), form, found.rhs):
        reason = schedule_contraction(sch, block, found, form, cpu, rest.later, widths)
        rest.done(block)
        return reason
    columns = columns_of(sch.get(block), form, found.rhs)
    assert columns is not None, "looked at before"
    made, reason = schedule_shifted(sch, block, form, found.rhs, columns, cpu, rest.later, widths)
    for done in (*made, block):
        rest.done(done)
    return reason


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
    first_row = min(order.index(iv.var) for iv in found.m if iv.var in order)
    outer = [iv for iv in found.n if iv.var in order and order.index(iv.var) < first_row]
    columns = [iv for iv in found.n if iv not in outer]
    if not columns or any(extent_of([iv]) is None for iv in (*found.m, *found.k)):
        return None
    form = MatrixForm((*found.batch, *outer), found.m, tuple(columns), found.k)
    if extent_of(columns) is None and (
        len(form.m) > 1 or columns_of(block, form, found.rhs) is None
    ):
        return None
    return form


def _is_weight(found: Contraction) -> bool:
    """One number a row and step, also turned around as in transposed convolutions."""
    own = {iv.var for iv in (*found.batch, *found.m, *found.k)}
    used = {n for index in found.lhs.indices for n in walk(index) if isinstance(n, Var)}
    return found.lhs.is_plain() or used <= own


def _constants(found: Contraction) -> int:
    return sum(1 for index in found.store if not isinstance(index, Var))

