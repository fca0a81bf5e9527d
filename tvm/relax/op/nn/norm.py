"""Normalisations: by batch statistics, over axes, over groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.extents import agreeing, extents_of
from tvm.relax.op import layout_rules
from tvm.relax.op.declare import (
    FOLLOW,
    OPAQUE,
    OUT_FUSABLE,
    Array,
    Expr,
    Infer,
    attrs_class,
    int_tuple,
    real,
    relax_op,
    show_shape,
    topi,
    whole,
)
from tvm.relax.op.shapes import (
    axis_index,
    axis_indices,
    check_float,
    check_ndim,
    common_dtype,
    like,
)
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo, const_int

BatchNormAttrs = attrs_class(
    "BatchNormAttrs", "axis", "epsilon", "center", "scale", "momentum", "training"
)
LayerNormAttrs = attrs_class("LayerNormAttrs", "axes", "epsilon", "center", "scale")
GroupNormAttrs = attrs_class(
    "GroupNormAttrs", "num_groups", "channel_axis", "axes", "epsilon", "center", "scale"
)
InstanceNormAttrs = attrs_class(
    "InstanceNormAttrs", "channel_axis", "axes", "epsilon", "center", "scale"
)
RMSNormAttrs = attrs_class("RMSNormAttrs", "axes", "epsilon")
Axes = int | Sequence[int]


def _check_parameters(
    ctx: Infer,
    data: TensorStructInfo,
    axes: Sequence[int],
    *parameters: tuple[str, TensorStructInfo],
) -> bool:
    """Each parameter has one dimension for each of the axes, with the data's extents there.

    Where these are not known, the parameters agree among themselves. False where extents are
    known, but not whether they are equal.
    """
    fits = True
    common_dtype(ctx, ("data", data), *parameters)
    whose, shape = "data", data
    extents = None if data.values is None else [data.values[axis] for axis in axes]
    for name, info in parameters:
        check_ndim(ctx, name, info, len(axes))
        if info.values is None:
            continue
        if extents is None:
            whose, shape, extents = name, info, list(info.values)
            continue
        for known, extent in zip(extents, info.values):
            same = same_extent(known, extent, ctx.analyzer)
            fits = fits and same is True
            if same is False:
                raise ctx.shape_error(
                    f"{name} does not fit {whose}",
                    f"{name} {show_shape(info)}, {whose} {show_shape(shape)}",
                    f"the extents of data along axes {list(axes)}",
                )
    return fits


def _fit_parameters(
    bb: BlockBuilder, data: Expr, *parameters: Expr, axes: Sequence[int] = (),
    axis: int | None = None, channel_axis: int | None = None, **options: Any,
) -> list[Expr]:  # fmt: skip
    """Parameters that have the data's extents along the axes of the call."""
    own = extents_of(data)
    if own is None:
        return [data, *parameters]
    channel = axis if channel_axis is None else channel_axis
    wanted = [own[i] for i in (axes if channel is None else [channel])]
    return [data, *(agreeing(bb, parameter, wanted) for parameter in parameters)]


def _shapeless(info: TensorStructInfo) -> TensorStructInfo:
    return like(info, None, info.ndim)


def _wide(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.float32)) if x.dtype.kind in "fV" else x


def _along(parameter: Array, ndim: int, axes: Sequence[int]) -> Array:
    """A parameter shaped so that it broadcasts along the axes."""
    shape = [1] * ndim
    for axis, extent in zip(axes, parameter.shape):
        shape[axis] = extent
    return parameter.reshape(shape)


@relax_op(
    "relax.nn.batch_norm",
    "data: Tensor, gamma: Tensor, beta: Tensor, moving_mean: Tensor, moving_var: Tensor",
    BatchNormAttrs,
    pattern=OPAQUE,
)
def batch_norm(
    data: ExprLike,
    gamma: ExprLike,
    beta: ExprLike,
    moving_mean: ExprLike,
    moving_var: ExprLike,
    axis: int,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    momentum: float = 0.1,
    training: bool = True,
) -> Call:
    """(data - mean) / sqrt(var + epsilon) * gamma + beta by channel, with the new statistics.

    In training the statistics are those of the batch, and the moving ones go toward them by
    `momentum`; otherwise the moving ones are used and given back. (Ioffe and Szegedy, 2015)
    """
    return batch_norm.call(
        data, gamma, beta, moving_mean, moving_var, axis=whole(axis),
        epsilon=real(epsilon, "epsilon"), center=bool(center), scale=bool(scale),
        momentum=real(momentum, "momentum"), training=bool(training),
    )  # fmt: skip


@batch_norm.infer
def _batch_norm_info(
    ctx: Infer,
    data: TensorStructInfo,
    gamma: TensorStructInfo,
    beta: TensorStructInfo,
    moving_mean: TensorStructInfo,
    moving_var: TensorStructInfo,
    *,
    axis: int,
    **options: Any,
) -> StructInfo:
    check_float(ctx, "data", data.dtype)
    parts = (data, moving_mean, moving_var)
    at = axis if data.ndim == -1 else axis_index(ctx, axis, data.ndim)
    if not _check_parameters(
        ctx, data, [at], ("gamma", gamma), ("beta", beta), ("moving_mean", moving_mean),
        ("moving_var", moving_var),
    ):  # fmt: skip
        return TupleStructInfo([_shapeless(part) for part in parts])
    return TupleStructInfo(parts)


batch_norm.fit(_fit_parameters)


@batch_norm.legalize
def _batch_norm_te(bb: BlockBuilder, *operands: Expr, **o: Any) -> Expr:
    return bb.call_te(
        topi.nn.batch_norm_as_legalized,
        *operands,
        axis=o["axis"],
        epsilon=o["epsilon"],
        center=o["center"],
        scale=o["scale"],
        training=o["training"],
        momentum=o["momentum"],
        primfunc_name_hint="batch_norm",
    )


@batch_norm.reference
def _batch_norm_numpy(
    data: Array,
    gamma: Array,
    beta: Array,
    moving_mean: Array,
    moving_var: Array,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    momentum: float,
    training: bool,
) -> Any:
    x = _wide(data)
    others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
    mean, var = moving_mean, moving_var
    new_mean, new_var = moving_mean, moving_var
    if training:
        mean, var = x.mean(others), x.var(others)
        new_mean = (moving_mean * (1 - momentum) + mean * momentum).astype(moving_mean.dtype)
        new_var = (moving_var * (1 - momentum) + var * momentum).astype(moving_var.dtype)
    axes = [axis]
    out = (x - _along(mean, x.ndim, axes)) / np.sqrt(_along(var, x.ndim, axes) + epsilon)
    if scale:
        out = out * _along(gamma, x.ndim, axes)
    if center:
        out = out + _along(beta, x.ndim, axes)
    return out.astype(data.dtype), new_mean, new_var


@relax_op(
    "relax.nn.layer_norm", "data: Tensor, gamma: Tensor, beta: Tensor", LayerNormAttrs,
    pattern=OUT_FUSABLE, precision=FOLLOW,
)  # fmt: skip
def layer_norm(
    data: ExprLike,
    gamma: ExprLike,
    beta: ExprLike,
    axes: Axes,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """(data - mean) / sqrt(var + epsilon) * gamma + beta over the axes. (Ba et al., 2016)"""
    return layer_norm.call(
        data, gamma, beta, axes=int_tuple(axes), epsilon=real(epsilon, "epsilon"),
        center=bool(center), scale=bool(scale),
    )  # fmt: skip


@layer_norm.infer
def _layer_norm_info(
    ctx: Infer,
    data: TensorStructInfo,
    gamma: TensorStructInfo,
    beta: TensorStructInfo,
    *,
    axes: tuple[int, ...],
    **options: Any,
) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    positions = axes if data.ndim == -1 else axis_indices(ctx, axes, data.ndim, "axes")
    if not _check_parameters(ctx, data, positions, ("gamma", gamma), ("beta", beta)):
        return _shapeless(data)
    return data


layer_norm.fit(_fit_parameters)


@layer_norm.legalize
def _layer_norm_te(
    bb: BlockBuilder, data: Expr, gamma: Expr, beta: Expr, *, axes: Any, epsilon: float, **o: Any
) -> Expr:
    return bb.call_te(
        topi.nn.layer_norm, data, gamma, beta, axis=list(axes), epsilon=epsilon
    )


def _normalized(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@layer_norm.reference
def _layer_norm_numpy(
    data: Array, gamma: Array, beta: Array, *, axes: tuple[int, ...], epsilon: float, **o: Any
) -> Array:
    out = _normalized(_wide(data), axes, epsilon)
    out = out * _along(gamma, data.ndim, axes) + _along(beta, data.ndim, axes)
    return out.astype(data.dtype)


@relax_op(
    "relax.nn.group_norm", "data: Tensor, gamma: Tensor, beta: Tensor", GroupNormAttrs,
    pattern=OUT_FUSABLE, precision=FOLLOW,
)  # fmt: skip
def group_norm(
    data: ExprLike,
    gamma: ExprLike,
    beta: ExprLike,
    num_groups: int,
    channel_axis: int,
    axes: Axes,
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Each group of channels normalised over itself and the axes. (Wu and He, 2018)"""
    return group_norm.call(
        data, gamma, beta, num_groups=whole(num_groups, "num_groups"),
        channel_axis=whole(channel_axis, "channel_axis"), axes=int_tuple(axes),
        epsilon=real(epsilon, "epsilon"), center=bool(center), scale=bool(scale),
    )  # fmt: skip


@group_norm.infer
def _group_norm_info(
    ctx: Infer,
    data: TensorStructInfo,
    gamma: TensorStructInfo,
    beta: TensorStructInfo,
    *,
    num_groups: int,
    channel_axis: int,
    axes: tuple[int, ...],
    **options: Any,
) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    if data.ndim == -1:
        return data
    channel = axis_index(ctx, channel_axis, data.ndim, "channel_axis")
    positions = axis_indices(ctx, axes, data.ndim, "axes")
    if channel in positions:
        raise ctx.error("axes must not name the channel axis", f"axes={list(axes)}", str(channel))
    known = None if data.values is None else const_int(data.values[channel])
    if num_groups < 1:
        raise ctx.shape_error("num_groups must be positive", f"{num_groups}")
    if known is not None and known % num_groups:
        raise ctx.shape_error(
            "the channels are no multiple of num_groups", f"{known} and {num_groups}"
        )
    _check_parameters(ctx, data, [channel], ("gamma", gamma), ("beta", beta))
    return data


group_norm.fit(_fit_parameters)


@group_norm.legalize
def _group_norm_te(bb: BlockBuilder, data: Expr, gamma: Expr, beta: Expr, **o: Any) -> Expr:
    return bb.call_te(
        topi.nn.group_norm, data, gamma, beta, o["num_groups"], o["channel_axis"],
        list(o["axes"]), o["epsilon"],
    )  # fmt: skip


@group_norm.reference
def _group_norm_numpy(
    data: Array,
    gamma: Array,
    beta: Array,
    *,
    num_groups: int,
    channel_axis: int,
    axes: tuple[int, ...],
    epsilon: float,
    **o: Any,
) -> Array:
    x = _wide(data)
    channel = channel_axis % x.ndim
    size = x.shape[channel] // num_groups
    grouped = x.reshape(*x.shape[:channel], num_groups, size, *x.shape[channel + 1 :])
    moved = [a % x.ndim for a in axes]
    over = (channel + 1, *(a + 1 if a > channel else a for a in moved))
    out = _normalized(grouped, over, epsilon).reshape(x.shape)
    out = out * _along(gamma, x.ndim, [channel]) + _along(beta, x.ndim, [channel])
    return out.astype(data.dtype)


@relax_op(
    "relax.nn.instance_norm", "data: Tensor, gamma: Tensor, beta: Tensor", InstanceNormAttrs,
    pattern=OUT_FUSABLE, precision=FOLLOW,
)  # fmt: skip
def instance_norm(
    data: ExprLike,
    gamma: ExprLike,
    beta: ExprLike,
    channel_axis: int,
    axes: Sequence[int],
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
) -> Call:
    """Each channel of each sample normalised over the axes. (Ulyanov et al., 2016)"""
    return instance_norm.call(
        data, gamma, beta, channel_axis=whole(channel_axis, "channel_axis"), axes=int_tuple(axes),
        epsilon=real(epsilon, "epsilon"), center=bool(center), scale=bool(scale),
    )  # fmt: skip


@instance_norm.infer
def _instance_norm_info(
    ctx: Infer,
    data: TensorStructInfo,
    gamma: TensorStructInfo,
    beta: TensorStructInfo,
    *,
    channel_axis: int,
    axes: tuple[int, ...],
    **options: Any,
) -> TensorStructInfo:
    if data.ndim != -1:
        channel = axis_index(ctx, channel_axis, data.ndim, "channel_axis")
        axis_indices(ctx, axes, data.ndim, "axes")
        _check_parameters(ctx, data, [channel], ("gamma", gamma), ("beta", beta))
    return data


instance_norm.fit(_fit_parameters)


@instance_norm.legalize
def _instance_norm_te(bb: BlockBuilder, data: Expr, gamma: Expr, beta: Expr, **o: Any) -> Expr:
    return bb.call_te(
        topi.nn.instance_norm, data, gamma, beta, o["channel_axis"], list(o["axes"]), o["epsilon"]
    )


@instance_norm.reference
def _instance_norm_numpy(
    data: Array,
    gamma: Array,
    beta: Array,
    *,
    channel_axis: int,
    axes: tuple[int, ...],
    epsilon: float,
    **o: Any,
) -> Array:
    out = _normalized(_wide(data), axes, epsilon)
    at = [channel_axis]
    out = out * _along(gamma, data.ndim, at) + _along(beta, data.ndim, at)
    return out.astype(data.dtype)


@relax_op(
    "relax.nn.rms_norm", "data: Tensor, weight: Tensor", RMSNormAttrs, pattern=OUT_FUSABLE,
    precision=FOLLOW,
)  # fmt: skip
def rms_norm(data: ExprLike, weight: ExprLike, axes: Axes = -1, epsilon: float = 1e-5) -> Call:
    """data / sqrt(mean(data^2) + epsilon) * weight over the axes. (Zhang and Sennrich, 2019)"""
    return rms_norm.call(data, weight, axes=int_tuple(axes), epsilon=real(epsilon, "epsilon"))


@rms_norm.infer
def _rms_norm_info(
    ctx: Infer,
    data: TensorStructInfo,
    weight: TensorStructInfo,
    *,
    axes: tuple[int, ...],
    epsilon: float,
) -> TensorStructInfo:
    check_float(ctx, "data", data.dtype)
    positions = axes if data.ndim == -1 else axis_indices(ctx, axes, data.ndim, "axes")
    if not _check_parameters(ctx, data, positions, ("weight", weight)):
        return _shapeless(data)
    return data


rms_norm.fit(_fit_parameters)


@rms_norm.legalize
def _rms_norm_te(
    bb: BlockBuilder, data: Expr, weight: Expr, *, axes: tuple[int, ...], epsilon: float
) -> Expr:
    return bb.call_te(topi.nn.rms_norm, data, weight, list(axes), epsilon)


@rms_norm.reference
def _rms_norm_numpy(
    data: Array, weight: Array, *, axes: tuple[int, ...], epsilon: float
) -> Array:
    x = _wide(data)
    scale = 1 / np.sqrt((x * x).mean(axes, keepdims=True) + epsilon)
    return (x * scale * _along(weight, x.ndim, axes)).astype(data.dtype)

batch_norm.layout(layout_rules.batch_normalised)
for _declared in (layer_norm, group_norm, instance_norm, rms_norm):
    _declared.layout(layout_rules.normalised)
