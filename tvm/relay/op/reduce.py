"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relay.expr import Call, Tuple, TupleWrapper
from tvm.relay.ty import TensorType

from .declare import COMM_REDUCE, Expr, Lower, Relate, RelayOp, relay_op, topi
from .refusals import refusing
from .relations import axis_of, extents, tensor
from .tensor import exp, log, sqrt
from .transform import squeeze

Reduction = RelayOp[...]


def reduced_axes(rank: int, axis: Any, exclude: bool = False) -> list[int]:
    """The axes that a reduction goes over, counted from the front; all where none is named."""
    if axis is None or axis == ():
        return list(range(rank))
    chosen = {int(a) % rank for a in ((axis,) if isinstance(axis, int) else axis)}
    return [a for a in range(rank) if (a in chosen) is not exclude]


def _reduced(ctx: Relate, dtype: str | None = None) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims, o = extents(x), ctx.attrs
    for axis in () if o.axis is None else o.axis:
        axis_of(ctx, int(axis), len(dims))
    gone = set(reduced_axes(len(dims), o.axis, o.exclude))
    kept = [1 if at in gone else d for at, d in enumerate(dims) if at not in gone or o.keepdims]
    return TensorType(kept, dtype or x.dtype)


def _axes(axis: Any) -> tuple[int, ...] | None:
    if axis is None:
        return None
    return (int(axis),) if isinstance(axis, int) else tuple(int(a) for a in axis)


def _lower(func: Callable[..., Any]) -> Lower:
    def lower(bb: Any, x: Any, *, axis: Any, keepdims: bool, exclude: bool, **_: Any) -> Any:
        axes = reduced_axes(x.struct_info.ndim, axis, exclude)
        if not axes:
            return x
        return func(x, axes, keepdims)

    return lower


def _lower_te(func: Callable[..., Any]) -> Lower:
    def lower(bb: Any, x: Any, *, axis: Any, keepdims: bool, exclude: bool, **o: Any) -> Any:
        axes = reduced_axes(x.struct_info.ndim, axis, exclude)
        return bb.call_te(func, x, axes, keepdims, **o)

    return lower


def _lower_index(func: Callable[..., Any]) -> Lower:
    found = _lower_te(func)

    def lower(bb: Any, x: Any, **o: Any) -> Any:
        return R.astype(bb.emit(found(bb, x, **o)), "int32")

    return lower


def _reduction(
    name: str, doc: str, lower: Lower, relation: Any = _reduced, pattern: int = COMM_REDUCE
) -> Reduction:
    def build(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Call:
        return made.call(data, axis=_axes(axis), keepdims=keepdims, exclude=exclude)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    made = relay_op(
        name, "ReduceAttrs", operands=("data",), lower=lower, relation=relation,
        pattern=pattern, level=4,
    )(build)  # fmt: skip
    return made


sum = _reduction("sum", "The sum over axes.", _lower(R.sum))
prod = _reduction("prod", "The product over axes.", _lower(R.prod))
max = _reduction("max", "The greatest value over axes.", _lower(R.max))
min = _reduction("min", "The least value over axes.", _lower(R.min))
mean = _reduction("mean", "The mean over axes.", _lower(R.mean))
all = _reduction("all", "Whether all values over axes hold.", _lower_te(topi.all))
any = _reduction("any", "Whether one value over axes holds.", _lower_te(topi.any))


def _arg_reduction(
    name: str, doc: str, func: Callable[..., Any]
) -> RelayOp[...]:
    def build(
        data: Expr,
        axis: Any = None,
        keepdims: bool = False,
        exclude: bool = False,
        select_last_index: bool = False,
    ) -> Call:
        return made.call(
            data, axis=_axes(axis), keepdims=keepdims, exclude=exclude,
            select_last_index=select_last_index,
        )  # fmt: skip

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    made = relay_op(
        name, "ArgReduceAttrs", operands=("data",), lower=_lower_index(func),
        first=("axis", "keepdims", "select_last_index"),
        relation=lambda ctx: _reduced(ctx, "int32"), pattern=COMM_REDUCE, level=4,
    )(build)  # fmt: skip
    return made


argmax = _arg_reduction("argmax", "The index of the greatest value over axes.", topi.argmax)
argmin = _arg_reduction("argmin", "The index of the least value over axes.", topi.argmin)


def _variance(
    bb: Any, x: Any, mean: Any, *, axis: Any, keepdims: bool, exclude: bool, unbiased: bool
) -> Any:
    axes = reduced_axes(x.struct_info.ndim, axis, exclude)
    moved = bb.emit(R.subtract(x, mean))
    squares = bb.emit(R.multiply(moved, moved))
    if not unbiased:
        return R.mean(squares, axes, keepdims)
    count = 1
    for at in axes:
        count *= int(x.struct_info.shape.values[at])
    from tvm.relax import const

    total = bb.emit(R.sum(squares, axes, keepdims))
    return R.divide(total, const(count - 1, x.struct_info.dtype))


@relay_op("variance", "VarianceAttrs", operands=("data", "mean"), relation=_reduced,
          optional={"axis": None, "keepdims": False, "exclude": False, "unbiased": False},
          pattern=COMM_REDUCE, level=4, lower=_variance)  # fmt: skip
def _variance_op(data: Expr, mean: Expr) -> Call:
    """The mean of the squares of what differs from the mean."""
    return _variance_op.call(data, mean)


@refusing
def variance(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False,
    unbiased: bool = False, with_mean: Expr = None,
) -> Call:  # fmt: skip
    """The variance over axes; `with_mean` saves finding the mean (with axes kept)."""
    axes = _axes(axis)
    middle = mean(data, axes, True, exclude) if with_mean is None else with_mean
    return _variance_op.call(
        data, middle, axis=axes, keepdims=keepdims, exclude=exclude, unbiased=unbiased
    )


@refusing
def std(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False,
    unbiased: bool = False,
) -> Call:  # fmt: skip
    """The standard deviation over axes."""
    found: Call = sqrt(variance(data, axis, keepdims, exclude, unbiased))
    return found


@refusing
def mean_variance(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False,
    unbiased: bool = False,
) -> TupleWrapper:  # fmt: skip
    """The mean and the variance over axes."""
    axes = _axes(axis)
    middle = mean(data, axes, True, exclude)
    spread = _variance_op.call(
        data, middle, axis=axes, keepdims=keepdims, exclude=exclude, unbiased=unbiased
    )
    shown = middle if keepdims else squeeze(middle, axes)
    return TupleWrapper(Tuple((shown, spread)), 2)


@refusing
def mean_std(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False
) -> TupleWrapper:
    """The mean and the standard deviation over axes."""
    pair = mean_variance(data, axis, keepdims, exclude)
    assert isinstance(pair.tuple_value, Tuple), "made above"
    middle, spread = pair.tuple_value.fields
    return TupleWrapper(Tuple((middle, sqrt(spread))), 2)


def logsumexp(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False
) -> Expr:
    """log(sum(exp(x))) over axes, or over all but them, safe for large numbers."""
    top = max(data, axis, True, exclude)
    if exclude and not keepdims:  # which axes go is known with the rank
        return log(sum(exp(data - top), axis, False, True)) + max(data, axis, False, True)
    total = log(sum(exp(data - top), axis, True, exclude)) + top
    return total if keepdims else squeeze(total, axis)


__all__ = [
    "all", "any", "argmax", "argmin", "logsumexp", "max", "mean", "mean_std", "mean_variance",
    "min", "prod", "std", "sum", "variance",
]  # fmt: skip
