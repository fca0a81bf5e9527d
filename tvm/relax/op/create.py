"""Operators that make tensors: filled, ranges, identities, triangles, windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm.error import DTypeError
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, PrimValue, const
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import (
    VOID,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    const_int,
    const_number,
)
from tvm.support.dtype import DataType
from tvm.tir import op as tir_op
from tvm.tir.expr import IntImm

from . import layout_moves
from .binary import number_or_self
from .declare import (
    FOLLOW,
    INJECTIVE,
    Array,
    Expr,
    Infer,
    as_shape,
    attrs_class,
    dtype_or_void,
    relax_op,
    topi,
)
from .shapes import dtype_of

InitAttrs = attrs_class("InitAttrs", "dtype")
TriluAttrs = attrs_class("TriluAttrs", "k")
DTypeLike = DataType | str | None
INT64 = DataType("int64")


def _prim(value: Any) -> Expr:
    return value if isinstance(value, Expr) else PrimValue(value)


def _filled_info(ctx: Infer, shape: ShapeStructInfo, dtype: DataType) -> TensorStructInfo:
    return TensorStructInfo(ctx.call.args[0], dtype)


@relax_op("relax.full", "shape: Shape, fill_value: Tensor", InitAttrs, pattern=INJECTIVE,
          precision=FOLLOW)  # fmt: skip
def full(shape: Any, fill_value: ExprLike, dtype: DTypeLike = None) -> Call:
    """A tensor whose elements all are `fill_value`, a scalar tensor."""
    return full.call(as_shape(shape), fill_value, dtype=dtype_or_void(dtype))


@full.infer
def _full_info(
    ctx: Infer, shape: ShapeStructInfo, fill_value: TensorStructInfo, *, dtype: DataType
) -> TensorStructInfo:
    _check_scalar(ctx, fill_value)
    return _filled_info(ctx, shape, fill_value.dtype if dtype is VOID else dtype)


def _check_scalar(ctx: Infer, fill_value: TensorStructInfo) -> None:
    if fill_value.ndim != 0:
        found = "an unknown number of" if fill_value.ndim == -1 else f"{fill_value.ndim}"
        raise ctx.shape_error(
            "fill_value must be a scalar tensor", f"{found} dimensions", "0 dimensions"
        )


@full.legalize
def _full_te(bb: BlockBuilder, shape: Expr, fill_value: Expr, *, dtype: DataType) -> Expr:
    result = dtype_of(fill_value.struct_info) if dtype is VOID else dtype
    return _full_call(bb, shape, fill_value, str(result), "full")


def _full_call(bb: BlockBuilder, shape: Any, fill_value: Any, dtype: str, name: str) -> Expr:
    """The kernel that fills a tensor; a constant stands in the kernel itself."""
    value = number_or_self(fill_value)
    return bb.call_te(topi.full, shape, dtype, value, primfunc_name_hint=name)


def _extents(info: StructInfo) -> ShapeExpr:
    """The shape of a tensor whose extents are known."""
    assert isinstance(info, TensorStructInfo), "operands were checked"
    assert isinstance(info.shape, ShapeExpr), "operators of unknown shape are not legalized"
    return info.shape


@full.reference
def _full_numpy(shape: Any, fill_value: Array, *, dtype: DataType) -> Array:
    result = fill_value.dtype if dtype is VOID else numpy_dtype(dtype)
    return np.full(shape, fill_value.astype(result), result)


@relax_op("relax.full_like", "x: Tensor, fill_value: Tensor", InitAttrs, pattern=INJECTIVE,
          precision=FOLLOW)  # fmt: skip
def full_like(x: ExprLike, fill_value: ExprLike, dtype: DTypeLike = None) -> Call:
    """A tensor of the shape of `x` whose elements all are `fill_value`, a scalar tensor."""
    return full_like.call(x, fill_value, dtype=dtype_or_void(dtype))


@full_like.infer
def _full_like_info(
    ctx: Infer, x: TensorStructInfo, fill_value: TensorStructInfo, *, dtype: DataType
) -> TensorStructInfo:
    _check_scalar(ctx, fill_value)
    return _like_info(ctx, x, dtype=dtype)


@full_like.legalize
def _full_like_te(bb: BlockBuilder, x: Expr, fill_value: Expr, *, dtype: DataType) -> Expr:
    result = dtype_of(x.struct_info) if dtype is VOID else dtype
    return _full_call(bb, _extents(x.struct_info), fill_value, str(result), "full")


@full_like.reference
def _full_like_numpy(x: Array, fill_value: Array, *, dtype: DataType) -> Array:
    result = x.dtype if dtype is VOID else numpy_dtype(dtype)
    return np.full(x.shape, fill_value.astype(result), result)


def _like_info(ctx: Infer, x: TensorStructInfo, *, dtype: DataType) -> TensorStructInfo:
    return TensorStructInfo.of(x.shape, x.dtype if dtype is VOID else dtype, x.vdevice, x.ndim)


def _constant_fill(name: str, value: int) -> tuple[Any, Any]:
    """The pair `zeros`, `zeros_like` for 0, and the same for 1."""

    def build(shape: Any, dtype: DataType | str) -> Call:
        if dtype_or_void(dtype) is VOID:
            raise DTypeError(f"{name}: the dtype must be given and be no void")
        return op.call(as_shape(shape), dtype=DataType(dtype))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"A tensor of {name}."
    op = relax_op(f"relax.{name}", "shape: Shape", InitAttrs, pattern=INJECTIVE,
                  precision=FOLLOW)(build)  # fmt: skip

    def build_like(x: ExprLike, dtype: DTypeLike = None) -> Call:
        return like.call(x, dtype=dtype_or_void(dtype))

    build_like.__name__ = build_like.__qualname__ = f"{name}_like"
    build_like.__doc__ = f"A tensor of {name}, of the shape and dtype of `x`."
    like = relax_op(f"relax.{name}_like", "x: Tensor", InitAttrs, pattern=INJECTIVE)(build_like)

    @op.infer
    def info(ctx: Infer, shape: ShapeStructInfo, *, dtype: DataType) -> TensorStructInfo:
        return _filled_info(ctx, shape, dtype)

    like.infer(_like_info)

    @op.legalize
    def te(bb: BlockBuilder, shape: Expr, *, dtype: DataType) -> Expr:
        return _full_call(bb, shape, value, str(dtype), name)

    @like.legalize
    def like_te(bb: BlockBuilder, x: Expr, *, dtype: DataType) -> Expr:
        result = str(dtype_of(x.struct_info) if dtype is VOID else dtype)
        return _full_call(bb, _extents(x.struct_info), value, result, name)

    @op.reference
    def numpy(shape: Any, *, dtype: DataType) -> Array:
        return np.full(shape, value, numpy_dtype(dtype))

    @like.reference
    def like_numpy(x: Array, *, dtype: DataType) -> Array:
        return np.full(x.shape, value, x.dtype if dtype is VOID else numpy_dtype(dtype))

    return op, like


ones, ones_like = _constant_fill("ones", 1)
zeros, zeros_like = _constant_fill("zeros", 0)


@relax_op("relax.eye", "n: Prim, m: Prim, k: Prim", InitAttrs, pattern=INJECTIVE,
          precision=FOLLOW)  # fmt: skip
def eye(
    n: Any, m: Any = None, k: Any = 0, dtype: DataType | str = "float32"
) -> Call:
    """Ones on the `k`-th diagonal of n rows and m columns, zeros elsewhere."""
    return eye.call(_prim(n), _prim(n if m is None else m), _prim(k), dtype=DataType(dtype))


def _value(ctx: Infer, name: str, info: PrimStructInfo) -> PrimExpr | None:
    if info.dtype != "int64" and info.dtype.is_floating:
        raise ctx.dtype_error(f"{name} must be an integer", f"{info.dtype}", "int64")
    return info.value


@eye.infer
def _eye_info(
    ctx: Infer, n: PrimStructInfo, m: PrimStructInfo, k: PrimStructInfo, *, dtype: DataType
) -> TensorStructInfo:
    rows, columns = _value(ctx, "n", n), _value(ctx, "m", m)
    _value(ctx, "k", k)
    if rows is None or columns is None:
        return TensorStructInfo(None, dtype, ndim=2)
    return TensorStructInfo((rows, columns), dtype)


@eye.legalize
def _eye_te(bb: BlockBuilder, n: Expr, m: Expr, k: Expr, *, dtype: DataType) -> Expr:
    return bb.call_te(topi.eye, n, m, k, str(dtype))


@eye.reference
def _eye_numpy(n: int, m: int, k: int, *, dtype: DataType) -> Array:
    return np.eye(n, m, k, numpy_dtype(dtype))


@relax_op("relax.eye_like", "x: Tensor, k: Prim", InitAttrs, pattern=INJECTIVE)
def eye_like(x: ExprLike, k: Any = 0, dtype: DTypeLike = None) -> Call:
    """Ones on the `k`-th diagonal of a matrix of the shape of `x`, zeros elsewhere."""
    return eye_like.call(x, _prim(k), dtype=dtype_or_void(dtype))


@eye_like.infer
def _eye_like_info(
    ctx: Infer, x: TensorStructInfo, k: PrimStructInfo, *, dtype: DataType
) -> TensorStructInfo:
    if x.ndim not in (-1, 2):
        raise ctx.shape_error("x must have 2 dimensions", f"{x.ndim}", "2")
    return _like_info(ctx, x, dtype=dtype)


@eye_like.legalize
def _eye_like_te(bb: BlockBuilder, x: Expr, k: Expr, *, dtype: DataType) -> Expr:
    result = str(dtype_of(x.struct_info) if dtype is VOID else dtype)
    rows, columns = _extents(x.struct_info)  # the kernel reads nothing of `x`
    return bb.call_te(topi.eye, rows, columns, k, result, primfunc_name_hint="eye_like")


@eye_like.reference
def _eye_like_numpy(x: Array, k: int, *, dtype: DataType) -> Array:
    return np.eye(x.shape[0], x.shape[1], k, x.dtype if dtype is VOID else numpy_dtype(dtype))


@relax_op("relax.arange", "start: Prim, end: Prim, step: Prim", InitAttrs, pattern=INJECTIVE,
          precision=FOLLOW)  # fmt: skip
def arange(start: Any, end: Any = None, step: Any = 1, dtype: DTypeLike = None) -> Call:
    """start, start + step, ... up to, not including, end; int64 for integers, else float32.

    Python floats are taken in float32; `tir.FloatImm("float64", 0.1)` keeps all digits.
    """
    low, high = (0, start) if end is None else (start, end)
    operands = [_prim(value) for value in (low, high, step)]
    if dtype_or_void(dtype) is VOID:
        kinds = [dtype_of(operand.struct_info) for operand in operands]
        integers = all(kind.is_integer for kind in kinds)
        dtype = "int64" if integers else "float32"
    return arange.call(*operands, dtype=DataType(dtype))


@arange.infer
def _arange_info(
    ctx: Infer,
    start: PrimStructInfo,
    end: PrimStructInfo,
    step: PrimStructInfo,
    *,
    dtype: DataType,
) -> TensorStructInfo:
    low, high, by = start.value, end.value, step.value
    if low is None or high is None or by is None:
        return TensorStructInfo(None, dtype, ndim=1)
    if const_number(by) == 0:
        raise ctx.error("step is 0", "0", "any other number")
    return TensorStructInfo((simplify(_count(low, high, by), ctx.analyzer),), dtype)


def _count(low: PrimExpr, high: PrimExpr, by: PrimExpr) -> PrimExpr:
    """How many numbers there are: the distance divided by the step, rounded up."""
    if all(value.dtype.is_integer for value in (low, high, by)):
        if (const_int(by) or 1) > 0:
            count = (high - low + by - 1) // by
        else:
            count = (low - high - by - 1) // -by
        known = const_int(count)  # a symbol is trusted to be no less than where it starts
        return IntImm(INT64, max(known, 0)) if known is not None else tir_op.cast(count, INT64)
    return tir_op.cast(tir_op.ceil((high - low) / by), INT64)


@arange.legalize
def _arange_te(
    bb: BlockBuilder, start: Expr, end: Expr, step: Expr, *, dtype: DataType
) -> Expr:
    numbers = [const_number(getattr(p.struct_info, "value", None)) for p in (start, end, step)]
    if all(number is not None for number in numbers):
        return const(np.arange(*numbers).astype(numpy_dtype(dtype)), dtype)  # type: ignore[arg-type]
    return bb.call_te(topi.arange, start, end, step, str(dtype))


@arange.reference
def _arange_numpy(start: Any, end: Any, step: Any, *, dtype: DataType) -> Array:
    return np.arange(start, end, step).astype(numpy_dtype(dtype))


@relax_op(
    "relax.hamming_window",
    "window_size: Prim, periodic: Prim, alpha: Prim, beta: Prim",
    InitAttrs,
    pattern=INJECTIVE, precision=FOLLOW,
)
def hamming_window(
    window_size: Any, periodic: Any, alpha: Any, beta: Any, dtype: DataType | str
) -> Call:
    """The Hamming window alpha - beta * cos(2 pi i / n), where n is one less if not periodic."""
    operands = [_prim(value) for value in (window_size, periodic, alpha, beta)]
    return hamming_window.call(*operands, dtype=DataType(dtype))


@hamming_window.infer
def _hamming_info(
    ctx: Infer,
    window_size: PrimStructInfo,
    periodic: PrimStructInfo,
    alpha: PrimStructInfo,
    beta: PrimStructInfo,
    *,
    dtype: DataType,
) -> TensorStructInfo:
    if not dtype.is_floating:
        raise ctx.dtype_error("the dtype must be a float dtype", f"{dtype}", "float32, float64")
    size = _value(ctx, "window_size", window_size)
    if size is None:
        return TensorStructInfo(None, dtype, ndim=1)
    known = const_int(size)
    if known is not None and known <= 0:
        raise ctx.error("window_size must be positive", f"{known}", "1 or more")
    return TensorStructInfo((size,), dtype)


@hamming_window.legalize
def _hamming_te(
    bb: BlockBuilder, window_size: Expr, periodic: Expr, alpha: Expr, beta: Expr, *, dtype: DataType
) -> Expr:
    return bb.call_te(topi.hamming_window, window_size, periodic, alpha, beta, str(dtype))


@hamming_window.reference
def _hamming_numpy(
    window_size: int, periodic: bool, alpha: float, beta: float, *, dtype: DataType
) -> Array:
    if window_size == 1:
        return np.ones(1, numpy_dtype(dtype))
    n = window_size if periodic else window_size - 1
    angle = 2 * np.pi * np.arange(window_size) / n
    return (alpha - beta * np.cos(angle)).astype(numpy_dtype(dtype))


def _triangle(name: str, doc: str, upper: bool) -> Any:
    def build(x: ExprLike, k: Any = 0) -> Call:
        return op.call(x, _prim(k))

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    op = relax_op(f"relax.{name}", "x: Tensor, k: Prim", pattern=INJECTIVE)(build)

    @op.infer
    def info(ctx: Infer, x: TensorStructInfo, k: PrimStructInfo) -> StructInfo:
        if x.ndim in (0, 1):
            raise ctx.shape_error("x must have at least 2 dimensions", f"{x.ndim}", "2 or more")
        return x

    @op.legalize
    def te(bb: BlockBuilder, x: Expr, k: Expr) -> Expr:
        return bb.call_te(
            lambda te_x, diagonal: topi.trilu(te_x, diagonal, upper),
            x,
            k,
            primfunc_name_hint=name,
        )

    keep = np.triu if upper else np.tril
    op.reference(lambda x, k: keep(x, int(k)))
    return op


tril = _triangle("tril", "The elements on and below the `k`-th diagonal, zeros above.", False)
triu = _triangle("triu", "The elements on and above the `k`-th diagonal, zeros below.", True)

for _declared in (tril, triu):
    _declared.follow_layout(layout_moves.triangular)
for _declared in (full_like, ones_like, zeros_like):
    _declared.follow_layout(layout_moves.filled_like)

__all__ = [
    "arange", "eye", "eye_like", "full", "full_like", "hamming_window", "ones", "ones_like",
    "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip
