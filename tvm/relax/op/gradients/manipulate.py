"""Gradients of operators that make or rearrange tensors: the elements go back where they came from.

Where an element was copied, its gradients are summed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Tuple, TupleGetItem, Var
from tvm.relax.op.create import tril, triu
from tvm.relax.op.declare import options_of
from tvm.relax.op.gather import collapse_sum_to
from tvm.relax.op.index import strided_slice
from tvm.relax.op.manipulate import (
    broadcast_to,
    concat,
    flip,
    layout_transform,
    permute_dims,
    reshape,
    split,
    squeeze,
    tuple_items,
)
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
    """Gradient of `full_like`: what fills the tensor gets the sum."""
    return [*no_grads(orig_call.args[:1]), sum_(output_grad)]


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
    back, padding = index_map.non_surjective_inverse(numbers(x))
    if const_int(padding) != 0:
        raise refuse(call, f"a layout with padding, of shape {numbers(x)}", "one without padding")
    return layout_transform(g, back)


def _unpadded(call: Call, x: Expr, g: Expr) -> Expr:
    """`nn.pad` by a constant: the elements between the padding."""
    o = options_of(call)
    if o["pad_mode"] != "constant":
        raise refuse(call, f"pad_mode {o['pad_mode']!r}", "'constant'")
    before = [int(n) for n in o["pad_width"][::2]]
    ends = [simplify(extent + low) for extent, low in zip(extents(x), before)]
    return strided_slice(g, list(range(len(before))), before, ends, assume_inbound=True)


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
    operands = orig_call.args[0]
    infos = _item_shapes(operands)
    axis = options_of(orig_call)["axis"] or 0
    places: list[int] = []
    end = 0
    for info in infos[:-1]:
        known = None if info.values is None else const_int(info.values[axis])
        if known is None:
            raise refuse(orig_call, f"{info} along axis {axis}", "constant extents there")
        end += known
        places.append(end)
    if not places:
        return [Tuple([output_grad])]
    return [split(output_grad, places, axis)]


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
