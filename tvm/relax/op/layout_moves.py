"""More rules about layouts (`layout_rules`): axes, indices and shapes in a permuted layout.

Operators for which the order of elements in memory is the meaning (reshape, flatten, matmul) have
no rule: they get their operands as their program knows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.relax.expr import Call
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo

from .layout_rules import (
    LETTERS,
    Desired,
    Layout,
    LayoutOf,
    LayoutOutput,
    initial,
    initial_of,
    is_plain,
    layout_axis,
    ndim_of,
    options_of,
    own_layouts,
    transposed,
    unsplit,
    without_axes,
)


def _as_it_was(call: Call) -> LayoutOutput:
    return LayoutOutput(own_layouts(call, 0), initial_of(call.struct_info_))


def scanned(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The axis moves with the dimensions; without one the elements are taken in their order."""
    axis = options_of(call)["axis"]
    if axis is None:
        return _as_it_was(call)
    name = unsplit(call, layout_of)
    info = call.struct_info_
    out: Layout = name
    if isinstance(info, TupleStructInfo):
        out = (name,) * len(info.fields)
    return LayoutOutput((name, *own_layouts(call, 1)), out, {"axis": layout_axis(name, axis)})


def searched(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The index of an element along an axis: the axis is renamed, then reduced away."""
    options = options_of(call)
    if options["axis"] is None:
        return _as_it_was(call)
    name = unsplit(call, layout_of)
    [position], rest = without_axes(call, name, [options["axis"]])
    return LayoutOutput((name,), name if options["keepdims"] else rest, {"axis": position})


def elements_along(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Tensors of as many dimensions take the layout of the first; others stay."""
    name = unsplit(call, layout_of)
    axis = options_of(call).get("axis")
    ndim = len(name)
    inputs = [name if ndim_of(arg) == ndim else initial_of(arg.struct_info_) for arg in call.args]
    changes = {} if axis is None else {"axis": layout_axis(name, axis)}
    return LayoutOutput(tuple(inputs), name, changes)


def filled_like(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """A tensor of the operand's shape."""
    name = layout_of(call.args[0])
    return LayoutOutput((name, *own_layouts(call, 1)), name)


def taken(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """One index takes the axis away, a row of indices keeps it."""
    axis, count = options_of(call)["axis"], ndim_of(call.args[1])
    name = unsplit(call, layout_of)
    if axis is None or (isinstance(call.args[1].struct_info_, TensorStructInfo) and count > 1):
        return _as_it_was(call)
    own = own_layouts(call, 1)
    if count == 1:
        return LayoutOutput((name, *own), name, {"axis": layout_axis(name, axis)})
    [position], rest = without_axes(call, name, [axis])
    return LayoutOutput((name, *own), rest, {"axis": position})


def tiled(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The counts move with the dimensions."""
    name = unsplit(call, layout_of)
    repeats = tuple(options_of(call)["repeats"])
    if len(repeats) > len(name):
        return _as_it_was(call)
    whole = (1,) * (len(name) - len(repeats)) + repeats
    return LayoutOutput((name,), name, {"repeats": _moved(whole, name)})


def _moved(values: Sequence[Any], name: str) -> tuple[Any, ...]:
    """What belongs to the dimensions, in the order in which they stand."""
    return tuple(values[LETTERS.index(letter)] for letter in name)


def padded(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The widths before and after each dimension move with it."""
    name = unsplit(call, layout_of)
    widths = options_of(call)["pad_width"]
    pairs = _moved(list(zip(widths[::2], widths[1::2])), name)
    return LayoutOutput((name,), name, {"pad_width": tuple(n for pair in pairs for n in pair)})


def reshaped_alike(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """`broadcast_to` and `collapse_sum_to` as many dimensions: the extents move."""
    name = unsplit(call, layout_of)
    shape = call.args[1]
    if not isinstance(shape, ShapeExpr) or len(shape.values) != len(name):
        return _as_it_was(call)
    return LayoutOutput((name,), name, {}, {1: ShapeExpr(_moved(shape.values, name))})


def collapsed_alike(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Both operands of as many dimensions take the layout of the first."""
    name = unsplit(call, layout_of)
    if ndim_of(call.args[1]) != len(name):
        return _as_it_was(call)
    return LayoutOutput((name, name), name)


def triangular(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The triangle is of the last two dimensions, which must still stand there."""
    name = unsplit(call, layout_of)
    if name[-2:] != initial(len(name))[-2:]:
        return _as_it_was(call)
    return LayoutOutput((name, *own_layouts(call, 1)), name)


def quantized(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The axis of the parameters moves with the dimensions; they stay."""
    if ndim_of(call.args[0]) == 0:
        return _as_it_was(call)
    return scanned(call, desired, layout_of)


def pooled_back(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The gradient of a pooling: both operands in the layout of the data."""
    name = unsplit(call, layout_of, 1)
    options, letters = options_of(call), initial(ndim_of(call.args[1]))
    if not is_plain(options["layout"]) or not is_plain(options["out_layout"]):
        return _as_it_was(call)
    # the result's dimensions stand as the data's do, by the letters of the two layouts
    grad = "".join(letters[options["out_layout"].index(c)]
                   for c in transposed(options["layout"], letters, name))  # fmt: skip
    moved = transposed(options["layout"], letters, name)
    return LayoutOutput((grad, name), name, {"layout": moved, "out_layout": moved})


def gathered_from_workers(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Workers' parts are joined along the first dimension, which must still stand there."""
    name = unsplit(call, layout_of)
    return LayoutOutput((name,), name) if name[:1] == LETTERS[:1] else _as_it_was(call)
