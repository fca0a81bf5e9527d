"""Gradients of reading and writing at indices: a read becomes a write, and the reverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, PrimValue, TupleGetItem, Var
from tvm.relax.op.binary import add, less, maximum, minimum, multiply
from tvm.relax.op.create import arange, zeros
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
from tvm.relax.op.index import known_prims, strided_slice, take
from tvm.relax.op.manipulate import (
    broadcast_to,
    concat,
    expand_dims,
    flip,
    permute_dims,
    reshape,
    stack,
)
from tvm.relax.op.qdq import quantize
from tvm.relax.op.sampling import multinomial_from_uniform
from tvm.relax.op.search import where
from tvm.relax.op.set import nonzero, unique
from tvm.relax.op.sorting import argsort, topk
from tvm.relax.op.vision.nms import all_class_non_max_suppression
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import PrimStructInfo, ShapeExpr, TensorStructInfo, const_int
from tvm.tir import op as tir_op
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar

from .common import (
    Expr,
    dtype_of,
    extents,
    fit,
    gradient_of,
    no_grads,
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
    index = const_int(_value(indices))
    if index is None:
        raise refuse(orig_call, f"the index {indices}", "a constant, or a tensor of indices")
    row = expand_dims(output_grad, axis or 0)
    index_row = Constant(np.asarray([index], np.int64))
    return [take_backward(row, x, index_row, axis), *no_grads((indices,))]


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
    full_indices = _with_batch(indices, options_of(orig_call)["batch_dims"])
    return [scatter_nd(zeros_of(data), full_indices, output_grad, "add"), *no_grads((indices,))]


def _with_batch(indices: Expr, batch_dims: int) -> Expr:
    """Indices (batch..., j..., m) with the numbers of the batch in front of the m."""
    values = list(extents(indices))
    own = []
    for k in range(batch_dims):
        numbers_of = arange(PrimValue(values[k]), dtype=dtype_of(indices))
        column = reshape(numbers_of, [values[k] if i == k else 1 for i in range(len(values))])
        own.append(broadcast_to(column, [*values[:-1], 1]))
    return concat([*own, indices], -1) if own else indices


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
    """Gradient of `strided_slice`: zeros with the gradient written where the slice was read."""
    x, *operands = orig_call.args
    found = [known_prims(operand) for operand in operands]
    axes = [const_int(axis) for axis in found[0] or ()]
    if any(part is None for part in found) or None in axes:
        raise refuse(orig_call, "axes or bounds in variables", "numbers written out")
    bounds = [list(part or ()) for part in found[1:]]
    begins, ends = bounds[:2]
    strides = bounds[2] if len(bounds) > 2 else [IntImm("int64", 1)] * len(axes)
    values = list(extents(x))
    steps: list[tuple[int, list[PrimExpr], _Range]] = []
    for axis, begin, end, stride in zip(axes, begins, ends, strides):
        at = (axis or 0) % len(values)
        sizes = list(values)
        selected = _slice_range(orig_call, sizes[at], begin, end, stride)
        values[at] = extents(output_grad)[at]
        steps.append((at, sizes, selected))
    grad: Expr = output_grad
    for at, sizes, selected in reversed(steps):
        grad = _put_along(grad, at, zeros_of(x, ShapeExpr(sizes)), selected)
    return [grad, *no_grads(operands)]


_Range = range | tuple[PrimExpr, int]  # all of them, or the first and the step


def _slice_range(
    call: Call, extent: PrimExpr, begin: PrimExpr, end: PrimExpr, stride: PrimExpr
) -> _Range:
    """Where a slice along one axis reads."""
    step = const_int(stride)
    if step is None:
        raise refuse(call, f"the stride {stride}", "an integer")
    size, low, high = const_int(extent), const_int(begin), const_int(end)
    if size is not None and low is not None and high is not None:
        stop = None if step < 0 and high < -size else high
        return range(size)[low:stop:step]
    if low is None:
        first = tir_op.if_then_else(begin < 0, begin + extent, begin)
    else:
        first = begin + extent if low < 0 else begin
    last = extent - 1 if step < 0 else extent
    return simplify(tir_op.max(tir_op.min(first, last), IntImm("int64", -(step < 0)))), step


def _put_along(grad: Expr, at: int, zeros_: Expr, selected: _Range) -> Expr:
    """Zeros with the gradient of a slice written where the slice was read."""
    if isinstance(selected, range):
        if not selected:
            return zeros_
        if selected.step < 0:
            grad, selected = flip(grad, at), selected[::-1]
        low, high, step = (PrimValue(n) for n in (selected[0], selected[-1] + 1, selected.step))
        return slice_scatter(zeros_, grad, low, high, step, axis=at)
    first, by = selected
    count = extents(grad)[at]
    rows = multiply(arange(PrimValue(count), dtype="int64"), Constant(np.asarray(by, np.int64)))
    rows = reshape(add(rows, PrimValue(first)), [count, 1])
    ndim = len(extents(zeros_))
    order = [at, *(i for i in range(ndim) if i != at)]
    put = scatter_nd(permute_dims(zeros_, order), rows, permute_dims(grad, order), "add")
    return permute_dims(put, [order.index(i) for i in range(ndim)])


@gradient_of("relax.dynamic_strided_slice")
def dynamic_strided_slice_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `dynamic_strided_slice`: each element's goes back to where it was read."""
    x, begin, end, strides = orig_call.args
    values = extents(x)
    symbols = [TirVar("s", "int64") for _ in values]
    info = TensorStructInfo(ShapeExpr(symbols), dtype_of(output_grad))
    grad = ctx.match_cast(output_grad, info)
    rows = []
    for axis, (extent, count) in enumerate(zip(values, symbols)):
        low, step = (take(part, PrimValue(axis), axis=0) for part in (begin, strides))
        sizes = PrimValue(extent)
        back = less(step, _INT0)
        low = where(less(low, _INT0), add(low, sizes), low)
        up = minimum(maximum(low, _INT0), sizes)
        down = minimum(maximum(low, _INT_1), PrimValue(simplify(extent - 1)))
        row = multiply(arange(PrimValue(count), dtype="int64"), step)
        row = add(row, where(back, down, up))
        shape_of = [count if i == axis else 1 for i in range(len(symbols))]
        rows.append(broadcast_to(reshape(row, shape_of), ShapeExpr(symbols)))
    put = scatter_nd(zeros_of(x), stack(rows, -1), grad, "add")
    return [put, *no_grads((begin, end, strides))]


_INT0, _INT_1 = (Constant(np.asarray(n, np.int64)) for n in (0, -1))


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
    chosen: Expr
    grad: Expr
    if o["ret_type"] == "both":
        chosen, grad = TupleGetItem(orig_var, 1), TupleGetItem(output_grad, 0)
    else:
        chosen = topk(data, o["k"], o["axis"], "indices", o["largest"], "int64")
        grad = output_grad
    return [scatter_elements(zeros_of(data), chosen, grad, o["axis"], "add")]
