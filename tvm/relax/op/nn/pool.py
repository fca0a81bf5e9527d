"""Pooling: the largest or the mean element of each window, or of each of so many parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.op import layout_rules
from tvm.relax.op.declare import (
    FOLLOW,
    OUT_FUSABLE,
    Array,
    Expr,
    Infer,
    attrs_class,
    relax_op,
    topi,
)
from tvm.relax.op.layouts import (
    arranged,
    axes_of,
    check_layout,
    extents_by_letter,
    from_plain,
    layout_parts,
    letters_of,
    padding_of,
    positive,
    spatial,
    spread,
    to_plain,
    windows,
)
from tvm.relax.op.shapes import like
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import INT64, IntImm

_POOL = ("pool_size", "strides", "dilation", "padding", "ceil_mode", "count_include_pad", "layout",
         "out_layout")  # fmt: skip
_WINDOW = ("pool_size", "strides", "padding", "dilation")
_ADAPTIVE = ("output_size", "layout", "out_layout")
Pool1DAttrs = attrs_class("Pool1DAttrs", *_POOL, numbers=_WINDOW)
Pool2DAttrs = attrs_class("Pool2DAttrs", *_POOL, numbers=_WINDOW)
Pool3DAttrs = attrs_class("Pool3DAttrs", *_POOL, numbers=_WINDOW)
AdaptivePool1DAttrs = attrs_class("AdaptivePool1DAttrs", *_ADAPTIVE)
AdaptivePool2DAttrs = attrs_class("AdaptivePool2DAttrs", *_ADAPTIVE)
AdaptivePool3DAttrs = attrs_class("AdaptivePool3DAttrs", *_ADAPTIVE)
_ATTRS = {1: Pool1DAttrs, 2: Pool2DAttrs, 3: Pool3DAttrs}
_ADAPTIVE_ATTRS = {1: AdaptivePool1DAttrs, 2: AdaptivePool2DAttrs, 3: AdaptivePool3DAttrs}

Numbers = Any  # an integer or a sequence of them


def pool_info(count: int) -> Callable[..., TensorStructInfo]:
    """The rule for the result of a pool of `count` spatial dimensions."""

    def info(
        ctx: Infer,
        data: TensorStructInfo,
        *,
        pool_size: tuple[int, ...],
        strides: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        ceil_mode: bool,
        count_include_pad: bool,
        layout: str,
        out_layout: str,
    ) -> TensorStructInfo:
        x = extents_by_letter(ctx, "data", data, layout, letters_of("NC", count))
        if x is None:
            return like(data, None, len(layout_parts(out_layout)))
        out = dict(x)
        for i, letter in enumerate(spatial(count)):
            size = windows(
                x[letter], pool_size[i], padding[i], padding[i + count], strides[i], dilation[i],
                ceil_mode,
            )  # fmt: skip
            out[letter] = simplify(size, ctx.analyzer)
        check_layout(ctx, "out_layout", out_layout, letters_of("NC", count))
        return like(data, arranged(out, out_layout))

    return info


def _pooled(
    data: Array, count: int, reduce: Callable[[Array, int], float], fill: float, o: dict[str, Any]
) -> Array:
    """Reduce each window; `reduce` gets its elements and how many of them are no padding."""
    letters = letters_of("NC", count)
    x = to_plain(data, o["layout"], letters)
    k, s, d = o["pool_size"], o["strides"], o["dilation"]
    before, after = o["padding"][:count], o["padding"][count:]
    spans = [(k[i] - 1) * d[i] + 1 for i in range(count)]
    sizes = []
    for i in range(count):
        room = x.shape[2 + i] + before[i] + after[i] - spans[i]
        sizes.append((-(-room // s[i]) if o["ceil_mode"] else room // s[i]) + 1)
    out = np.zeros((*x.shape[:2], *sizes), np.result_type(x.dtype, np.float32))
    for tap in itertools.product(*map(range, sizes)):
        at: list[Any] = []
        inside = 1
        for i, p in enumerate(tap):
            start = p * s[i] - before[i]
            rows = np.arange(k[i]) * d[i] + start
            # windows that begin within the padded input count padding up to its end
            inside *= int(np.sum(rows < x.shape[2 + i] + after[i]))
            at.append(rows[(rows >= 0) & (rows < x.shape[2 + i])])
        every = slice(None)
        inner: Any = (every, every, *np.ix_(*at))
        outer: Any = (every, every, *tap)
        out[outer] = reduce(x[inner].reshape(*x.shape[:2], -1), inside)
    return from_plain(out.astype(data.dtype), o["out_layout"], letters)


def _max_numpy(count: int) -> Callable[..., Array]:
    def numpy(data: Array, **o: Any) -> Array:
        lowest = -np.inf if data.dtype.kind in "fV" else np.iinfo(data.dtype).min
        return _pooled(
            data, count, lambda w, n: w.max(-1) if w.shape[-1] else lowest, lowest, o
        )

    return numpy


def _avg_numpy(count: int) -> Callable[..., Array]:
    def numpy(data: Array, **o: Any) -> Array:
        whole = o["count_include_pad"]

        def mean(window: Array, inside: int) -> Any:
            total = window.astype(np.result_type(window.dtype, np.float32)).sum(-1)
            return total / max(inside if whole else window.shape[-1], 1)

        return _pooled(data, count, mean, 0, o)

    return numpy


def _pool(count: int, kind: str, include_pad: bool) -> Any:
    name = f"{kind}_pool{count}d"
    ones = (1,) * count
    zeros = (0, 0) if count < 3 else (0, 0, 0)

    def build(
        data: ExprLike,
        pool_size: Numbers = ones,
        strides: Numbers = ones,
        padding: Numbers = zeros,
        dilation: Numbers = ones,
        ceil_mode: bool = False,
        count_include_pad: bool = include_pad,
        layout: str = letters_of("NC", count),
        out_layout: str | None = None,
    ) -> Call:
        return op.call(
            data,
            pool_size=positive(pool_size, count, f"{name}: pool_size"),
            strides=positive(strides, count, f"{name}: strides"),
            padding=padding_of(padding, count),
            dilation=positive(dilation, count, f"{name}: dilation"),
            ceil_mode=bool(ceil_mode),
            count_include_pad=bool(count_include_pad),
            layout=layout,
            out_layout=layout if out_layout is None else out_layout,
        )

    what = "largest" if kind == "max" else "mean"
    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The {what} element of each window over {count} spatial dimensions."
    op = relax_op(f"relax.nn.{name}", "data: Tensor", _ATTRS[count], pattern=OUT_FUSABLE,
                  precision=FOLLOW)(build)  # fmt: skip
    op.infer(pool_info(count))
    op.reference(_max_numpy(count) if kind == "max" else _avg_numpy(count))

    @op.legalize
    def te(bb: BlockBuilder, data: Expr, **o: Any) -> Expr:
        if o["out_layout"] != o["layout"]:
            return op.call(data, **o)
        return bb.call_te(
            getattr(topi.nn, f"pool{count}d"),
            data,
            list(o["pool_size"]),
            list(o["strides"]),
            list(o["dilation"]),
            list(o["padding"]),
            pool_type=kind,
            ceil_mode=o["ceil_mode"],
            layout=o["layout"],
            count_include_pad=o["count_include_pad"],
            primfunc_name_hint=name,
        )

    op.layout(layout_rules.pooled)
    return op


max_pool1d = _pool(1, "max", False)
max_pool2d = _pool(2, "max", False)
max_pool3d = _pool(3, "max", False)
avg_pool1d = _pool(1, "avg", True)
avg_pool2d = _pool(2, "avg", False)
avg_pool3d = _pool(3, "avg", True)


def _adaptive(count: int) -> Any:
    name = f"adaptive_avg_pool{count}d"

    def build(
        data: ExprLike,
        output_size: Numbers = None,
        layout: str = letters_of("NC", count),
        out_layout: str | None = None,
    ) -> Call:
        size = None if output_size is None else spread(output_size, count, f"{name}: output_size")
        out = layout if out_layout is None else out_layout
        return op.call(data, output_size=size, layout=layout, out_layout=out)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = "The mean of each of `output_size` parts; the input's own size without one."
    op = relax_op(f"relax.nn.{name}", "data: Tensor", _ADAPTIVE_ATTRS[count], pattern=OUT_FUSABLE,
                  precision=FOLLOW)(build)  # fmt: skip

    @op.infer
    def info(
        ctx: Infer,
        data: TensorStructInfo,
        *,
        output_size: tuple[int, ...] | None,
        layout: str,
        out_layout: str,
    ) -> TensorStructInfo:
        x = extents_by_letter(ctx, "data", data, layout, letters_of("NC", count))
        if output_size is not None and min(output_size) < 0:
            found, legal = f"output_size {list(output_size)}", "numbers of at least 0"
            raise ctx.error("how many windows there are", found, legal)
        if output_size is None and out_layout == layout and data.shape is not None:
            return data
        if x is None:
            return like(data, None, len(layout_parts(out_layout)))
        out = dict(x)
        if output_size is not None:
            out.update(
                {l: IntImm(INT64, n) for l, n in zip(spatial(count), output_size)}
            )
        check_layout(ctx, "out_layout", out_layout, letters_of("NC", count))
        return like(data, arranged(out, out_layout))

    @op.legalize
    def te(
        bb: BlockBuilder,
        data: Expr,
        *,
        output_size: tuple[int, ...] | None,
        layout: str,
        out_layout: str,
    ) -> Expr:
        if out_layout != layout:
            return op.call(data, output_size=output_size, layout=layout, out_layout=out_layout)

        def compute(x: Any) -> Any:
            size: Any = output_size
            if size is None:
                size = [x.shape[i] for i in axes_of(layout, spatial(count))]
            pool = getattr(topi.nn, "adaptive_pool" if count == 2 else f"adaptive_pool{count}d")
            return pool(x, list(size), "avg", layout)

        return bb.call_te(compute, data, primfunc_name_hint=name)

    @op.reference
    def numpy(
        data: Array, *, output_size: tuple[int, ...] | None, layout: str, out_layout: str
    ) -> Array:
        letters = letters_of("NC", count)
        x = to_plain(data, layout, letters).astype(np.result_type(data.dtype, np.float32))
        for i in range(count):
            axis = 2 + i
            n = x.shape[axis]
            out = n if output_size is None else output_size[i]
            if out == 0:
                x = np.take(x, [], axis)
                continue
            parts = [
                np.take(x, range(j * n // out, -(-(j + 1) * n // out)), axis).mean(
                    axis, keepdims=True
                )
                for j in range(out)
            ]
            x = np.concatenate(parts, axis)
        return from_plain(x.astype(data.dtype), out_layout, letters)

    op.layout(layout_rules.pooled)
    return op


adaptive_avg_pool1d = _adaptive(1)
adaptive_avg_pool2d = _adaptive(2)
adaptive_avg_pool3d = _adaptive(3)
