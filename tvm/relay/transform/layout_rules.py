"""In which layouts operators take and give tensors, when those of their operands change.

A layout is a text such as NCHW or NCHW16c; None where it is not known, "" of a scalar. A rule
`f(attrs, new, old, types)` gets the layouts that the operands have now (None on the first call,
which asks about the program as it was) and had, and gives an `InferCorrectLayoutOutput` or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.ir.op import DERIVED, OPS, Op
from tvm.ir.type import TupleType
from tvm.relay.ty import TensorType
from tvm.tir.expr import IntImm

from .infer_layout_utils import InferCorrectLayoutOutput as Output

Layouts = Sequence["str | None"]
Rule = Callable[[Any, "Layouts | None", Layouts, Sequence[Any]], "Output | None"]
_PART: Final = re.compile(r"(\d*)([A-Za-z])")


def parts(layout: str) -> list[tuple[int, str]]:
    """The axes of a layout: the size of a block (0 for a whole axis) and the letter."""
    return [(int(size or 0), letter) for size, letter in _PART.findall(layout)]


def letters(layout: str) -> str:
    """The letters of a layout, in order."""
    return "".join(letter for _, letter in parts(layout))


def primal(layout: str) -> str:
    """The whole axes of a layout, in order."""
    return "".join(letter for letter in letters(layout) if letter.isupper())


def block(layout: str, letter: str) -> int:
    """The size of the blocks of an axis; 1 if it is not split."""
    return next((size for size, sign in parts(layout) if sign == letter.lower()), 1)


def is_split(layout: str) -> bool:
    """True when an axis is split into blocks."""
    return primal(layout) != layout


def joined(pieces: Sequence[tuple[int, str]]) -> str:
    """The layout of these axes."""
    return "".join(f"{size or ''}{letter}" for size, letter in pieces)


def sub_layout(layout: str, begin: int, count: int) -> str | None:
    """`count` axes of a layout from one on."""
    if begin < 0 or begin + count > len(parts(layout)):
        return None
    return joined(parts(layout)[begin : begin + count])


def _first(layouts: Layouts) -> str | None:
    return next((layout for layout in layouts if layout is not None), None)


def elementwise(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    """Any layout; all operands and the result have the same."""
    found = new[0] if new is not None else _first(old)
    return Output([found] * len(old), [found], attrs)


def _rank(found: Any) -> int:
    assert isinstance(found, TensorType), "the operator takes tensors"
    return len(found.shape)


def broadcast(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    """The layout of the larger operand; the smaller one follows it."""
    layouts = list(new if new is not None else old)
    known = [at for at in (0, 1) if layouts[at] is not None]
    if not known:
        return None
    if len(known) == 1:
        at = known[0]
        more = _rank(types[at]) - _rank(types[1 - at])
        layouts[1 - at] = sub_layout(layouts[at] or "", more, _rank(types[1 - at]))
        return Output(layouts, [layouts[at]], attrs) if more >= 0 else None
    if "" in layouts:
        return Output(layouts, [layouts[1] if layouts[0] == "" else layouts[0]], attrs)
    sizes = [len(primal(layout or "")) for layout in layouts]
    large = 0 if sizes[0] >= sizes[1] else 1
    wanted = layouts[large]
    assert wanted is not None, "both are known"
    layouts[1 - large] = _fitting(wanted, old[1 - large], types[1 - large])
    return Output(layouts, [wanted], attrs)


def _fitting(wanted: str, old: str | None, found: Any) -> str:
    """A layout with blocks of 1 where the operand has a single element to be stretched."""
    extents = dict(zip(letters(old or ""), found.shape)) if isinstance(found, TensorType) else {}
    pieces = []
    for size, letter in parts(wanted):
        extent = extents.get(letter.upper())
        is_one = isinstance(extent, IntImm) and extent.value == 1
        absent = letter.upper() not in extents
        pieces.append((1 if size and (is_one or absent) else size, letter))
    return joined(pieces)


def _own_layout(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    """Pooling, resizing: any layout, which is an option of the call."""
    own = bool(getattr(attrs, "out_layout", "")) or attrs.layout != (old[0] or attrs.layout)
    if new is not None and new[0] is not None and not own:  # nobody asked for another one
        before = attrs.layout
        spatial = [letter for letter in primal(before) if letter in "DHW"]
        if not any(block(new[0], letter) > 1 for letter in spatial):
            attrs = attrs.replaced(layout=new[0])
    return Output([attrs.layout] + [""] * (len(old) - 1), [attrs.layout], attrs)


def _resize(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    """Any layout of whole axes."""
    if new is not None and new[0] is not None and is_split(new[0]):
        return Output([attrs.layout], [attrs.layout], attrs)
    return _own_layout(attrs, new, old, types)


def _upsampling(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    """A layout with height and width (and depth) where they were, which none of them splits."""
    before = str(attrs.layout)
    if new is not None and new[0] is not None:
        at = letters(new[0])
        moved = any(
            at.index(letter) != letters(before).index(letter) or block(new[0], letter) > 1
            for letter in primal(before) if letter in "DHW"
        )
        if moved:
            return Output([before], [before], attrs)
    return _own_layout(attrs, new, old, types)


def _regions(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    """Regions of images: the layout that the call says, which the results have, too."""
    return Output([attrs.layout, "N5"], [attrs.layout], attrs)


def _qnn_pool(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    found = _own_layout(attrs, new, old[:1], types)
    return Output([*found.input_layouts, *["C"] * 4], found.output_layouts, found.new_attrs)


def _convolution(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    """Others follow the layouts that a convolution says."""
    out = attrs.out_layout or attrs.data_layout
    return Output([attrs.data_layout, attrs.kernel_layout], [out], attrs)


def _deformable(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    out = attrs.out_layout or attrs.data_layout
    return Output([attrs.data_layout, attrs.data_layout, attrs.kernel_layout], [out], attrs)


def _qnn_convolution(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output:
    out = attrs.out_layout or attrs.data_layout
    return Output([attrs.data_layout, attrs.kernel_layout, *["C"] * 4], [out], attrs)


def _moved_axis(attrs: Any, new: str, old: str) -> Any:
    """The option `axis` for the position of its letter now; None if it is split."""
    letter = letters(old)[int(attrs.axis)]
    if not letter.isupper() or block(new, letter) > 1 or letter not in new:
        return None
    return attrs.replaced(axis=letters(new).index(letter))


def _along_axis(vectors: int, results: int) -> Rule:
    """Operators with an axis of channels, vectors for it, and maybe statistics as results."""

    def rule(
        attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
    ) -> Output | None:
        found = old[0]
        if new is not None and new[0] is not None and found is not None:
            attrs, found = _moved_axis(attrs, new[0], found), new[0]
        if attrs is None or found is None:
            return None
        return Output([found, *["C"] * vectors], [found, *["C"] * results], attrs)

    return rule


def _topk(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output | None:
    """The axis moves with its letter; values and indices have the layout of the operand."""
    found = old[0]
    if new is not None and new[0] is not None and found is not None:
        attrs, found = _moved_axis(attrs, new[0], found), new[0]
    if attrs is None:
        return None
    return Output([found], [found] * (2 if attrs.ret_type == "both" else 1), attrs)


def _l2_normalize(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    """The axes of the sums move with their letters."""
    found = old[0]
    if new is not None and new[0] is not None and found is not None:
        axes = _moved_axes(attrs.axis, new[0], found)
        if axes is None:
            return None
        attrs, found = attrs.replaced(axis=axes), new[0]
    return Output([found], [found], attrs)


def _slice_like(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    """The axes move with their letters; both tensors have one layout, known beforehand."""
    found = old[0]
    if new is not None and None not in (new[0], new[1], old[0], old[1]):
        if new[0] != new[1]:
            return None
        asked = attrs.axes or range(_rank(types[0]))
        axes = _moved_axes(asked, new[0] or "", old[0] or "")
        if axes is None:
            return None
        attrs, found = attrs.replaced(axes=axes), new[0]
    return Output([found, found], [found], attrs)


def _moved_axes(axes: Any, new: str, old: str) -> list[int] | None:
    """The positions that axes of a layout have in another one; None if one is split."""
    signs = [letters(old)[at] for at in _axes(axes, len(parts(old)))]
    if any(not s.isupper() or block(new, s) > 1 or s not in new for s in signs):
        return None
    return [letters(new).index(sign) for sign in signs]


def _concatenate(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    ret = _first(old)
    if ret is None or len(letters(ret)) <= attrs.axis:
        return None
    letter = letters(ret)[attrs.axis]
    if not letter.isupper():
        return None
    if new is not None and new[0] is not None and all(layout == new[0] for layout in new):
        ret = new[0]
        sizes = [types[0].fields[at] for at in range(len(old))]
        divides = all(_divides(t, old[0] or "", letter, block(ret, letter)) for t in sizes)
        if letter not in ret or not divides:
            return None
        attrs = attrs.replaced(axis=letters(ret).index(letter))
    return Output([ret] * len(old), [ret], attrs)


def _divides(found: TensorType, layout: str, letter: str, size: int) -> bool:
    extent = found.shape[letters(layout).index(letter)]
    return size == 1 or (isinstance(extent, IntImm) and extent.value % size == 0)


def _transpose(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    before = old[0]
    if before is None or is_split(before):
        return None
    rank = len(before)
    axes = range(rank)[::-1] if attrs.axes is None else [int(a) % rank for a in attrs.axes]
    out = "".join(before[axis] for axis in axes)
    if new is None or new[0] is None:
        return Output([before], [out], attrs)
    if is_split(new[0]):
        return None
    moved = [new[0].index(letter) for letter in out]
    return Output([new[0]], [out], attrs.replaced(axes=moved))


def _reduce(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    before = old[0]
    if before is None:
        return None
    rank = len(parts(before))
    axes = list(range(rank)) if attrs.axis is None else _axes(attrs.axis, rank)
    if attrs.exclude:
        axes = [at for at in range(rank) if at not in axes]
    gone = {letters(before)[at].upper() for at in axes}
    after = new[0] if new is not None and new[0] is not None else before
    pieces = parts(after)
    if new is not None and after != before:
        reduced = [at for at, (_, s) in enumerate(pieces) if s.upper() in gone]
        attrs = attrs.replaced(axis=reduced, exclude=False)
    kept = [
        (1 if size and sign.upper() in gone else size, sign) for size, sign in pieces
        if attrs.keepdims or sign.upper() not in gone
    ]  # fmt: skip
    return Output([after], [joined(kept)], attrs)


def _axes(axis: Any, rank: int) -> list[int]:
    given = axis if hasattr(axis, "__len__") else [axis]
    return [int(at) % rank for at in given]


def _split(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output | None:
    ret = old[0]
    sections = attrs.indices_or_sections
    count = len(sections) + 1 if hasattr(sections, "__len__") else int(sections)
    if ret is None:
        return None
    if new is not None and new[0] is not None:
        letter = letters(ret)[attrs.axis]
        size = block(new[0], letter)
        if not _split_fits(sections, size, types[0], ret, letter) or letter not in new[0]:
            return None
        if hasattr(sections, "__len__"):
            sections = [int(at) // size for at in sections]
        ret = new[0]
        where = letters(ret).index(letter)
        attrs = attrs.replaced(axis=where, indices_or_sections=sections)
    return Output([ret], [ret] * count, attrs)


def _split_fits(sections: Any, size: int, found: Any, layout: str, letter: str) -> bool:
    if hasattr(sections, "__len__"):
        return all(int(at) % size == 0 for at in sections)
    return _divides(found, layout, letter, size * int(sections)) or size == 1


def _squeeze(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output | None:
    before = old[0]
    if before is None or is_split(before):
        return None
    axes = _ones(types[0]) if attrs.axis is None else _axes(attrs.axis, len(before))
    gone = {before[at] for at in axes}
    after = before if new is None or new[0] is None else new[0]
    if any(block(after, letter) > 1 or letter not in after for letter in gone):
        return None
    out = joined([(size, s) for size, s in parts(after) if s.upper() not in gone])
    if after != before:
        attrs = attrs.replaced(axis=[letters(after).index(before[at]) for at in axes])
    return Output([after], [out], attrs)


def _ones(found: TensorType) -> list[int]:
    return [
        at for at, extent in enumerate(found.shape)
        if isinstance(extent, IntImm) and extent.value == 1
    ]  # fmt: skip


def _strided_slice(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    before = old[0]
    if before is None or is_split(before):
        return None
    if new is None or new[0] is None or new[0] == before:
        return Output([before], [before], attrs)
    if attrs.axes is not None:
        if is_split(new[0]):
            return None
        axes = [new[0].index(before[at]) for at in _axes(attrs.axes, len(before))]
        return Output([new[0]], [new[0]], attrs.replaced(axes=axes))
    shape = [getattr(extent, "value", None) for extent in types[0].shape]
    if None in shape or attrs.begin is None or attrs.end is None:
        return None
    size_mode = attrs.slice_mode == "size"
    begin = [*map(int, attrs.begin), *[0] * (len(before) - len(attrs.begin))]
    whole = [-1] * len(before) if size_mode else [int(extent) for extent in shape]  # type: ignore[arg-type]
    end = [*map(int, attrs.end), *whole[len(attrs.end) :]]
    strides = [*map(int, attrs.strides or [1]), *[1] * len(before)]
    strides = strides[: len(before)] if len(attrs.strides or [1]) != 1 else [
        strides[0]] * len(before)  # fmt: skip
    moved: list[tuple[int, int, int]] = []
    for size, sign in parts(new[0]):
        at = before.index(sign.upper())
        found = _block_slice(
            begin[at], end[at], strides[at], whole[at], block(new[0], sign), size_mode
        )
        if found is None:
            return None
        moved.append((0, size if not size_mode else -1, 1) if size else found)
    b, e, s = (list(one) for one in zip(*moved))
    return Output([new[0]], [new[0]], attrs.replaced(begin=b, end=e, strides=s))


def _block_slice(
    begin: int, end: int, stride: int, whole: int, size: int, size_mode: bool
) -> tuple[int, int, int] | None:
    """A slice of an axis in whole blocks; None if it goes through one."""
    if size == 1:
        return begin, end, stride
    if stride != 1 or begin % size or begin < 0:
        return None
    if end == whole and (end < 0 or size_mode):
        return begin // size, end, 1
    end = min(end, whole) if not size_mode else end
    return None if end % size or end < 0 else (begin // size, end // size, 1)


def _pad(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output | None:
    ret = old[0]
    if ret is None:
        return None
    if new is not None and new[0] is not None and new[0] != ret:
        widths = dict(zip(letters(ret), attrs.pad_width))
        moved: list[Any] = []
        for size, sign in parts(new[0]):
            width = widths.get(sign.upper(), (0, 0))
            if block(new[0], sign) > 1 and any(int(side) for side in width):
                return Output([ret, ""], [ret], attrs)  # blocks cannot be padded
            moved.append((0, 0) if size else tuple(width))
        ret, attrs = new[0], attrs.replaced(pad_width=moved)
    return Output([ret, *[""] * (len(old) - 1)], [ret], attrs)


def _fixed(inputs: Sequence[str], outputs: Sequence[str]) -> Rule:
    return lambda attrs, new, old, types: Output(list(inputs), list(outputs), attrs)


def _packed(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
    return Output(["NC", str(attrs.weight_layout)], ["NC"], attrs)


def _qnn_binary(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    """As `broadcast` for the two tensors; scales and zero points are of the channels."""
    found = broadcast(attrs, None if new is None else new[:2], old[:2], types[:2])
    if found is None or None in found.input_layouts:
        return None
    return Output([*found.input_layouts, *["C"] * 6], found.output_layouts, found.new_attrs)


def _requantize(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    """Scales and zero points belong to an axis, which moves with its letter."""
    ret = old[0]
    if new is not None and new[0] is not None and ret is not None:
        axis = int(attrs.axis) % len(parts(ret))
        letter = letters(ret)[axis]
        if block(new[0], letter) > 1:
            return None
        ret, attrs = new[0], attrs.replaced(axis=letters(new[0]).index(letter))
    return None if ret is None else Output([ret, *["C"] * (len(old) - 1)], [ret], attrs)


def _qnn_concatenate(
    attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]
) -> Output | None:
    count = len(types[0].fields)
    found = _concatenate(attrs, None if new is None else new[:count], old[:count], types)
    if found is None:
        return None
    params = [["C"] * (len(t.fields) if isinstance(t, TupleType) else 1) for t in types[1:]]
    flat = [layout for group in params for layout in group]
    return Output([*found.input_layouts, *flat], found.output_layouts, found.new_attrs)


_RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (
            "nn.relu", "nn.leaky_relu", "nn.dropout", "cast", "clip", "copy", "device_copy",
            "zeros_like", "ones_like", "annotation.stop_fusion", "fixed_point_multiply",
        ),
        elementwise,
    ),
    **dict.fromkeys(("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose",
                     "nn.conv2d_transpose", "nn.conv3d_transpose",
                     "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc",
                     "nn.contrib_conv2d_gemm_without_weight_transform"),
                    _convolution),
    "nn.deformable_conv2d": _deformable,
    **dict.fromkeys(("qnn.conv2d", "qnn.conv2d_transpose"), _qnn_convolution),
    **dict.fromkeys((
        *[f"nn.{k}_pool{d}d" for k in ("max", "avg") for d in (1, 2, 3)],
        *[f"nn.global_{k}_pool{d}d" for k in ("max", "avg") for d in (1, 2, 3)],
        *[f"nn.adaptive_{k}_pool{d}d" for k in ("max", "avg") for d in (1, 2, 3)],
    ), _own_layout),
    **dict.fromkeys(("image.resize1d", "image.resize2d", "image.resize3d"), _resize),
    **dict.fromkeys(("nn.upsampling", "nn.upsampling3d"), _upsampling),
    "qnn.avg_pool2d": _qnn_pool,
    **dict.fromkeys(("vision.roi_align", "vision.roi_pool"), _regions),
    "nn.batch_norm": _along_axis(4, 2),
    **dict.fromkeys(("nn.instance_norm", "nn.layer_norm"), _along_axis(2, 0)),
    "topk": _topk,
    "nn.l2_normalize": _l2_normalize,
    "slice_like": _slice_like,
    "concatenate": _concatenate,
    "transpose": _transpose,
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "all", "any", "argmax", "argmin"),
                    _reduce),
    "split": _split,
    "squeeze": _squeeze,
    "strided_slice": _strided_slice,
    "nn.pad": _pad,
    "nn.dense": _fixed(["NC", "NC"], ["NC"]),
    "nn.contrib_dense_pack": _packed,
    "qnn.requantize": _requantize,
    "qnn.concatenate": _qnn_concatenate,
    **dict.fromkeys(("qnn.add", "qnn.subtract", "qnn.mul"), _qnn_binary),
}  # fmt: skip


def rule_of(op: Op) -> Rule | None:
    """The rule of an operator: the one that was registered, ours, or that of its kind."""
    own = op.own_attr("FInferCorrectLayout")
    if own is not None:
        return _with_objects(own)
    found = _RULES.get(op.name)
    if found is not None:
        return found
    if op.name not in OPS or op.get_attr("TOpPattern") not in (0, 1):
        return None
    if op.num_inputs == 1 and not op.attrs_type_key:
        return elementwise
    return broadcast if op.num_inputs == 2 and not op.attrs_type_key else None


DERIVED["FInferCorrectLayout"] = rule_of


def _with_objects(rule: Callable[..., Any]) -> Rule:
    """A rule of a user, which sees layouts as `tvm.tir.Layout`."""
    from tvm.tir.data_layout import layout

    def objects(layouts: Layouts | None) -> Any:
        if layouts is None:
            return None
        return [layout("__undef__" if name is None else name) for name in layouts]

    def names(layouts: Sequence[Any]) -> list[str | None]:
        found = [getattr(one, "name", one) for one in layouts]
        return [None if name == "__undef__" else name for name in found]

    def wrapped(attrs: Any, new: Layouts | None, old: Layouts, types: Sequence[Any]) -> Output:
        made = rule(attrs, objects(new), objects(old), types)
        return Output(names(made.input_layouts), names(made.output_layouts), made.new_attrs)

    return wrapped
