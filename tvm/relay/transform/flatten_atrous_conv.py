"""Convolutions between `space_to_batch_nd` and `batch_to_space_nd` as dilated convolutions.

    batch_to_space_nd(nn.conv2d(space_to_batch_nd(%x, b, p), %w), b, c)
    ->
    nn.conv2d(%x, %w, dilation=b, padding=p - c)

The blocks hold every b-th point, so that a plain filter on them is one with gaps on the image.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call
from tvm.relay.traverse import transform

from .function_pass import expr_pass


@expr_pass("FlattenAtrousConv", opt_level=0)
def FlattenAtrousConv(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with dilated convolutions instead of rearranged images."""
    return transform(func, lambda old, new: _flat(new) or new)


def _is(expr: RelaxExpr, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _flat(last: Any) -> RelaxExpr | None:
    if not _is(last, "nn.batch_to_space_nd"):
        return None
    conv: Any = last.args[0]
    name = next((n for n in ("nn.conv2d", "qnn.conv2d") if _is(conv, n)), None)
    if name is None or not _is(conv.args[0], "nn.space_to_batch_nd"):
        return None
    first: Any = conv.args[0]
    o: Any = conv.attrs
    blocks = [int(b) for b in first.attrs.block_shape]
    plain = (
        blocks == [int(b) for b in last.attrs.block_shape] and len(blocks) == 2
        and o.data_layout == "NHWC" and o.out_layout in ("", "NHWC")
        and all(int(p) == 0 for p in o.padding) and all(int(s) == 1 for s in o.strides)
        and all(int(d) == 1 for d in o.dilation)
    )  # fmt: skip
    if not plain or float(first.attrs.pad_value) != 0:
        return None
    pads = [
        [int(p) - int(c) for p, c in zip(pair, crop)]
        for pair, crop in zip(first.attrs.paddings, last.attrs.crops)
    ]
    if any(p < 0 for pair in pads for p in pair):
        return None
    padding = (pads[0][0], pads[1][0], pads[0][1], pads[1][1])
    attrs = o.replaced(dilation=tuple(blocks), padding=padding)
    return Call(conv.op, [first.args[0], *conv.args[1:]], attrs, conv.type_args, last.span)
