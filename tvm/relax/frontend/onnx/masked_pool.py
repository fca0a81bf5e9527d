"""Pools that look at a mask: MaxpoolWithMask."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr

from .agreement import exactly
from .node import Node
from .registry import Result, convert
from .window import window


@convert("com.microsoft.MaxpoolWithMask")
def maxpool_with_mask(node: Node) -> Result:
    """The largest element of each window, whose rows end before the first 0 of the mask.

    (n, c, ...), (1, 1, ...) -> (n, c, ...); the least number where nothing is left. As ONNX Runtime
    has it, the mask of a picture's very first element is not looked at. With several channels of
    masks it reads those of other elements, which nothing asks for.
    """
    rank = node.rank(0)
    kernel = [int(k) for k in node.required("kernel_shape")]
    if rank not in (3, 4, 5) or len(kernel) != rank - 2:
        raise node.unfit(0, "of one to three axes behind the channels, as the kernel", kernel)
    if str(node.attr("auto_pad", "NOTSET")) != "NOTSET":
        raise node.invalid("auto_pad", node.attr("auto_pad"), "NOTSET")
    exactly(node, 1, [1, 1, *node.shape(0)[2:]])
    strides, pads, _ = window(node, kernel)
    spatial = len(kernel)

    def compute(x: te.Tensor, mask: te.Tensor) -> Any:
        axes = [te.reduce_axis((0, k), f"k{i}") for i, k in enumerate(kernel)]
        extents = [
            tir.indexdiv(n + (pads[i] + pads[i + spatial] - kernel[i]), strides[i]) + 1
            for i, n in enumerate(x.shape[2:])
        ]

        def element(n: Any, c: Any, *at: Any) -> Any:
            def place(taps: Any) -> list[PrimExpr]:
                return [o * s + t - p for o, s, t, p in zip(at, strides, taps, pads)]

            def inside(where: Any) -> PrimExpr:
                limits = zip(where, x.shape[2:])
                return tir.all(*(both for v, m in limits for both in (v >= 0, v < m)))

            def passes(where: Any) -> PrimExpr:
                clamped = [tir.max(tir.min(v, m - 1), 0) for v, m in zip(where, x.shape[2:])]
                first = [tir.all(*(v.equal(0) for v in where))] if spatial > 1 else []
                lets = mask(tir.const(0, "int64"), tir.const(0, "int64"), *clamped)
                return tir.any(*first, tir.Not(inside(where)), lets.astype("bool"))

            *outer, last = axes
            before = [tir.any(last < k, passes(place([*outer, k]))) for k in range(kernel[-1])]
            where = place(axes)
            value = tir.if_then_else(inside(where), x(n, c, *where), tir.min_value(x.dtype))
            return te.max(tir.Select(tir.all(*before), value, tir.min_value(x.dtype)), axes)

        return te.compute((*x.shape[:2], *extents), element, name="masked_pool")

    return node.bb.emit_te(compute, node[0], node[1], primfunc_name_hint="masked_pool")
