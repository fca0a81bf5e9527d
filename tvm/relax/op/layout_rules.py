"""How operators take tensors whose dimensions stand in another order.

A layout is a text: the dimensions of a tensor as its program knows them are "ABCD"; after NCHW
became NHWC the tensor's layout is "ACDB", after it became NCHW4c, "ABCD4b". Of a tuple it is a
tuple of layouts, and None where the number of dimensions is not known. A rule says in which layouts
an operator takes its operands, which one its result has, and what changes in its options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from tvm.arith import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.relax.expr import Call, PrimValue, Tuple
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo, const_int
from tvm.tir.data_layout import BijectiveLayout, LayoutError, layout

from .layouts import layout_parts

Layout: TypeAlias = "str | tuple[Layout, ...] | None"
LayoutOf: TypeAlias = Callable[[RelaxExpr], Layout]
Desired: TypeAlias = Mapping[str, Sequence[str]]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class LayoutOutput(NamedTuple):
    """In which layouts a call takes its operands and gives its result, and what changes for it."""

    inputs: tuple[Layout, ...]
    output: Layout
    options: Mapping[str, Any] = {}
    args: Mapping[int, RelaxExpr] = {}


# --- layouts ---


def initial(ndim: int) -> str:
    """The layout that a tensor has as its program knows it."""
    if not 0 <= ndim <= len(LETTERS):
        raise CheckError(f"a layout has at most {len(LETTERS)} dimensions, found {ndim}")
    return LETTERS[:ndim]


def initial_of(info: StructInfo | None) -> Layout:
    """The initial layout of a tensor, or of a tuple of them."""
    if isinstance(info, TupleStructInfo):
        return tuple(initial_of(field) for field in info.fields)
    if isinstance(info, TensorStructInfo) and info.ndim != -1:
        return initial(info.ndim)
    return None


def is_plain(name: str) -> bool:
    """True while no dimension is split."""
    return name.isalpha() or not name


def transposed(text: str, source: str, target: str) -> str:
    """`text`, whose letters belong to those of `source`, in the order of `target`."""
    return "".join(text[source.index(letter)] for letter in target)


def renamed(text: str, source: str, target: str) -> str:
    """`target` with the letters of `source` replaced by those of `text`; parts keep their sizes."""
    found = []
    for size, letter in layout_parts(target):
        new = text[source.index(letter.upper())]
        found.append(new if letter.isupper() else f"{size}{new.lower()}")
    return "".join(found)


def layout_axis(name: str, axis: int) -> int:
    """The axis of the layout that holds the program's dimension `axis`."""
    letters = [letter for _, letter in layout_parts(name)]
    return letters.index(LETTERS[axis % sum(letter.isupper() for letter in letters)])


def fits(source: str, target: str, shape: Sequence[PrimExpr]) -> bool:
    """Whether a tensor of this shape may go from one layout to the other and back, unpadded."""
    try:
        way = BijectiveLayout(layout(source), layout(target))
        back = way.backward_shape(way.forward_shape(shape))
    except LayoutError:
        return False
    analyzer = Analyzer()
    return all(analyzer.can_prove_equal(a, b) for a, b in zip(shape, back))


def _fits_from(now: Layout, target: str, info: StructInfo) -> bool:
    """Whether a tensor that is whole may go into a layout with split dimensions, unpadded."""
    if not isinstance(now, str) or not isinstance(info, TensorStructInfo) or info.values is None:
        return False
    return is_plain(now) and fits(initial(info.ndim), target, info.values)


def _split(name: str) -> set[int]:
    """The dimensions of which a layout has parts."""
    return {LETTERS.index(part.upper()) for _, part in layout_parts(name) if part.islower()}


def _tensor(expr: RelaxExpr) -> TensorStructInfo | None:
    info = expr.struct_info_
    return info if isinstance(info, TensorStructInfo) else None


def ndim_of(expr: RelaxExpr) -> int:
    """The number of dimensions of a tensor; -1 for what is none, or of unknown ones."""
    info = _tensor(expr)
    return -1 if info is None else info.ndim


def extents_of(expr: RelaxExpr) -> Sequence[PrimExpr] | None:
    """The extents of a tensor, where known."""
    info = _tensor(expr)
    return None if info is None else info.values


def options_of(call: Call) -> dict[str, Any]:
    """The options of a call by name."""
    attrs = call.attrs
    return {} if attrs is None else {f.name: getattr(attrs, f.name) for f in attrs.FIELDS}


def _current(call: Call, layout_of: LayoutOf, arg_index: int = 0) -> str:
    """The layout of an operand that is a tensor."""
    found = layout_of(call.args[arg_index])
    assert isinstance(found, str), "rules are asked about tensors of known dimensions"
    return found


def unsplit(call: Call, layout_of: LayoutOf, arg_index: int = 0) -> str:
    """The layout of an operand; the initial one instead of one with split dimensions."""
    found = _current(call, layout_of, arg_index)
    return found if is_plain(found) else initial(ndim_of(call.args[arg_index]))


# --- elements ---


def same(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Element by element: the layout stays."""
    found = layout_of(call.args[0])
    return LayoutOutput((found,), found)


def _follow(name: str, ndim: int) -> str:
    """The layout of a broadcast operand, for more dimensions in front."""
    more = ndim - len(name)
    return initial(more) + "".join(LETTERS[LETTERS.index(letter) + more] for letter in name)


def _common(call: Call, layout_of: LayoutOf) -> str | None:
    """The layout that two operands of as many dimensions take: the more split one, if it fits."""
    first, second = layout_of(call.args[0]), layout_of(call.args[1])
    if not isinstance(first, str) or not isinstance(second, str) or not first or not second:
        return None
    if ndim_of(call.args[0]) != ndim_of(call.args[1]):
        return None
    if len(layout_parts(first)) >= len(layout_parts(second)):
        kept, moved, extents = first, second, extents_of(call.args[1])
    else:
        kept, moved, extents = second, first, extents_of(call.args[0])
    if extents is None:
        return kept if is_plain(kept) and is_plain(moved) else None
    return kept if fits(initial(len(extents)), kept, extents) else None


def broadcast(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Two operands that broadcast: the layout of the first, or of the one of less dimensions."""
    first, second = layout_of(call.args[0]), layout_of(call.args[1])
    common = _common(call, layout_of)
    if common is not None:
        return LayoutOutput((common, common), common)
    a, b = ndim_of(call.args[0]), ndim_of(call.args[1])
    if a <= 0:  # no dimensions, or a number
        return LayoutOutput(("" if a == 0 else None, second), second)
    if b <= 0:
        return LayoutOutput((first, "" if b == 0 else None), first)
    arg_index = 0 if a <= b else 1
    out = _follow(unsplit(call, layout_of, arg_index), max(a, b))
    small = out if a == b else unsplit(call, layout_of, arg_index)
    return LayoutOutput((small, out) if a <= b else (out, small), out)


def as_one(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Operands that are all in one layout keep it; others go back to theirs."""
    names = [layout_of(arg) for arg in call.args]
    if any(name != names[0] for name in names):
        names = [initial_of(arg.struct_info_) for arg in call.args]
    return LayoutOutput(tuple(names), names[0])


def follow_first(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Three operands: the layout of the first, where all have as many dimensions."""
    ndims = {ndim_of(arg) for arg in call.args}
    names = [layout_of(arg) for arg in call.args]
    wanted = names[0]
    if len(ndims) > 1 or not isinstance(wanted, str):
        own = [initial_of(arg.struct_info_) for arg in call.args]
        return LayoutOutput(tuple(own), initial_of(call.struct_info_))
    if any(name != wanted for name in names) and not is_plain(wanted):
        wanted = initial(ndims.pop())
    return LayoutOutput((wanted,) * len(names), wanted)


# --- axes ---


def without_axes(call: Call, name: str, axes: Sequence[int]) -> tuple[list[int], str]:
    """Where axes stand in a layout, and the layout of the result without them."""
    ndim = ndim_of(call.args[0])
    gone = {axis % ndim for axis in axes}
    rest = iter(LETTERS)
    marks = "".join("1" if i in gone else next(rest) for i in range(ndim))
    moved = transposed(marks, initial(ndim), name)
    return [i for i, mark in enumerate(moved) if mark == "1"], moved.replace("1", "")


def reduced(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """A reduction: its axes move with the dimensions."""
    options = options_of(call)
    name = _current(call, layout_of)
    ndim = ndim_of(call.args[0])
    axes = options["axis"]
    axes = range(ndim) if axes is None else [axis % ndim for axis in axes]
    positions, rest = _without_split_axes(name, axes)
    out = name if options["keepdims"] else rest
    return LayoutOutput((name,), out, {"axis": tuple(positions)})


def _without_split_axes(name: str, axes: Sequence[int]) -> tuple[list[int], str]:
    """As `without_axes`, of all parts of each axis."""
    gone = {LETTERS[axis] for axis in axes}
    kept = sorted({letter.upper() for _, letter in layout_parts(name)} - gone)
    positions, rest = [], []
    for position, (size, letter) in enumerate(layout_parts(name)):
        if letter.upper() in gone:
            positions.append(position)
        else:
            new = LETTERS[kept.index(letter.upper())]
            rest.append(new if letter.isupper() else f"{size}{new.lower()}")
    return positions, "".join(rest)


def squeezed(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Without dimensions of extent 1."""
    name = unsplit(call, layout_of)
    axes = options_of(call)["axis"]
    if axes is None:
        extents = extents_of(call.args[0])
        if extents is None:
            name = initial(ndim_of(call.args[0]))
            return LayoutOutput((name,), initial_of(call.struct_info_))
        axes = [i for i, extent in enumerate(extents) if const_int(extent) == 1]
    positions, rest = without_axes(call, name, axes)
    return LayoutOutput((name,), rest, {"axis": tuple(positions)})


def expanded(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """New dimensions stand where they stood; the others keep their order around them."""
    name = unsplit(call, layout_of)
    axes = options_of(call)["axis"]
    ndim = ndim_of(call.args[0]) + len(axes)
    new = {axis % ndim for axis in axes}
    old = "".join(LETTERS[i] for i in range(ndim) if i not in new)
    rest = iter(transposed(old, initial(len(old)), name))
    out = "".join(LETTERS[i] if i in new else next(rest) for i in range(ndim))
    return LayoutOutput((name,), out)


def permuted(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The permutation starts from where the dimensions are, and ends in the initial layout."""
    name = unsplit(call, layout_of)
    ndim = ndim_of(call.args[0])
    axes = options_of(call)["axes"]
    order = range(ndim - 1, -1, -1) if axes is None else axes
    permutation = tuple(layout_axis(name, axis) for axis in order)
    return LayoutOutput((name,), initial(ndim), {"axes": permutation})


def along_axis(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The axis moves with the dimensions."""
    name = unsplit(call, layout_of)
    return LayoutOutput((name,), name, {"axis": layout_axis(name, options_of(call)["axis"])})


def divided(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Parts have the layout of the whole."""
    name = unsplit(call, layout_of)
    info = call.struct_info_
    count = len(info.fields) if isinstance(info, TupleStructInfo) else 1
    position = layout_axis(name, options_of(call)["axis"])
    return LayoutOutput((name,), (name,) * count, {"axis": position})


def joined(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """All tensors take the layout of the first, also a split one into which they fit."""
    name, count = _of_first(call, layout_of)
    names, info = layout_of(call.args[0]), call.args[0].struct_info_
    assert isinstance(names, tuple), "a tuple has one for each field"
    assert isinstance(info, TupleStructInfo), "checked by its kind"
    first, fields = names[0], info.fields
    if isinstance(first, str) and all(
        other == first or _fits_from(other, first, field) for other, field in zip(names, fields)
    ):
        name = first
    axis = options_of(call)["axis"]
    position = layout_axis(name, 0 if axis is None else axis)
    return LayoutOutput(((name,) * count,), name, {"axis": position})


def stacked(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """All tensors take the layout of the first; the new dimension stands where it stood."""
    name, count = _of_first(call, layout_of)
    ndim = len(name) + 1
    axis = (options_of(call)["axis"] or 0) % ndim
    old = iter(transposed("".join(LETTERS[i] for i in range(ndim) if i != axis),
                          initial(ndim - 1), name))  # fmt: skip
    out = "".join(LETTERS[i] if i == axis else next(old) for i in range(ndim))
    return LayoutOutput(((name,) * count,), out)


def _of_first(call: Call, layout_of: LayoutOf) -> tuple[str, int]:
    info = call.args[0].struct_info_
    names = layout_of(call.args[0])
    assert isinstance(info, TupleStructInfo), "checked by its kind"
    assert isinstance(names, tuple), "a tuple has one for each field"
    first, field = names[0], info.fields[0]
    assert isinstance(field, TensorStructInfo), "checked by its kind"
    name = first if isinstance(first, str) and is_plain(first) else initial(field.ndim)
    return name, len(info.fields)


def sliced(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The axes, an operand, move with the dimensions."""
    name = unsplit(call, layout_of)
    given = call.args[1]
    numbers = [const_int(f.value) if isinstance(f, PrimValue) else None for f in given.fields] if (
        isinstance(given, Tuple)
    ) else [None]  # fmt: skip
    if any(number is None for number in numbers):
        name = initial(ndim_of(call.args[0]))
        return LayoutOutput((name,), name)
    axes_now = [PrimValue(layout_axis(name, number or 0)) for number in numbers]
    return LayoutOutput((name,), name, {}, {1: Tuple(axes_now)})


# --- neural networks ---


def own_layouts(call: Call, first: int) -> tuple[Layout, ...]:
    """The initial layouts of the operands from `first` on."""
    return tuple(initial_of(arg.struct_info_) for arg in call.args[first:])


def normalised(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """Axes, and the axis of channels, move with the dimensions; parameters stay.

    Dimensions that are no axes may be split.
    """
    name = _current(call, layout_of)
    options = options_of(call)
    axes = [options[key] for key in ("channel_axis", "axis") if key in options]
    if _split(name) & {axis % ndim_of(call.args[0]) for axis in (*axes, *options.get("axes", ()))}:
        name = unsplit(call, layout_of)
    changes: dict[str, Any] = {}
    if "axes" in options:
        changes["axes"] = tuple(layout_axis(name, axis) for axis in options["axes"])
    for key in ("channel_axis", "axis"):
        if key in options:
            changes[key] = layout_axis(name, options[key])
    return LayoutOutput((name, *own_layouts(call, 1)), name, changes)


def batch_normalised(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """As `normalised`, with the new statistics beside the result."""
    found = normalised(call, desired, layout_of)
    return found._replace(output=(found.output, *own_layouts(call, 3)))


def with_mask(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """A result and a mask of the operand's layout."""
    found = layout_of(call.args[0])
    return LayoutOutput((found,), (found, found))


def pooled(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The names of the layouts, data's and result's, move with the dimensions."""
    options = options_of(call)
    name = _current(call, layout_of)
    letters = initial(ndim_of(call.args[0]))
    if not is_plain(name):
        extents = extents_of(call.args[0])
        wanted = renamed(options["layout"], letters, name) if is_plain(options["layout"]) else ""
        if wanted and extents is not None and fits(letters, name, extents):
            return LayoutOutput((name,), name, {"layout": wanted, "out_layout": wanted})
        name = letters
    if not is_plain(options["layout"]):
        return LayoutOutput((letters,), letters)
    changes = {key: transposed(options[key], letters, name) for key in ("layout", "out_layout")}
    return LayoutOutput((name,), name, changes)


def resized(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The desired layout if there is one, that of the data otherwise."""
    options = options_of(call)
    letters = initial(4)
    wanted = desired.get("relax.image.resize2d")
    if wanted is not None:
        name = transposed(letters, options["layout"], wanted[0])
        return LayoutOutput((name,), name, {"layout": wanted[0]})
    name = unsplit(call, layout_of)
    return LayoutOutput((name,), name, {"layout": transposed(options["layout"], letters, name)})


def convolved(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The desired layouts of data, kernel and result; without them, those of the operands."""
    options = options_of(call)
    keys = ("data_layout", "kernel_layout", "out_layout")
    given = [options[key] for key in keys]
    ndim = ndim_of(call.args[0])
    letters = initial(ndim)
    wanted = desired.get(getattr(call.op, "name", ""))
    if wanted is None:
        if not all(map(is_plain, given)):
            return LayoutOutput((letters, letters), letters)
        data, kernel = unsplit(call, layout_of, 0), unsplit(call, layout_of, 1)
        names = (data, kernel, data)
        changes = {key: transposed(t, letters, n) for key, t, n in zip(keys, given, names)}
        return LayoutOutput((data, kernel), data, changes)
    targets = [*wanted, wanted[0]][:3]
    _check_desired(call, given, targets)
    changes = dict(zip(keys, targets))
    if all(map(is_plain, targets)):
        data, kernel, out = (transposed(letters, g, t) for g, t in zip(given, targets))
        return LayoutOutput((data, kernel), out, changes)
    shapes = [extents_of(arg) for arg in call.args]
    if all(
        shape is not None and fits(g, t, shape) for shape, g, t in zip(shapes, given, targets)
    ):
        data, kernel, out = (renamed(letters, g, t) for g, t in zip(given, targets))
        return LayoutOutput((data, kernel), out, changes)
    return LayoutOutput((letters, letters), letters)


def convolved_as_desired(call: Call, desired: Desired, layout_of: LayoutOf) -> LayoutOutput:
    """The desired layouts; without them, those that the program knows."""
    if getattr(call.op, "name", "") in desired:
        return convolved(call, desired, layout_of)
    return LayoutOutput(own_layouts(call, 0), initial_of(call.struct_info_))


TAKE_DESIRED: Final = (resized, convolved, convolved_as_desired)  # rules that read `desired`


def _check_desired(call: Call, given: Sequence[str], targets: Sequence[str]) -> None:
    for name, target in zip(given, targets):
        letters = sorted(letter for _, letter in layout_parts(target) if letter.isupper())
        if letters != sorted(name):
            raise CheckError(
                message(
                    f"{getattr(call.op, 'name', call.op)}: a desired layout does not fit",
                    found=f"{target!r} for {name!r}",
                    legal=f"the letters {name} in any order, and parts such as 4c",
                )
            )
