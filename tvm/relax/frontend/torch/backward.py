"""The way back through convolutions, average pools and attention, as torch's graphs have it.

Torch writes the other operators of such graphs in plainer ones (see `dynamo_gradients`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.op.gradients import convolution as gradients

from .attention import score_bias
from .registry import convert
from .values import Expr, cast, dtype_of, rank, refuse, scalar, sizes, spread, tensor_of

_CONVOLUTIONS: Final[dict[tuple[bool, int], tuple[Callable[..., Any], Any]]] = {
    (False, 1): (op.nn.conv1d, gradients.conv1d_grad),
    (False, 2): (op.nn.conv2d, gradients.conv2d_grad),
    (False, 3): (op.nn.conv3d, gradients.conv3d_grad),
    (True, 1): (op.nn.conv1d_transpose, gradients.conv1d_transpose_grad),
    (True, 2): (op.nn.conv2d_transpose, gradients.conv2d_transpose_grad),
}


@convert("convolution_backward")
def convolution_backward(
    bb: BlockBuilder, grad_output: Expr, input: Expr, weight: Expr, bias_sizes: Any, stride: Any,
    padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int,
    output_mask: Sequence[bool],
) -> Any:  # fmt: skip
    """The gradients of the data, the weight and the bias; None for what is not asked for."""
    count = rank(input) - 2
    if (transposed, count) not in _CONVOLUTIONS:
        raise refuse("convolution_backward", f"{count} axes, transposed", "one or two")
    forward, rule = _CONVOLUTIONS[transposed, count]
    options = {"strides": spread(stride, count), "padding": spread(padding, count),
               "dilation": spread(dilation, count), "groups": groups}  # fmt: skip
    if transposed:
        options["output_padding"] = spread(output_padding, count)
    found: list[Expr] = []

    def gradient(which: int) -> Expr:
        if not found:
            call = bb.normalize(forward(input, weight, **options))
            found.extend(rule(None, call, grad_output, bb))
        return found[which]

    def of_bias() -> Any:
        return op.sum(grad_output, [0, *range(2, count + 2)])

    made = [lambda: gradient(0), lambda: gradient(1), of_bias]
    return tuple(one if asked else None for one, asked in zip(made, output_mask))


@convert("avg_pool2d_backward")
def avg_pool2d_backward(
    bb: BlockBuilder, grad_output: Expr, input: Expr, kernel_size: Any, stride: Any, padding: Any,
    ceil_mode: bool, count_include_pad: bool, divisor_override: int | None,
) -> Expr:  # fmt: skip
    kernel, pads = spread(kernel_size, 2), spread(padding, 2)
    strides = spread(stride, 2) if stride else kernel
    if ceil_mode:
        raise refuse("avg_pool2d_backward: ceil_mode", "True", "False")
    if divisor_override is not None:
        factor = scalar(math.prod(kernel) / divisor_override, dtype_of(input))
        grad_output, count_include_pad = bb.emit(op.multiply(grad_output, factor)), True
    lead = rank(input) == 3
    grad, data = ((bb.emit(op.expand_dims(x, 0)) if lead else x) for x in (grad_output, input))
    made: Expr = op.grad.avg_pool2d_backward(
        grad, data, pool_size=kernel, strides=strides, padding=[*pads, *pads],
        count_include_pad=count_include_pad,
    )  # fmt: skip
    return op.squeeze(bb.emit(made), [0]) if lead else made


@convert(
    "_scaled_dot_product_flash_attention_for_cpu_backward",
    "_scaled_dot_product_flash_attention_backward",
)
def attention_backward(
    bb: BlockBuilder, grad_out: Expr, query: Expr, key: Expr, value: Expr, out: Expr,
    logsumexp: Expr, dropout_p: float, is_causal: bool, attn_mask: Expr | None = None,
    scale: float | None = None,
) -> Any:  # fmt: skip
    """The gradients of queries, keys and values, each (batch, heads, length, width).

    The shares are made again of the scores and the logarithms of their sums.
    """
    if dropout_p:
        raise refuse("attention_backward: dropout_p", str(dropout_p), "0")
    dtype = dtype_of(query)
    q, k, v, g, o = (cast(bb, x, "float32") for x in (query, key, value, grad_out, out))
    factor: Expr
    if scale is None:
        factor = bb.emit(op.rsqrt(tensor_of(bb, sizes(query)[-1], "float32")))
    else:
        factor = scalar(scale, "float32")
    scores = bb.emit(op.multiply(op.matmul(q, _turned(bb, k)), factor))
    if attn_mask is not None:
        bias = cast(bb, bb.emit(score_bias(bb, attn_mask, query, key)), "float32")
        scores = bb.emit(op.add(scores, bias))
    shares = bb.emit(op.exp(op.subtract(scores, op.expand_dims(logsumexp, -1))))
    if is_causal:
        shares = bb.emit(op.tril(shares))
    moved = op.sum(op.multiply(g, o), -1, True)
    apart = op.subtract(op.matmul(g, _turned(bb, v)), moved)
    pull = bb.emit(op.multiply(op.multiply(shares, apart), factor))
    made = op.matmul(pull, k), op.matmul(_turned(bb, pull), q), op.matmul(_turned(bb, shares), g)
    return tuple(cast(bb, bb.emit(one), dtype) for one in made)


def _turned(bb: BlockBuilder, x: Expr) -> Expr:
    return bb.emit(op.permute_dims(x, [0, 1, 3, 2]))
