"""New tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.structural import structural_equal
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, PrimValue, const
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.expr import FloatImm

from .dtypes import DEFAULT_FLOAT, dtype_name, is_float, number_dtype, tensor_constant
from .registry import convert
from .shape import given_sizes
from .values import Expr, cast, dtype_of, info, lengths, refuse, scalar, tensor_of


def _filled(bb: BlockBuilder, size: Sequence[Any], value: Any, dtype: str) -> Expr:
    fill = cast(bb, value, dtype) if isinstance(value, RelaxExpr) else tensor_of(bb, value, dtype)
    return op.full(ShapeExpr(list(size)), fill, dtype)


@convert("full")
def full(bb: BlockBuilder, size: Any, fill_value: Any, dtype: Any = None) -> Expr:
    kind = dtype
    if kind is None:
        given = isinstance(fill_value, RelaxExpr)
        kind = dtype_of(fill_value) if given else number_dtype(fill_value)
    return _filled(bb, size, fill_value, kind)


def size_and_dtype(size: tuple[Any, ...], dtype: Any, named: dict[str, Any]) -> tuple[Any, Any]:
    """Of `ones(2, 3)`, `ones((2, 3))` and `ones(size=(2, 3))`, with a data type or without."""
    given = list(size) or [named["size"]]
    if given and isinstance(given[-1], str):
        dtype = given.pop()
    return given_sizes(tuple(given)), dtype or DEFAULT_FLOAT


@convert("ones")
def ones(bb: BlockBuilder, *size: Any, dtype: Any = None, **named: Any) -> Expr:
    given, kind = size_and_dtype(size, dtype, named)
    return _filled(bb, given, 1, kind)


@convert("zeros", "empty")
def zeros(bb: BlockBuilder, *size: Any, dtype: Any = None, **named: Any) -> Expr:
    """Also an empty tensor, which may hold anything."""
    given, kind = size_and_dtype(size, dtype, named)
    made: Expr = op.zeros(ShapeExpr(list(given)), kind)
    return made


@convert("empty_strided", "empty_permuted")
def empty_strided(bb: BlockBuilder, size: Any, stride: Any, dtype: Any = None) -> Expr:
    return _filled(bb, size, 0, dtype or DEFAULT_FLOAT)


@convert("full_like")
def full_like(bb: BlockBuilder, input: Expr, fill_value: Any, dtype: Any = None) -> Expr:
    if dtype is not None:
        return op.full_like(input, tensor_of(bb, fill_value, dtype), dtype)
    if isinstance(fill_value, PrimExpr):  # a size
        return op.full_like(input, tensor_of(bb, fill_value, dtype_of(input)))
    fill = fill_value if isinstance(fill_value, RelaxExpr) else _short(fill_value)
    return op.full_like(input, fill)


def _short(value: Any) -> Constant:
    """A number in Relax's own 32-bit types where it fits."""
    if isinstance(value, int) and not -(2**31) <= value < 2**31:
        return const(value, "int64")
    return const(value)


@convert("ones_like")
def ones_like(bb: BlockBuilder, input: Expr, dtype: Any = None) -> Any:
    return op.ones_like(input, dtype)


@convert("zeros_like", "empty_like")
def zeros_like(bb: BlockBuilder, input: Expr, dtype: Any = None) -> Any:
    return op.zeros_like(input, dtype)


def _new(value: int) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, input: Expr, *size: Any, dtype: Any = None, **named: Any) -> Expr:
        given = given_sizes(size or (named["size"],))
        return _filled(bb, given, value, dtype or dtype_of(input))

    return apply


convert("new_ones")(_new(1))
convert("new_zeros", "new_empty")(_new(0))


@convert("new_empty_strided")
def new_empty_strided(
    bb: BlockBuilder, input: Expr, size: Any, stride: Any, dtype: Any = None
) -> Expr:
    return _filled(bb, size, 0, dtype or dtype_of(input))


@convert("new_full")
def new_full(bb: BlockBuilder, input: Expr, size: Any, fill_value: Any, dtype: Any = None) -> Expr:
    return _filled(bb, size, fill_value, dtype or dtype_of(input))


@convert("new_tensor")
def new_tensor(bb: BlockBuilder, input: Expr, data: Any, dtype: Any = None) -> Expr:
    return const(data, dtype or dtype_of(input))


@convert("scalar_tensor")
def scalar_tensor(bb: BlockBuilder, s: Any, dtype: Any = None) -> Any:
    """A number as a tensor of no axes, with a name of its own."""
    return bb.emit(tensor_of(bb, s, dtype or DEFAULT_FLOAT))


@convert("tensor", "as_tensor")
def tensor(bb: BlockBuilder, data: Any, dtype: Any = None) -> Expr:
    """Numbers as a tensor."""
    if isinstance(data, (RelaxExpr, PrimExpr)):
        return tensor_of(bb, data, dtype)
    if hasattr(data, "detach"):
        found = tensor_constant(data)
        return found if dtype is None else cast(bb, found, dtype)
    array = np.asarray(data)
    kind = dtype or {"float64": DEFAULT_FLOAT}.get(array.dtype.name, array.dtype.name)
    return const(data, kind)


@convert("fill")
def fill(bb: BlockBuilder, input: Expr, value: Any) -> Expr:
    return _filled(bb, info(input).shape.values, value, dtype_of(input))  # type: ignore[union-attr]


@convert("zero")
def zero(bb: BlockBuilder, input: Expr) -> Any:
    return op.zeros_like(input)


@convert("copy")
def copy(bb: BlockBuilder, input: Expr, src: Expr, non_blocking: bool = False) -> Expr:
    """The values of `src` in the shape and data type of `input`."""
    values = cast(bb, src, dtype_of(input))
    shape = info(input).shape
    assert isinstance(shape, ShapeExpr), "what is written to has a shape"
    if structural_equal(info(values).shape, shape):
        return values
    return op.broadcast_to(values, shape)


@convert("arange")
def arange(
    bb: BlockBuilder, start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None
) -> Expr:
    if end is None:
        start, end = 0, start
    kind = dtype
    if kind is None:
        floats = any(isinstance(v, float) for v in (start, end, step))
        kind = DEFAULT_FLOAT if floats else "int64"
    if not str(kind).startswith(("float", "bfloat")):  # bounds first become whole numbers
        start, end, step = (int(v) if isinstance(v, float) else v for v in (start, end, step))
    return op.arange(_exact(start), _exact(end), _exact(step), kind)


def _exact(value: Any) -> Any:
    """A number with all its digits: `arange` takes floats in float32."""
    if isinstance(value, float) and float(np.float32(value)) != value:
        return FloatImm("float64", value)
    return value


@convert("linspace")
def linspace(bb: BlockBuilder, start: Any, end: Any, steps: int, dtype: Any = None) -> Expr:
    """A range that ends half a step behind its last number, so that rounding loses none."""
    kind = dtype or DEFAULT_FLOAT
    if isinstance(start, RelaxExpr) or isinstance(end, RelaxExpr):
        return cast(bb, bb.emit(_steps_between(bb, start, end, steps)), kind)
    if not str(kind).startswith("float") or steps < 1 or start == end:
        return Constant(np.linspace(start, end, steps).astype(_numpy(kind)))
    step = (end - start) / (steps - 1) if steps != 1 else 1
    last = end + step / 2 if steps != 1 else start + step
    return op.arange(_exact(start), _exact(last), _exact(step), kind)


def _steps_between(bb: BlockBuilder, start: Any, end: Any, steps: int) -> Any:
    """Numbers between two of which one or both are tensors without axes, in float64."""
    first, last = (cast(bb, tensor_of(bb, bound), "float64") for bound in (start, end))
    share = Constant(np.arange(steps) / max(steps - 1, 1))
    return op.add(first, op.multiply(share, op.subtract(last, first)))


@convert("logspace")
def logspace(
    bb: BlockBuilder, start: Any, end: Any, steps: int, base: float = 10.0, dtype: Any = None
) -> Expr:
    if isinstance(start, RelaxExpr) or isinstance(end, RelaxExpr):
        exponents = bb.emit(_steps_between(bb, start, end, steps))
        powers = bb.emit(op.power(scalar(float(base), "float64"), exponents))
        return cast(bb, powers, dtype or DEFAULT_FLOAT)
    values = np.logspace(start, end, steps, base=base)
    return Constant(values.astype(_numpy(dtype or DEFAULT_FLOAT)))


def _numpy(dtype: str) -> Any:
    from tvm.relax.numpy_dtype import numpy_dtype
    from tvm.support.dtype import DataType

    return numpy_dtype(DataType(dtype))


@convert("eye")
def eye(bb: BlockBuilder, n: Any, m: Any = None, dtype: Any = None) -> Expr:
    return op.eye(n, n if m is None else m, 0, dtype or DEFAULT_FLOAT)


def _triangle(rule: Any) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, row: int, col: int, offset: int = 0, dtype: Any = None) -> Expr:
        """Rows and columns of the places in a triangle."""
        places = np.stack(rule(row, offset, col)).astype(_numpy(dtype or "int64"))
        return Constant(places)

    return apply


convert("tril_indices")(_triangle(lambda row, offset, col: np.tril_indices(row, offset, col)))
convert("triu_indices")(_triangle(lambda row, offset, col: np.triu_indices(row, offset, col)))


@convert("one_hot")
def one_hot(bb: BlockBuilder, input: Expr, num_classes: int = -1) -> Expr:
    if num_classes == -1:
        raise refuse("one_hot: num_classes", "-1, the largest number plus one", "a number")
    return op.one_hot(input, PrimValue(1), PrimValue(0), num_classes, -1)


@convert("vander")
def vander(bb: BlockBuilder, input: Expr, N: int | None = None, increasing: bool = False) -> Expr:
    """Powers of each element."""
    count = lengths(input, "vander")[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    kind = dtype_of(input) if is_float(dtype_of(input)) else "int64"
    exponents = Constant(np.ascontiguousarray(powers).astype(_numpy(kind)))
    return op.power(op.expand_dims(cast(bb, input, kind), -1), exponents)


def _window(bb: BlockBuilder, values: Any, dtype: Any) -> Expr:
    return Constant(np.asarray(values).astype(_numpy(dtype or DEFAULT_FLOAT)))


@convert("hamming_window")
def hamming_window(
    bb: BlockBuilder, window_length: int, periodic: bool = True, alpha: float = 0.54,
    beta: float = 0.46, dtype: Any = None,
) -> Expr:  # fmt: skip
    kind = dtype or DEFAULT_FLOAT
    return op.hamming_window(window_length, periodic, alpha, beta, dtype_name(kind))


@convert("hann_window")
def hann_window(
    bb: BlockBuilder, window_length: int, periodic: bool = True, dtype: Any = None
) -> Expr:
    """0.5 - 0.5 cos(2 pi n / N)"""
    if window_length == 1:
        return _window(bb, [1.0], dtype)
    count = window_length if periodic else window_length - 1
    angles = 2 * math.pi * np.arange(window_length) / count
    return _window(bb, 0.5 - 0.5 * np.cos(angles), dtype)

