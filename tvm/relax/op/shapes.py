"""What the rules of many operators have in common: axes, broadcasting, dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import PrimExpr, StructInfo
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import (
    VOID,
    PrimStructInfo,
    ShapeExpr,
    TensorStructInfo,
    const_int,
)
from tvm.support.dtype import DataType

from .declare import Infer, show_extents

Extents = Sequence[PrimExpr]


def values_of(info: StructInfo) -> tuple[PrimExpr, ...] | None:
    """The extents of a tensor or number (which has none), where known."""
    if isinstance(info, PrimStructInfo):
        return ()
    assert isinstance(info, TensorStructInfo), "operands are tensors or numbers"
    return info.values


def ndim_of(info: StructInfo) -> int:
    """The number of dimensions of a tensor or number; -1 if unknown."""
    return 0 if isinstance(info, PrimStructInfo) else getattr(info, "ndim", -1)


def dtype_of(info: StructInfo) -> DataType:
    """The data type of a tensor or number; void if unknown."""
    dtype: DataType = getattr(info, "dtype", VOID)
    return dtype


def like(
    info: TensorStructInfo, values: Extents | None, ndim: int = -1, dtype: DataType | None = None
) -> TensorStructInfo:
    """A tensor of the dtype (and device) of `info` with other extents, or only their count."""
    dtype = info.dtype if dtype is None else dtype
    if values is None:
        return TensorStructInfo(None, dtype, info.vdevice, ndim)
    return TensorStructInfo(values, dtype, info.vdevice)


def with_dtype(info: TensorStructInfo, dtype: DataType) -> TensorStructInfo:
    """The same tensor with elements of another type."""
    if dtype is info.dtype:
        return info
    return TensorStructInfo.of(info.shape, dtype, info.vdevice, info.ndim)


def written(info: TensorStructInfo, dtype: DataType | None = None) -> TensorStructInfo:
    """The tensor, of a shape that is a variable its number of dimensions only."""
    if info.shape is not None and not isinstance(info.shape, ShapeExpr):
        return like(info, None, info.ndim, dtype)
    return info if dtype is None else with_dtype(info, dtype)


def check_ndim(ctx: Infer, name: str, info: TensorStructInfo, *legal: int) -> None:
    """Refuse a known number of dimensions that is none of `legal`."""
    if info.ndim != -1 and info.ndim not in legal:
        counts = " or ".join(str(n) for n in legal)
        raise ctx.shape_error(f"{name} must have {counts} dimensions", f"{info.ndim}", counts)


def axis_index(ctx: Infer, axis: int, ndim: int, name: str = "axis") -> int:
    """The axis counted from the front; an error if it is out of range."""
    if not -ndim <= axis < ndim:
        raise ctx.shape_error(
            f"{name} is out of range for {ndim} dimensions",
            f"{name}={axis}",
            f"-{ndim} <= {name} < {ndim}" if ndim else "a tensor without dimensions has no axis",
        )
    return axis % ndim


def axis_indices(
    ctx: Infer, axes: Sequence[int], ndim: int, name: str = "axis"
) -> tuple[int, ...]:
    """The axes counted from the front; an error if one is out of range or comes twice."""
    found = tuple(axis_index(ctx, axis, ndim, name) for axis in axes)
    if len(set(found)) != len(found):
        raise ctx.shape_error(f"{name} names a dimension twice", f"{name}={list(axes)}")
    return found


def is_one(extent: PrimExpr) -> bool:
    """True for the extent 1."""
    return const_int(extent) == 1


def broadcast_extents(
    ctx: Infer, a: Extents, b: Extents, names: tuple[str, str] = ("x1", "x2")
) -> tuple[PrimExpr, ...] | None:
    """The extents after broadcasting; None if symbols leave it open."""
    result: list[PrimExpr] = []
    open_ = False
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    offset = len(longer) - len(shorter)
    for i, x in enumerate(longer):
        if i < offset:
            result.append(x)
            continue
        y = shorter[i - offset]
        if is_one(x):
            result.append(y)
        elif is_one(y):
            result.append(x)
        else:
            same = same_extent(x, y, ctx.analyzer)
            if same is True:
                result.append(x)
            elif const_int(x) is not None and const_int(y) is not None:
                raise ctx.shape_error(
                    f"the shapes of {names[0]} and {names[1]} are not broadcastable",
                    f"{names[0]} {show_extents(a)}, {names[1]} {show_extents(b)}; "
                    f"{const_int(x)} is not {const_int(y)}",
                    "extents that are equal, or one of them 1, counted from the last dimension",
                )
            else:
                open_ = True  # go on: a later dimension may be wrong for sure
    return None if open_ else tuple(result)


def common_dtype(ctx: Infer, *infos: tuple[str, StructInfo]) -> DataType:
    """The dtype that all operands have; void if one is unknown; an error if two differ."""
    first_name, first = infos[0]
    result = dtype_of(first)
    for name, info in infos[1:]:
        dtype = dtype_of(info)
        if result is VOID or dtype is VOID:
            result = VOID
        elif dtype is not result:
            raise ctx.dtype_error(
                f"data types of {first_name} and {name} must be equal",
                f"{first_name} {result}, {name} {dtype}",
                "one dtype for both; astype converts",
            )
    return result


def check_float(ctx: Infer, name: str, dtype: DataType) -> None:
    """Refuse a known dtype that is not computed in; users' types stand for real numbers.

    The floats of eight bits and less are for storing: they are cast before they are computed with.
    """
    computed_in = dtype.is_custom or (dtype.is_floating and dtype.bits > 8)
    if dtype is not VOID and not computed_in:
        raise ctx.dtype_error(
            f"{name} must have a float dtype", f"{dtype}", "float16, float32, float64, bfloat16"
        )


def broadcast_infos(
    ctx: Infer, dtype: DataType, *infos: tuple[str, StructInfo]
) -> TensorStructInfo:
    """The tensor that several operands make together by broadcasting."""
    known: tuple[PrimExpr, ...] | None = ()
    ndim = 0
    shapes: list[Any] = [getattr(info, "shape", None) for _, info in infos]
    if len(infos) > 1 and shapes[0] is not None and all(s is shapes[0] for s in shapes):
        return TensorStructInfo(shapes[0], dtype)
    before = infos[0][0]
    for name, info in infos:
        values = values_of(info)
        count = ndim_of(info)
        ndim = -1 if count == -1 or ndim == -1 else max(ndim, count)
        if known is not None and values is not None:
            known = broadcast_extents(ctx, known, values, (before, name))
        else:
            known = None
    if known is None:
        return TensorStructInfo(None, dtype, ndim=ndim)
    return TensorStructInfo(known, dtype)
