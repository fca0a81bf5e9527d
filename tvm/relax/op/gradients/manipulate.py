"""Gradients of operators that make or rearrange tensors: the elements go back where they came from.

Where an element was copied, its gradients are summed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relax.op.binary import add
from tvm.relax.op.create import tril, triu
from tvm.relax.op.declare import options_of
from tvm.relax.op.gather import collapse_sum_to
from tvm.relax.op.index import strided_slice, take
from tvm.relax.op.manipulate import (
    broadcast_to,
    concat,
    flip,
    layout_indices,
    layout_transform,
    permute_dims,
    reshape,
    split,
    squeeze,
    tuple_items,
)
from tvm.relax.op.nn.pad import pad
from tvm.relax.op.statistical import sum as sum_
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo, const_int

from .common import (
    Expr,
    Rule,
    extents,
    gradient_of,
    no_grads,
    numbers,
    refuse,
    shape,
    without_gradient,
)

Formula = Callable[[Call, Expr, Expr], Expr]


def _moved(name: str, formula: Formula) -> Rule:
    """The rule of an operator whose first operand is a tensor: `formula(call, x, gradient)`."""

    def rule(orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder) -> list[Expr]:
        x = orig_call.args[0]
        return [formula(orig_call, x, output_grad), *no_grads(orig_call.args[1:])]

    rule.__name__ = rule.__qualname__ = f"{name.rpartition('.')[2]}_grad"
    rule.__doc__ = f"Gradient of `{name}`."
    return gradient_of(f"relax.{name}")(rule)


# --- made of nothing, or of shapes only ---

for _name in ("arange", "eye", "eye_like", "hamming_window", "one_hot", "bucketize", "shape_of"):
    without_gradient(_name)
zeros_like_grad = without_gradient("zeros_like")
ones_like_grad = without_gradient("ones_like")
zeros_grad = without_gradient("zeros")
ones_grad = without_gradient("ones")


@gradient_of("relax.full_like")
def full_like_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `full_like`: none flows."""
    return no_grads(orig_call.args)


@gradient_of("relax.full")
def full_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `full`: what fills the tensor gets the sum."""
    return [*no_grads(orig_call.args[:1]), sum_(output_grad)]


triu_grad = _moved("triu", lambda call, x, g: triu(g, call.args[1]))
tril_grad = _moved("tril", lambda call, x, g: tril(g, call.args[1]))

# --- shape and order ---

broadcast_to_grad = _moved("broadcast_to", lambda call, x, g: collapse_sum_to(g, shape(x)))
reshape_grad = _moved("reshape", lambda call, x, g: reshape(g, shape(x)))
flatten_grad = _moved("flatten", lambda call, x, g: reshape(g, shape(x)))
expand_dims_grad = _moved("expand_dims", lambda call, x, g: squeeze(g, options_of(call)["axis"]))
squeeze_grad = _moved("squeeze", lambda call, x, g: reshape(g, shape(x)))
collapse_sum_to_grad = _moved("collapse_sum_to", lambda call, x, g: broadcast_to(g, shape(x)))
collapse_sum_like_grad = _moved(
    "collapse_sum_like", lambda call, x, g: broadcast_to(g, shape(x))
)
flip_grad = _moved("flip", lambda call, x, g: flip(g, options_of(call)["axis"]))
dropout_grad = _moved("nn.dropout", lambda call, x, g: TupleGetItem(g, 0))


def _permuted_back(call: Call, x: Expr, g: Expr) -> Expr:
    axes = options_of(call)["axes"]
    if axes is None:
        return permute_dims(g)
    order = [a % len(axes) for a in axes]
    return permute_dims(g, [order.index(i) for i in range(len(order))])


def _from_copies(call: Call, x: Expr, g: Expr) -> Expr:
    """`repeat`: the copies of an element stand side by side."""
    repeats, axis = options_of(call)["repeats"], options_of(call)["axis"]
    if axis is None:
        return reshape(sum_(reshape(g, [-1, repeats]), 1), shape(x))
    values = list(extents(x))
    at = axis % len(values)
    total: Expr = sum_(reshape(g, [*values[: at + 1], repeats, *values[at + 1 :]]), at + 1)
    return total


def _from_tiles(call: Call, x: Expr, g: Expr) -> Expr:
    """`tile`: the copies of the whole tensor stand side by side."""
    values, repeats = list(extents(x)), list(options_of(call)["repeats"])
    ndim = max(len(values), len(repeats))
    values = [*([1] * (ndim - len(values))), *values]  # type: ignore[list-item]
    repeats = [*([1] * (ndim - len(repeats))), *repeats]
    pairs = [extent for pair in zip(repeats, values) for extent in pair]
    total = sum_(reshape(g, pairs), list(range(0, 2 * ndim, 2)))
    return reshape(total, shape(x))


def _layout_back(call: Call, x: Expr, g: Expr) -> Expr:
    index_map = options_of(call)["index_map"]
    back, padding = index_map.non_surjective_inverse(extents(x))
    if const_int(padding) == 0:
        return layout_transform(g, back)
    # elements are read where they went, which padding does not
    indices = layout_indices(index_map, tuple(numbers(x)))
    flat = np.ravel_multi_index(indices, numbers(g))
    return reshape(take(reshape(g, [-1]), Constant(flat.ravel().astype("int64"))), shape(x))


def _part(x: Expr, axis: int, begin: Any, end: Any) -> Expr:
    return strided_slice(x, [axis], [begin], [end], assume_inbound=True)


def _unpadded(call: Call, x: Expr, g: Expr) -> Expr:
    """`nn.pad`: the elements between the padding, and to them what was copied of them."""
    o = options_of(call)
    widths = o["pad_width"]
    for axis, extent in enumerate(extents(x)):
        before, after = int(widths[2 * axis]), int(widths[2 * axis + 1])
        if before or after:
            g = _UNPADDED[o["pad_mode"]](g, axis, extent, before, after)
    return g


def _between(g: Expr, axis: int, extent: PrimExpr, before: int, after: int) -> Expr:
    first, last = max(-before, 0), max(-after, 0)  # elements that were cut off
    size = const_int(extent)
    if size is not None:
        first = min(first, size)
        last = min(last, size - first)
    begin = max(before, 0)
    kept = _part(g, axis, begin, simplify(extent + (begin - first - last)))
    if not first and not last:
        return kept
    widths = [0] * (2 * len(extents(g)))
    widths[2 * axis : 2 * axis + 2] = first, last
    return pad(kept, widths)


def _added(x: Expr, axis: int, extent: PrimExpr, at: Any, count: int, share: Expr) -> Expr:
    """`share`, of `count` along the axis, added to x from `at` on."""
    stop = simplify(at + count)
    middle = add(_part(x, axis, at, stop), share)
    return concat([_part(x, axis, 0, at), middle, _part(x, axis, stop, extent)], axis)


def _unreflected(g: Expr, axis: int, extent: PrimExpr, before: int, after: int) -> Expr:
    """Padding mirrors what lies beside the first and the last element."""
    x, end = _between(g, axis, extent, before, after), simplify(extent + before)
    if before:
        x = _added(x, axis, extent, 1, before, flip(_part(g, axis, 0, before), axis))
    if after:
        share = flip(_part(g, axis, end, simplify(end + after)), axis)
        x = _added(x, axis, extent, simplify(extent - 1 - after), after, share)
    return x


def _unrepeated(g: Expr, axis: int, extent: PrimExpr, before: int, after: int) -> Expr:
    """Padding repeats the first and the last element."""
    x, end = _between(g, axis, extent, before, after), simplify(extent + before)
    if before:
        x = _added(x, axis, extent, 0, 1, sum_(_part(g, axis, 0, before), axis, keepdims=True))
    if after:
        share = sum_(_part(g, axis, end, simplify(end + after)), axis, keepdims=True)
        x = _added(x, axis, extent, simplify(extent - 1), 1, share)
    return x


def _unwrapped(g: Expr, axis: int, extent: PrimExpr, before: int, after: int) -> Expr:
    """Padding goes on at the other end."""
    x, end = _between(g, axis, extent, before, after), simplify(extent + before)
    if before:
        share = _part(g, axis, 0, before)
        x = _added(x, axis, extent, simplify(extent - before), before, share)
    if after:
        x = _added(x, axis, extent, 0, after, _part(g, axis, end, simplify(end + after)))
    return x


_UNPADDED = {
    "constant": _between, "reflect": _unreflected, "replicate": _unrepeated,
    "circular": _unwrapped,
}  # fmt: skip


def _unshuffled(call: Call, x: Expr, g: Expr) -> Expr:
    """`nn.pixel_shuffle`: the pixels of a block go back to channels."""
    r = int(options_of(call)["upscale_factor"])
    *lead, c, h, w = extents(x)
    n = len(lead)
    blocks = reshape(g, [*lead, simplify(c // (r * r)), h, r, w, r])
    order = [*range(n + 1), n + 2, n + 4, n + 1, n + 3]
    return reshape(permute_dims(blocks, order), shape(x))


permute_dims_grad = _moved("permute_dims", _permuted_back)
repeat_grad = _moved("repeat", _from_copies)
tile_grad = _moved("tile", _from_tiles)
layout_transform_grad = _moved("layout_transform", _layout_back)
pad_grad = _moved("nn.pad", _unpadded)
pixel_shuffle_grad = _moved("nn.pixel_shuffle", _unshuffled)

# --- joining and dividing ---


def _item_shapes(operands: Expr) -> list[TensorStructInfo]:
    info = operands.struct_info
    assert isinstance(info, TupleStructInfo), "operands are tuples of tensors"
    return [field for field in info.fields if isinstance(field, TensorStructInfo)]


@gradient_of("relax.concat")
def concat_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `concat`: the gradient divided where the tensors met."""
    infos = _item_shapes(orig_call.args[0])
    axis = options_of(orig_call)["axis"] or 0
    if len(infos) == 1:
        return [Tuple([output_grad])]
    counts = [None if info.values is None else info.values[axis] for info in infos]
    known = [None if count is None else const_int(count) for count in counts]
    if all(count is not None for count in known[:-1]):
        offsets = list(itertools.accumulate(count or 0 for count in known[:-1]))
        return [split(output_grad, offsets, axis)]
    parts: list[Expr] = []
    begin: Any = 0
    for info, count in zip(infos, counts):
        if count is None:
            raise refuse(orig_call, f"{info} along axis {axis}", "known extents there")
        end = simplify(begin + count)
        parts.append(_part(output_grad, axis, begin, end))
        begin = end
    return [Tuple(parts)]


@gradient_of("relax.split")
def split_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `split`: the gradients of the parts joined."""
    return [concat(output_grad, options_of(orig_call)["axis"])]


@gradient_of("relax.stack")
def stack_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `stack`: the layers of the gradient."""
    count = len(_item_shapes(orig_call.args[0]))
    axis = options_of(orig_call)["axis"] or 0
    if count == 1:
        return [Tuple([squeeze(output_grad, axis)])]
    parts = split(output_grad, count, axis)
    return [Tuple([squeeze(TupleGetItem(parts, i), axis) for i in range(count)])]


@gradient_of("relax.meshgrid")
def meshgrid_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `meshgrid`: the sum over the dimensions of the others."""
    count = len(tuple_items(ctx, orig_call.args[0]))
    order = list(range(count))
    if options_of(orig_call)["indexing"] == "xy" and count > 1:
        order[0], order[1] = 1, 0
    grads: list[Any] = []
    for i, own in enumerate(order):
        part: Expr = TupleGetItem(output_grad, i)
        others = [axis for axis in range(count) if axis != own]
        grads.append(sum_(part, others) if others else part)
    return [Tuple(grads)]
