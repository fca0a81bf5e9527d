"""Operators that read parts of a tensor: by indices, by slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.arith import Analyzer
from tvm.arith.slice_length import literal_slice_length, simple_slice_length
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, ExternFunc, PrimValue, Tuple
from tvm.relax.struct_info import (
    VOID,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)
from tvm.tir import op as tir_op
from tvm.tir.expr import INT64, IntImm, Select, Var
from tvm.tir.slice_bounds import canonical_bound

from . import layout_moves, layout_rules
from .base import call_pure_packed
from .declare import (
    FOLLOW,
    INJECTIVE,
    Array,
    Expr,
    Infer,
    attrs_class,
    listed,
    relax_op,
    te,
    topi,
    whole,
)
from .shapes import axis_index, axis_indices, check_ndim, dtype_of, like, ndim_of, values_of

TakeAttrs = attrs_class("TakeAttrs", "axis", "mode")
StridedSliceAttrs = attrs_class("StridedSliceAttrs", "assume_inbound")


@relax_op("relax.take", "x: Tensor, indices: Operand", TakeAttrs, pattern=INJECTIVE)
def take(x: ExprLike, indices: ExprLike, axis: int | None = None, mode: str = "fast") -> Call:
    """The elements at `indices` along `axis`.   (n, m), (k,), axis=0 -> (k, m)

    Indices out of range: `mode` "clip" takes the nearest, "wrap" counts around, "nan" gives NaN,
    "fast" promises that there are none.
    """
    return take.call(x, indices, axis=None if axis is None else whole(axis), mode=mode)


@take.infer
def _take_info(
    ctx: Infer, x: TensorStructInfo, indices: StructInfo, *, axis: int | None, mode: str
) -> TensorStructInfo:
    dtype = dtype_of(indices)
    if dtype is not VOID and not dtype.is_integer:
        raise ctx.dtype_error("indices must be integers", f"{dtype}", "int32, int64")
    if axis is None and x.ndim not in (-1, 1):
        raise ctx.shape_error(
            "without an axis x must have one dimension", f"{x.ndim} dimensions", "axis=..., or 1"
        )
    if x.ndim == -1 or ndim_of(indices) == -1:
        return like(x, None)
    at = 0 if axis is None else axis_index(ctx, axis, x.ndim)
    picked = values_of(indices)
    if x.values is None or picked is None:
        return like(x, None, x.ndim + ndim_of(indices) - 1)
    return like(x, (*x.values[:at], *picked, *x.values[at + 1 :]))


@take.legalize
def _take_te(
    bb: BlockBuilder, x: Expr, indices: Expr, *, axis: int | None, mode: str
) -> Expr:
    def compute(te_x: Any, te_indices: Any) -> Any:
        if hasattr(te_indices, "shape"):
            return topi.take(te_x, te_indices, axis, mode=mode)
        at = (0 if axis is None else axis) % len(te_x.shape)
        rest = [extent for i, extent in enumerate(te_x.shape) if i != at]
        return _te_row(te_x, rest, at, te_indices)

    return bb.call_te(compute, x, indices, primfunc_name_hint="take")


def _te_row(te_x: Any, rest: Sequence[PrimExpr], at: int, row: Any) -> Any:
    def element(*index: Any) -> Any:
        return te_x(*index[:at], row, *index[at:])

    return te.compute(rest, element, name="take")


@take.reference
def _take_numpy(x: Array, indices: Array, *, axis: int | None, mode: str) -> Array:
    if mode == "nan":
        size = x.shape[0 if axis is None else axis]
        bad = (np.asarray(indices) >= size) | (np.asarray(indices) < -size)
        found = np.take(x, np.where(bad, 0, indices), axis=axis)
        at = 0 if axis is None else axis % x.ndim
        shape = [1] * at + list(bad.shape) + [1] * (x.ndim - 1 - at)
        return np.where(bad.reshape(shape), np.nan, found).astype(x.dtype)
    how: Any = mode if mode in ("clip", "wrap") else "raise"
    return np.take(x, indices, axis=axis, mode=how)


def _prim_tuple(values: Any) -> Expr:
    """A tuple of numbers, of Python numbers, expressions, or a Relax expression that is one."""
    if isinstance(values, Expr):
        if isinstance(values, (PrimValue, ShapeExpr)):
            parts = values.values if isinstance(values, ShapeExpr) else (values.value,)
            return Tuple([PrimValue(part) for part in parts])
        return values
    if isinstance(values, (int, PrimExpr)):
        values = [values]
    return Tuple([v if isinstance(v, Expr) else PrimValue(v) for v in listed(values, "bounds")])


@relax_op(
    "relax.strided_slice",
    "x: Tensor, axes: Expr, begin: Expr, end: Expr, strides: Expr?",
    StridedSliceAttrs,
    pattern=INJECTIVE,
    precision=FOLLOW,
    reads_shape_variables=True,
)
def strided_slice(
    x: ExprLike,
    axes: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    assume_inbound: bool = False,
) -> Call:
    """The elements begin, begin + stride, ... before end along each of `axes`.

    Negative numbers count from the end. Numbers out of range are moved into it, unless
    `assume_inbound` promises that there are none.
    """
    operands = [_prim_tuple(value) for value in (axes, begin, end)]
    if strides is not None:
        operands.append(_prim_tuple(strides))
    counts = [len(operand.fields) for operand in operands if isinstance(operand, Tuple)]
    if len(set(counts)) > 1:
        raise ShapeError(
            message("strided_slice: axes, begin, end and strides differ in length",
                    found=", ".join(map(str, counts)), legal="one number for each axis")
        )  # fmt: skip
    return strided_slice.call(x, *operands, assume_inbound=bool(assume_inbound))


def _prims(ctx: Infer, name: str, info: StructInfo | None) -> list[PrimExpr | None] | None:
    """The values of a tuple of numbers, None for one that is not known; None for no such tuple."""
    if info is None or isinstance(info, ObjectStructInfo):
        return None
    if not isinstance(info, TupleStructInfo):
        raise ctx.error(f"{name} must be a tuple of integers", f"{info}", "int64 numbers")
    values = []
    for field in info.fields:
        if not isinstance(field, PrimStructInfo) or not field.dtype.is_integer:
            raise ctx.error(f"{name} must be a tuple of integers", f"{field}", "int64 numbers")
        values.append(field.value)
    return values


def slice_extent(
    extent: PrimExpr,
    begin: PrimExpr,
    end: PrimExpr,
    stride: PrimExpr | int,
    inbound: bool,
    analyzer: Analyzer,
) -> PrimExpr:
    """How many elements a slice has, simplified; numpy's arithmetic, on symbols too."""
    step, size = const_int(stride), const_int(extent)
    first, last = const_int(begin), const_int(end)
    known = None not in (step, size, first, last)
    if known and not inbound and step is not None and size is not None and last is not None:
        # an end below the start means "before the first element" here
        stop = None if step < 0 and last < -size else last
        return IntImm(INT64, len(range(size)[first:stop:step]))
    by = _int64(stride)
    if inbound:
        return simple_slice_length(begin, end, by, True, analyzer)
    front, back = (canonical_bound(bound, extent, by) for bound in (begin, end))
    length = simple_slice_length(front, back, by, False, analyzer)
    return literal_slice_length(begin, end, by, length, analyzer)


@strided_slice.infer
def _strided_slice_info(
    ctx: Infer,
    x: TensorStructInfo,
    axes: StructInfo,
    begin: StructInfo,
    end: StructInfo,
    strides: StructInfo | None,
    *,
    assume_inbound: bool,
) -> TensorStructInfo:
    which = _prims(ctx, "axes", axes)
    lows, highs = _prims(ctx, "begin", begin), _prims(ctx, "end", end)
    steps = _prims(ctx, "strides", strides)
    if which is None or lows is None or highs is None:
        return like(x, None, x.ndim)
    if not which:
        return x if x.values is None else like(x, x.values)
    counts = {len(which), len(lows), len(highs), len(which) if steps is None else len(steps)}
    if len(counts) > 1:
        raise ctx.shape_error(
            "axes, begin, end and strides differ in length",
            f"{len(which)}, {len(lows)}, {len(highs)}"
            + ("" if steps is None else f", {len(steps)}"),
            "one number for each axis",
        )
    numbers = [const_int(axis) for axis in which]
    if x.ndim == -1 or any(n is None for n in numbers):
        return like(x, None, x.ndim)
    positions = axis_indices(ctx, [n for n in numbers if n is not None], x.ndim, "axes")
    if x.values is None:
        return like(x, None, x.ndim)
    extents = list(x.values)
    for i, at in enumerate(positions):
        low, high = lows[i], highs[i]
        step = IntImm(INT64, 1) if steps is None else steps[i]
        if low is None or high is None or step is None:
            return like(x, None, x.ndim)
        if const_int(step) == 0:
            raise ctx.error("a stride is 0", f"strides[{i}] = 0", "any other integer")
        extents[at] = slice_extent(
            extents[at], _int64(low), _int64(high), step, assume_inbound, ctx.analyzer
        )
    return like(x, extents)


def _int64(value: PrimExpr | int) -> PrimExpr:
    known = const_int(value)
    return tir_op.cast(value, INT64) if known is None else IntImm(INT64, known)


@strided_slice.legalize
def _strided_slice_te(
    bb: BlockBuilder, x: Expr, *operands: Expr, assume_inbound: bool
) -> Expr:
    def compute(te_x: Any, low: Any, high: Any, step: Any, axes: list[int]) -> Any:
        return topi.strided_slice(
            te_x, low, high, step, axes, slice_mode="end", assume_inbound=assume_inbound
        )

    return slice_of_known_bounds(bb, x, operands, assume_inbound, compute)


def slice_of_known_bounds(
    bb: BlockBuilder, x: Expr, operands: Sequence[Expr], assume_inbound: bool,
    made: Callable[..., Any],
) -> Expr:  # fmt: skip
    """A kernel of the slice that `made` computes; the operator where a bound is not known."""
    info = x.struct_info
    assert isinstance(info, TensorStructInfo), "checked by its kind"
    parts = [known_prims(operand) for operand in operands]
    if info.values is None or any(part is None for part in parts):
        return strided_slice.call(x, *operands, assume_inbound=assume_inbound)
    axes, begin, end = (list(part or ()) for part in parts[:3])
    strides = list(parts[3] or ()) if len(parts) > 3 else [IntImm(INT64, 1)] * len(axes)

    def compute(te_x: Any, low: Any, high: Any, step: Any) -> Any:
        return made(te_x, low, high, step, [const_int(axis) for axis in axes])

    return bb.call_te(compute, x, begin, end, strides, primfunc_name_hint="strided_slice")


def known_prims(operand: Expr) -> list[PrimExpr] | None:
    info = operand.struct_info
    if not isinstance(info, TupleStructInfo):
        return None
    found = [field.value for field in info.fields if isinstance(field, PrimStructInfo)]
    values = [value for value in found if value is not None]
    return values if len(values) == len(info.fields) else None


strided_slice.layout(layout_rules.sliced)
strided_slice.op.set_num_inputs(1)  # the tensor: bounds count as options, as in TVM
take.follow_layout(layout_moves.taken)


@strided_slice.reference
def _strided_slice_numpy(
    x: Array,
    axes: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    assume_inbound: bool,
) -> Array:
    at = [slice(None)] * x.ndim
    for i, axis in enumerate(axes):
        step = 1 if strides is None else int(strides[i])
        stop: int | None = int(end[i])
        if step < 0 and stop is not None and stop < -x.shape[axis]:
            stop = None
        at[int(axis)] = slice(int(begin[i]), stop, step)
    return x[tuple(at)]


@relax_op(
    "relax.dynamic_strided_slice",
    "x: Tensor, begin: Tensor, end: Tensor, strides: Tensor",
    pattern=INJECTIVE,
)
def dynamic_strided_slice(x: ExprLike, begin: ExprLike, end: ExprLike, strides: ExprLike) -> Call:
    """As `strided_slice` over all axes, with begin, end and strides as int64 tensors."""
    return dynamic_strided_slice.call(x, begin, end, strides)


@dynamic_strided_slice.infer
def _dynamic_slice_info(
    ctx: Infer,
    x: TensorStructInfo,
    begin: TensorStructInfo,
    end: TensorStructInfo,
    strides: TensorStructInfo,
) -> TensorStructInfo:
    for name, info in (("begin", begin), ("end", end), ("strides", strides)):
        check_ndim(ctx, name, info, 1)
        if info.dtype is not VOID and info.dtype != "int64":
            raise ctx.dtype_error(f"{name} must be int64", f"{info.dtype}", "int64")
        count = None if info.values is None else const_int(info.values[0])
        if count is not None and x.ndim not in (-1, count):
            raise ctx.shape_error(
                f"{name} must have one number for each dimension of x", f"{count}", f"{x.ndim}"
            )
    return like(x, None, x.ndim)


@dynamic_strided_slice.reference
def _dynamic_slice_numpy(x: Array, begin: Array, end: Array, strides: Array) -> Array:
    axes = range(x.ndim)
    return _strided_slice_numpy(
        x, list(axes), list(begin), list(end), list(strides), assume_inbound=False
    )


dynamic_strided_slice.op.set_attr("FDataDependent", True)


@dynamic_strided_slice.legalize
def _dynamic_slice_te(
    bb: BlockBuilder, x: Expr, begin: Expr, end: Expr, strides: Expr
) -> Expr:
    def length(extent: Any, low: Any, high: Any, step: Any) -> Any:
        return _length_of_steps(extent, low, high, step, choose=Select)

    outside = IntImm(INT64, -1)
    return sliced_by_tensors(
        bb, x, (begin, end, strides), topi.dynamic_strided_slice, length, Select, outside
    )


def sliced_by_tensors(
    bb: BlockBuilder, x: Expr, bounds: tuple[Expr, Expr, Expr], made: Callable[..., Any],
    length_of: Callable[..., Any], choose: Callable[..., Any], outside: PrimExpr,
) -> Expr:  # fmt: skip
    """The shape is computed first, and its extents are symbols of the slice that `made` computes.

    The extent of an axis is found by choices that end with `outside`.
    """
    begin, end, strides = bounds
    info = x.struct_info
    if not isinstance(info, TensorStructInfo) or info.values is None or not bb.in_block():
        return dynamic_strided_slice(x, begin, end, strides)

    def lengths(data: Any, low: Any, high: Any, step: Any) -> Any:
        def length(i: Any) -> Any:
            extent: PrimExpr = outside
            for k, own in enumerate(data.shape):
                extent = choose(i.equal(k), own, extent)
            return length_of(extent, low[i], high[i], step[i])

        return te.compute((len(data.shape),), length, name="lengths")

    shape = bb.emit_te(lengths, x, begin, end, strides, primfunc_name_hint="shape_func")
    found = ShapeStructInfo(ndim=info.ndim)
    extents = bb.emit(
        call_pure_packed(ExternFunc("vm.builtin.tensor_to_shape"), shape, sinfo_args=found)
    )
    symbols = [Var("s", INT64) for _ in range(info.ndim)]
    bb.match_cast(extents, ShapeStructInfo(symbols))
    return bb.call_te(
        made, x, begin, end, strides, list(symbols), primfunc_name_hint="dynamic_strided_slice"
    )


def dynamic_extent(extent: Any, low: Any, high: Any, step: Any) -> Any:
    """How many elements a slice has whose bounds and step are known at run time only."""
    found = _length_of_steps(extent, low, high, step, choose=tir_op.if_then_else)
    return tir_op.max(found, IntImm(INT64, 0))


def _length_of_steps(
    extent: Any, low: Any, high: Any, step: Any, choose: Callable[..., Any]
) -> Any:
    """How many steps lead from one bound to the other; less than 0 where they lead away."""

    def within(bound: Any, least: int, most: Any) -> Any:
        front = choose(bound < 0, bound + extent, bound)
        return tir_op.min(tir_op.max(front, IntImm(INT64, least)), most)

    a, b = (within(bound, -1, extent - 1) for bound in (low, high))
    back = tir_op.floordiv(a - b - step - 1, -step)
    a, b = (within(bound, 0, extent) for bound in (low, high))
    return choose(step < 0, back, tir_op.floordiv(b - a + step - 1, step))
