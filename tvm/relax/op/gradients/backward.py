"""Gradients of the operators that gradients are written with.

Each is linear in the gradient that it is given: that one's gradient goes the way of the operator
which it belongs to. What it only looks at (windows, indices, classes) gets none.
"""

from __future__ import annotations

import itertools

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Var
from tvm.relax.op.binary import greater
from tvm.relax.op.declare import options_of
from tvm.relax.op.index import strided_slice, take
from tvm.relax.op.layouts import letters_of
from tvm.relax.op.nn.loss import nll_loss
from tvm.relax.op.nn.pad import pad
from tvm.relax.op.nn.pool import avg_pool2d
from tvm.relax.op.relayout import relayout
from tvm.relax.op.search import where
from tvm.relax.struct_info import const_number
from tvm.tir import op as tir_op

from .common import Expr, const, dtype_of, gradient_of, no_grads, numbers


@gradient_of("relax.grad.take_backward")
def take_backward_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `take_backward`: each part is taken from where it was added."""
    _, x, indices = orig_call.args
    taken = take(output_grad, indices, axis=options_of(orig_call)["axis"])
    return [taken, *no_grads((x, indices))]


@gradient_of("relax.grad.nll_loss_backward")
def nll_loss_backward_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `nll_loss_backward`: the loss is linear in what it picks."""
    _, _, targets, *weights = orig_call.args
    o = options_of(orig_call)
    picked = nll_loss(
        output_grad, targets, weights[0] if weights else None, o["reduction"], o["ignore_index"]
    )
    return [picked, *no_grads(orig_call.args[1:])]


@gradient_of("relax.grad.avg_pool2d_backward")
def avg_pool2d_backward_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `avg_pool2d_backward`: the means of the windows."""
    return [avg_pool2d(output_grad, **options_of(orig_call)), *no_grads(orig_call.args[1:])]


@gradient_of("relax.grad.max_pool2d_backward")
def max_pool2d_backward_grad(
    orig_var: Var, orig_call: Call, output_grad: Var, ctx: BlockBuilder
) -> list[Expr]:
    """Gradient of `max_pool2d_backward`: each window gives what stands at its largest."""
    grad, data = orig_call.args
    o, plain = options_of(orig_call), letters_of("NC", 2)
    rows, columns = numbers(relayout(grad, o["out_layout"], plain), 2)
    lowest = const_number(tir_op.min_value(str(dtype_of(data)))) or 0
    x = relayout(data, o["layout"], plain)
    spans, widths = [], [0, 0, 0, 0]
    for i, (extent, count) in enumerate(zip(numbers(x, 2), (rows, columns))):
        spans.append((count - 1) * o["strides"][i] + 1)
        reach = spans[i] + (o["pool_size"][i] - 1) * o["dilation"][i]
        before = o["padding"][i]
        widths += [before, max(reach - extent - before, 0)]
    x = ctx.normalize_argument(pad(x, widths, "constant", lowest))
    g = ctx.normalize_argument(pad(relayout(output_grad, o["layout"], plain), widths))
    largest, picked = const(lowest, data), const(0, output_grad)
    best: Expr = largest
    found: Expr = picked
    for y, z in itertools.product(*map(range, o["pool_size"])):
        begins = [y * o["dilation"][0], z * o["dilation"][1]]
        ends = [begin + span for begin, span in zip(begins, spans)]
        parts = (strided_slice(t, [2, 3], begins, ends, o["strides"]) for t in (x, g))
        seen, own = map(ctx.normalize_argument, parts)
        if best is largest:
            best, found = seen, own
            continue
        above = ctx.normalize_argument(greater(seen, best))
        best = ctx.normalize_argument(where(above, seen, best))
        found = ctx.normalize_argument(where(above, own, found))
    return [relayout(found, plain, o["out_layout"]), *no_grads((data,))]
