"""Reductions over axes, and running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.shape_math import product, product_in_order
from tvm.relax.struct_info import VOID, TensorStructInfo
from tvm.support.dtype import DataType

from . import layout_moves, layout_rules
from .declare import (
    COMM_REDUCE,
    OPAQUE,
    Array,
    Expr,
    Infer,
    RelaxOp,
    attrs_class,
    dtype_or_void,
    int_tuple,
    relax_op,
    topi,
    whole,
)
from .shapes import axis_index, axis_indices, like

StatisticalAttrs = attrs_class("StatisticalAttrs", "axis", "keepdims")
ScanopAttrs = attrs_class("ScanopAttrs", "axis", "dtype", "exclusive")
Axes = int | Sequence[int] | None
ONE = 1


def reduced_info(
    ctx: Infer, x: TensorStructInfo, axes: Sequence[int] | None, keepdims: bool, dtype: DataType
) -> TensorStructInfo:
    """The tensor without the given axes (all of them for None), or with extent 1 there."""
    if x.ndim == -1:
        if axes is None and not keepdims:
            return like(x, (), dtype=dtype)
        return like(x, None, -1, dtype)
    gone = range(x.ndim) if axes is None else axis_indices(ctx, axes, x.ndim)
    if x.values is None and axes is not None:
        return like(x, None, x.ndim if keepdims else x.ndim - len(gone), dtype)
    extents: list[PrimExpr | int] = []
    for i in range(x.ndim):
        if i not in gone:
            assert x.values is not None, "an axis stays only where the shape is known"
            extents.append(x.values[i])
        elif keepdims:
            extents.append(ONE)
    return TensorStructInfo(extents, dtype, x.vdevice)


Reduction = RelaxOp[[ExprLike, Axes, bool]]


def _reduction(
    name: str, doc: str, compute: Callable[..., Any], reference: Callable[..., Any]
) -> Any:
    """A reduction; `compute(x, axis, keepdims)` writes it in tensor expressions."""

    def build(x: ExprLike, axis: Axes = None, keepdims: bool = False) -> Call:
        axes = None if axis is None else int_tuple(axis)
        return op.call(x, axis=axes, keepdims=bool(keepdims))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    op = relax_op(f"relax.{name}", "x: Tensor", StatisticalAttrs, pattern=COMM_REDUCE)(build)

    @op.infer
    def info(
        ctx: Infer, x: TensorStructInfo, *, axis: tuple[int, ...] | None, keepdims: bool
    ) -> TensorStructInfo:
        return reduced_info(ctx, x, axis, keepdims, x.dtype)

    @op.legalize
    def te(bb: BlockBuilder, x: Expr, *, axis: tuple[int, ...] | None, keepdims: bool) -> Expr:
        axes = None if axis is None else list(axis)
        if getattr(x.struct_info, "ndim", -1) == 0:  # there is nothing to reduce
            if name not in ("std", "variance"):
                return x
            return bb.call_te(lambda te_x: topi.subtract(te_x, te_x), x, primfunc_name_hint=name)
        return bb.call_te(compute, x, axes, keepdims, primfunc_name_hint=name)

    @op.reference
    def numpy(x: Array, *, axis: tuple[int, ...] | None, keepdims: bool) -> Array:
        return np.asarray(reference(x, axis=axis, keepdims=keepdims)).astype(x.dtype)

    op.layout(layout_rules.reduced)
    return op


def _count(shape: Sequence[PrimExpr], axis: Sequence[int] | None) -> PrimExpr:
    ndim = len(shape)
    axes = range(ndim) if axis is None else [a % ndim for a in axis]
    return product([shape[a] for a in axes])


def _te_mean(x: Any, axis: Any, keepdims: bool) -> Any:
    total = topi.sum(x, axis, keepdims)
    return topi.divide(total, _count(x.shape, axis).astype(x.dtype))


def _te_variance(x: Any, axis: Any, keepdims: bool) -> Any:
    deviation = topi.subtract(x, _te_mean(x, axis, True))
    return _te_mean(topi.multiply(deviation, deviation), axis, keepdims)


def _te_std(x: Any, axis: Any, keepdims: bool) -> Any:
    return topi.sqrt(_te_variance(x, axis, keepdims))


def _topi(name: str) -> Callable[..., Any]:
    return lambda x, axis, keepdims: getattr(topi, name)(x, axis, keepdims)


def _narrow_float_info(dtype: Any) -> Any:
    import ml_dtypes  # only tensors of small floating types need it

    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)


def _extreme(of: Callable[..., Any], largest: bool) -> Callable[..., Any]:
    """As numpy, and of no elements the worst value of the type."""

    def reference(x: Array, **options: Any) -> Array:
        if x.size:
            return np.asarray(of(x, **options))
        if x.dtype.kind == "b":
            worst: Any = not largest
        elif x.dtype.kind in "iu" or x.dtype.itemsize == 1:  # without infinities, as compiled
            of_type: Any = np.iinfo if x.dtype.kind in "iu" else _narrow_float_info
            worst = of_type(x.dtype).min if largest else of_type(x.dtype).max
        else:
            worst = -np.inf if largest else np.inf
        return np.asarray(of(x, initial=np.asarray(worst).astype(x.dtype), **options))

    return reference


def _from_infinity(name: str) -> Callable[[BlockBuilder, Call], Expr]:
    def rule(bb: BlockBuilder, call: Call) -> Expr:
        attrs: Any = call.attrs
        axes = None if attrs.axis is None else [int(a) for a in attrs.axis]
        x = call.args[0]
        if getattr(x.struct_info, "ndim", -1) == 0:
            return x

        def compute(te_x: Any) -> Any:
            return topi.reduction.extreme(te_x, axes, bool(attrs.keepdims), name == "max")

        return bb.call_te(compute, x, primfunc_name_hint=name)

    return rule


# For `LegalizeOps` where kernels are for programs that run: TVM's own give the lowest finite number
# for a row of nothing but minus infinities.
FROM_INFINITY: Final = {f"relax.{name}": _from_infinity(name) for name in ("max", "min")}

max = _reduction("max", "The largest element along the axes.", _topi("max"), _extreme(np.max, True))
mean = _reduction("mean", "The mean along the axes.", _te_mean, np.mean)
min = _reduction(
    "min", "The smallest element along the axes.", _topi("min"), _extreme(np.min, False)
)
prod = _reduction("prod", "The product along the axes.", _topi("prod"), np.prod)
std = _reduction("std", "The standard deviation along the axes.", _te_std, np.std)
sum = _reduction("sum", "The sum along the axes.", _topi("sum"), np.sum)
variance = _reduction("variance", "The variance along the axes.", _te_variance, np.var)


def _scan(name: str, doc: str, reference: Callable[..., Any], neutral: int) -> Any:
    def build(
        data: ExprLike,
        axis: int | None = None,
        dtype: DataType | str | None = None,
        exclusive: bool = False,
    ) -> Call:
        at = None if axis is None else whole(axis)
        return op.call(data, axis=at, dtype=dtype_or_void(dtype), exclusive=bool(exclusive))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    op = relax_op(f"relax.{name}", "data: Tensor", ScanopAttrs, pattern=OPAQUE)(build)

    @op.infer
    def info(
        ctx: Infer, data: TensorStructInfo, *, axis: int | None, dtype: DataType, exclusive: bool
    ) -> TensorStructInfo:
        result = data.dtype if dtype is VOID else dtype
        if axis is None:  # the flattened tensor
            if data.values is None:
                return like(data, None, 1, result)
            return like(data, [product_in_order(data.values)], dtype=result)
        if data.ndim != -1:
            axis_index(ctx, axis, data.ndim)
        return TensorStructInfo.of(data.shape, result, data.vdevice, data.ndim)

    @op.legalize
    def te(
        bb: BlockBuilder, data: Expr, *, axis: int | None, dtype: DataType, exclusive: bool
    ) -> Expr:
        result = None if dtype is VOID else str(dtype)
        return bb.call_te(
            getattr(topi, name), data, axis, result, exclusive, primfunc_name_hint=name
        )

    @op.reference
    def numpy(data: Array, *, axis: int | None, dtype: DataType, exclusive: bool) -> Array:
        result = data.dtype if dtype is VOID else numpy_dtype(dtype)
        values = data.reshape(-1) if axis is None else data
        along = 0 if axis is None else axis
        total = reference(values.astype(result), axis=along).astype(result)
        if not exclusive:
            return total
        shifted = np.roll(total, 1, along)
        first = [slice(None)] * total.ndim
        first[along] = slice(0, 1)
        shifted[tuple(first)] = neutral
        return shifted

    return op


cumprod = _scan("cumprod", "The running product along `axis`; flattened without an axis.",
                np.cumprod, 1)  # fmt: skip
cumsum = _scan("cumsum", "The running sum along `axis`; flattened without an axis.", np.cumsum, 0)
for _declared in (cumprod, cumsum):
    _declared.follow_layout(layout_moves.scanned)
