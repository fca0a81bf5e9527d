"""Gradients of reading and writing at places: what was read is written, and the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, PrimValue, TupleGetItem, Var
from tvm.relax.op.create import zeros
from tvm.relax.op.declare import options_of
from tvm.relax.op.gather import (
    gather_elements,
    gather_nd,
    index_put,
    index_tensor,
    scatter_elements,
    scatter_nd,
    slice_scatter,
)
from tvm.relax.op.grad.grad import take_backward
from tvm.relax.op.index import known_prims, strided_slice
from tvm.relax.op.manipulate import expand_dims, flip
from tvm.relax.op.qdq import quantize
from tvm.relax.op.sampling import multinomial_from_uniform
from tvm.relax.op.set import nonzero, unique
from tvm.relax.op.sorting import argsort, topk
from tvm.relax.op.vision.nms import all_class_non_max_suppression
from tvm.relax.struct_info import PrimStructInfo, ShapeExpr, const_int

from .common import (
    Expr,
    dtype_of,
    fit,
    gradient_of,
    no_grads,
    numbers,
    refuse,
    shape,
    without_gradient,
)


def zeros_of(x: Expr, shape_of: ShapeExpr | None = None) -> Expr:
    """Zeros in the data type of `x`, and in its shape if no other is given."""
    made: Expr = zeros(shape(x) if shape_of is None else shape_of, dtype_of(x))
    return made


for _op in (
    nonzero, argsort, unique, multinomial_from_uniform, quantize, all_class_non_max_suppression,
):  # fmt: skip
    without_gradient(_op.op.name.removeprefix("relax."))


@gradient_of("relax.take")
def take_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `take`: each part goes back to where it was taken."""
    x, indices = orig_call.args
    axis = options_of(orig_call)["axis"]
    if not isinstance(indices.struct_info, PrimStructInfo):
        return [take_backward(output_grad, x, indices, axis), *no_grads((indices,))]
    place = const_int(_value(indices))
    if place is None:
        raise refuse(orig_call, f"the index {indices}", "a constant, or a tensor of indices")
    row = expand_dims(output_grad, axis or 0)
    places = Constant(np.asarray([place], np.int64))
    return [take_backward(row, x, places, axis), *no_grads((indices,))]


@gradient_of("relax.gather_elements")
def gather_elements_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `gather_elements`: added up where the elements were read."""
    data, indices = orig_call.args
    axis = options_of(orig_call)["axis"]
    grad = scatter_elements(zeros_of(data), indices, output_grad, axis, "add")
    return [grad, *no_grads((indices,))]


@gradient_of("relax.gather_nd")
def gather_nd_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `gather_nd`: added up where the parts were read."""
    data, indices = orig_call.args
    batch_dims = options_of(orig_call)["batch_dims"]
    if batch_dims:
        raise refuse(orig_call, f"batch_dims {batch_dims}", "0")
    return [scatter_nd(zeros_of(data), indices, output_grad, "add"), *no_grads((indices,))]


@gradient_of("relax.index_tensor")
def index_tensor_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `index_tensor`: added up where the elements were read."""
    data, indices = orig_call.args
    grad = index_put(zeros_of(data), indices, output_grad, accumulate=True)
    return [grad, *no_grads((indices,))]


@gradient_of("relax.index_put")
def index_put_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `index_put`: what was overwritten gets none."""
    _, indices, values = orig_call.args
    kept: Expr = output_grad
    if not options_of(orig_call)["accumulate"]:
        kept = index_put(output_grad, indices, zeros_of(values), accumulate=False)
    written = fit(ctx, index_tensor(output_grad, indices), values)
    return [kept, *no_grads((indices,)), written]


@gradient_of("relax.scatter_elements")
def scatter_elements_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `scatter_elements`: what was overwritten gets none."""
    _, indices, updates = orig_call.args
    axis, reduction = options_of(orig_call)["axis"], options_of(orig_call)["reduction"]
    _check_reduction(orig_call, reduction)
    kept: Expr = output_grad
    if reduction == "update":
        kept = scatter_elements(output_grad, indices, zeros_of(updates), axis, "update")
    return [kept, *no_grads((indices,)), gather_elements(output_grad, indices, axis)]


@gradient_of("relax.scatter_nd")
def scatter_nd_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `scatter_nd`: what was overwritten gets none."""
    _, indices, updates = orig_call.args
    reduction = options_of(orig_call)["reduction"]
    _check_reduction(orig_call, reduction)
    kept: Expr = output_grad
    if reduction == "update":
        kept = scatter_nd(output_grad, indices, zeros_of(updates), "update")
    return [kept, *no_grads((indices,)), gather_nd(output_grad, indices)]


def _check_reduction(call: Call, reduction: str) -> None:
    if reduction not in ("update", "add"):
        raise refuse(call, f"reduction {reduction!r}", "'update', 'add'")


@gradient_of("relax.slice_scatter")
def slice_scatter_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradients of `slice_scatter`: the slice for what was written, the rest for the data."""
    _, src, *bounds = orig_call.args
    axis = options_of(orig_call)["axis"]
    start, end, step = bounds
    kept = slice_scatter(output_grad, zeros_of(src), start, end, step, axis)
    low, high, by = ([_value(bound)] for bound in bounds)
    written = strided_slice(output_grad, [axis], low, high, by)
    return [kept, written, *no_grads(bounds)]


def _value(bound: Expr) -> Any:
    info = bound.struct_info
    return info.value if isinstance(info, PrimStructInfo) else bound


@gradient_of("relax.strided_slice")
def strided_slice_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `strided_slice`: zeros with the gradient in the place of the slice."""
    x, *operands = orig_call.args
    parts = [known_prims(operand) for operand in operands]
    found = [None if part is None else [const_int(value) for value in part] for part in parts]
    if any(part is None or None in part for part in found):
        raise refuse(orig_call, "bounds that are not constant", "integers")
    axes, begins, ends = ([n or 0 for n in part or ()] for part in found[:3])
    strides = [n or 1 for n in found[3] or ()] if len(found) > 3 else [1] * len(axes)
    sizes = numbers(x)
    steps: list[tuple[int, range, list[int]]] = []
    for axis, begin, end, stride in zip(axes, begins, ends, strides):
        at = axis % len(sizes)
        stop = None if stride < 0 and end < -sizes[at] else end
        places = range(sizes[at])[begin:stop:stride]
        steps.append((at, places, list(sizes)))
        sizes[at] = len(places)
    grad: Expr = output_grad
    for at, places, before in reversed(steps):
        if not places:
            grad = zeros_of(x, ShapeExpr(before))
            continue
        if places.step < 0:
            grad, places = flip(grad, at), places[::-1]
        low, high, step = (PrimValue(n) for n in (places[0], places[-1] + 1, places.step))
        grad = slice_scatter(zeros_of(x, ShapeExpr(before)), grad, low, high, step, axis=at)
    return [grad, *no_grads(operands)]


@gradient_of("relax.sort")
def sort_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `sort`: each element's goes back to where it stood."""
    data = orig_call.args[0]
    o = options_of(orig_call)
    order = argsort(data, o["axis"], o["descending"], "int64")
    return [scatter_elements(zeros_of(data), order, output_grad, o["axis"], "add")]


@gradient_of("relax.topk")
def topk_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `topk`: the largest elements' go back to where they stood."""
    data = orig_call.args[0]
    o = options_of(orig_call)
    if o["ret_type"] == "indices":
        return no_grads(orig_call.args)
    places: Expr
    grad: Expr
    if o["ret_type"] == "both":
        places, grad = TupleGetItem(orig_var, 1), TupleGetItem(output_grad, 0)
    else:
        places = topk(data, o["k"], o["axis"], "indices", o["largest"], "int64")
        grad = output_grad
    return [scatter_elements(zeros_of(data), places, grad, o["axis"], "add")]
