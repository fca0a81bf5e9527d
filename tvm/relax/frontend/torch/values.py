"""What converters ask of values, and the small casts that torch does by itself."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tvm import te
from tvm.arith import Analyzer, ConstIntBound
from tvm.error import OpAttributeInvalid, OpAttributeUnImplemented, message
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, TupleGetItem, const
from tvm.relax.extents import agreeing, extents_of, is_number
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.tir.analysis import undefined_vars
from tvm.tir.children import vars_in
from tvm.tir.expr import IntImm, SizeVar, Var
from tvm.tir.functor import substitute

from .dtypes import DEFAULT_FLOAT, category, is_float, number_dtype, result_type

Expr: TypeAlias = RelaxExpr
Size: TypeAlias = "int | PrimExpr"


# --- questions ---


def info(x: Expr) -> TensorStructInfo:
    """What is known of a tensor."""
    found = x.struct_info
    if not isinstance(found, TensorStructInfo):
        raise OpAttributeInvalid(message("a tensor", found=str(found), legal="one tensor"))
    return found


def rank(x: Expr) -> int:
    """The number of axes, which must be known."""
    ndim = info(x).ndim
    if ndim < 0:
        raise OpAttributeInvalid(message("the rank of a tensor", found="it is not known"))
    return ndim


def sizes(x: Expr) -> list[Size]:
    """The extents, which must be known; numbers as Python's."""
    shape = info(x).shape
    if not isinstance(shape, ShapeExpr):
        raise OpAttributeInvalid(message("the shape of a tensor", found="it is not known"))
    return [size_of(extent) for extent in shape.values]


def size_of(extent: Any) -> Size:
    """An extent, as a number of Python where it is one."""
    return int(extent.value) if isinstance(extent, IntImm) else extent


def lengths(x: Expr, asked: str) -> list[int]:
    """The extents, which must be numbers."""
    found = sizes(x)
    if any(isinstance(size, PrimExpr) for size in found):
        shown = ", ".join(map(str, found))
        raise OpAttributeUnImplemented(
            message(asked, found=f"the shape ({shown})", legal="extents that are numbers")
        )
    return [int(size) for size in found]  # type: ignore[arg-type]


def length(x: Expr, axis: int, asked: str) -> int:
    """The extent along one axis, which must be a number."""
    size = sizes(x)[axis]
    if isinstance(size, PrimExpr):
        legal = f"a number as the extent of axis {axis}"
        raise OpAttributeUnImplemented(message(asked, found=f"the extent {size}", legal=legal))
    return size


def dtype_of(x: Expr) -> str:
    """The data type of a tensor, by name."""
    return str(info(x).dtype)


def axis_of(dim: int, ndim: int) -> int:
    """An axis counted from the front."""
    legal = max(ndim, 1)
    if not -legal <= dim < legal:
        raise OpAttributeInvalid(
            message("dim", found=str(dim), legal=f"{-legal} ... {legal - 1}")
        )
    return dim + legal if dim < 0 else dim


def axes_of(dim: Any, ndim: int) -> list[int] | None:
    """Axes counted from the front; None (all of them) for none."""
    if dim is None:
        return None
    given = [dim] if isinstance(dim, int) else list(dim)
    return [axis_of(one, ndim) for one in given] or None


def written_axis(dim: int, ndim: int) -> int:
    """An axis as it was written, from the front or the back."""
    axis_of(dim, ndim)
    return dim


def written_axes(dim: Any, ndim: int) -> list[int] | None:
    """Axes as they were written; None (all of them) for none."""
    axes_of(dim, ndim)
    if dim is None:
        return None
    return [dim] if isinstance(dim, int) else list(dim) or None


def spread(value: Any, count: int) -> list[Any]:
    """One number an axis: `3` for two axes is `[3, 3]`."""
    given = list(value) if isinstance(value, (list, tuple)) else [value]
    return given * count if len(given) == 1 else given


def product(factors: Sequence[Size]) -> Size:
    return math.prod(factors)


def common_sizes(tensors: Sequence[Expr]) -> list[Size]:
    """The extents that tensors have once they are broadcast to each other."""
    return common_shape([sizes(x) for x in tensors])


def common_shape(shapes: Sequence[Sequence[Size]]) -> list[Size]:
    """The shape to which all of these are broadcast."""
    ndim = max(map(len, shapes))
    shape: list[Size] = [1] * ndim
    for own in shapes:
        for i, size in enumerate(own, start=ndim - len(own)):
            shape[i] = size if same(shape[i], 1) else shape[i]
    return shape


def together(bb: BlockBuilder, *tensors: Expr) -> list[Expr]:
    """Tensors broadcast to each other; those that have the shape stay."""
    shape = common_sizes(tensors)
    fits = [
        len(sizes(x)) == len(shape) and all(same(a, b) for a, b in zip(sizes(x), shape))
        for x in tensors
    ]
    return [
        x if fit else bb.emit(op.broadcast_to(x, shape)) for x, fit in zip(tensors, fits)
    ]


def along_an_axis(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A converter that takes single numbers too, as torch does: their axis is 0 or -1."""

    @functools.wraps(rule)
    def apply(bb: BlockBuilder, input: Any, *args: Any, **named: Any) -> Any:
        if not isinstance(input, RelaxExpr) or rank(input) != 0:
            return rule(bb, input, *args, **named)
        row, *rest = (_row(bb, value) for value in (input, *args))
        options = {name: _row(bb, value) for name, value in named.items()}
        return _as_numbers(bb, rule(bb, row, *rest, **options))

    return apply


def _row(bb: BlockBuilder, value: Any) -> Any:
    """A tensor without axes as one of one element; anything else as it is."""
    alone = isinstance(value, RelaxExpr) and rank(value) == 0
    return bb.emit(op.reshape(value, (1,))) if alone else value


def _as_numbers(bb: BlockBuilder, made: Any) -> Any:
    """Tensors of one element, without axes."""
    if isinstance(made, (tuple, list)):
        return tuple(_as_numbers(bb, part) for part in made)
    value = bb.normalize_argument(made)
    known = value.struct_info
    if isinstance(known, TupleStructInfo):
        return tuple(
            _as_numbers(bb, bb.emit(TupleGetItem(value, i))) for i in range(len(known.fields))
        )
    return value if rank(value) == 0 else bb.emit(op.reshape(value, ()))


def same(a: Size, b: Size) -> bool:
    """Whether two extents are known to be the same."""
    if isinstance(a, PrimExpr) or isinstance(b, PrimExpr):
        return a is b
    return a == b


# --- made values ---


def scalar(value: Any, dtype: str) -> Constant:
    """A number as a constant of a data type.

    A float for an integer type loses its fraction; a negative number for an unsigned type wraps.
    """
    if not is_float(dtype) and isinstance(value, float):
        value = int(value)
    if dtype.startswith("uint") and value < 0:
        value %= 1 << int(dtype.removeprefix("uint"))
    return const(value, dtype)


def size_tensor(size: PrimExpr) -> Expr:
    """The value of a symbolic size, as a tensor without axes (int64)."""
    return op.reshape(op.shape_to_tensor(ShapeExpr([size])), ())


def read_size(bb: BlockBuilder, number: Expr) -> SizeVar:
    """A number in a tensor as the value of a symbol, which may be an extent from here on."""
    symbol = SizeVar(bb.get_unique_name("count"), "int64")
    shape = bb.emit(op.tensor_to_shape(bb.emit(op.reshape(number, [1]))))
    bb.match_cast(shape, ShapeStructInfo([symbol]))
    return symbol


def tensor_of(bb: BlockBuilder, value: Any, dtype: str | None = None) -> Expr:
    """A tensor, a number or a symbolic size as a tensor, of `dtype` where one is given."""
    if isinstance(value, RelaxExpr):
        return value if dtype is None else cast(bb, value, dtype)
    if isinstance(value, PrimExpr):
        if str(value.dtype) == "bool":  # a comparison of sizes
            number = bb.emit(size_tensor(value.astype("int64")))
            return cast(bb, cast(bb, number, "bool"), dtype or "bool")
        if "float" in str(value.dtype):  # arithmetic on sizes
            return tensor_of(bb, _computed(bb, value), dtype or DEFAULT_FLOAT)
        if isinstance(value, IntImm):
            return tensor_of(bb, int(value.value), dtype or "int64")
        return tensor_of(bb, bb.emit(size_tensor(value)), dtype)
    return scalar(value, dtype or number_dtype(value))


def _computed(bb: BlockBuilder, value: PrimExpr) -> Expr:
    """A number that the sizes of a call tell, as a tensor without axes."""
    symbols = list(undefined_vars(value))

    def compute(*given: PrimExpr) -> te.Tensor:
        known = substitute(value, dict(zip(symbols, given)))
        found: te.Tensor = te.compute((), lambda: known, "number")
        return found

    return bb.emit_te(compute, *symbols, primfunc_name_hint="number")


def cast(bb: BlockBuilder, x: Expr, dtype: str) -> Expr:
    """The tensor with another data type; itself where it has it."""
    return x if dtype_of(x) == dtype else bb.emit(op.astype(x, dtype))


def floating(bb: BlockBuilder, x: Expr) -> Expr:
    """Integers and truth values as the default float."""
    return x if is_float(dtype_of(x)) else cast(bb, x, DEFAULT_FLOAT)


def common_dtype(*operands: Any) -> str:
    """The data type that torch computes several operands in."""
    tensors = [v for v in operands if isinstance(v, RelaxExpr)]
    numbers = [number_dtype(v) for v in operands if not isinstance(v, RelaxExpr)]
    return result_type(
        [dtype_of(t) for t in tensors if info(t).ndim != 0],
        [dtype_of(t) for t in tensors if info(t).ndim == 0],
        numbers,
    )


def promoted(bb: BlockBuilder, *operands: Any) -> list[Expr]:
    """Operands as tensors of one data type."""
    dtype = common_dtype(*operands)
    return [tensor_of(bb, value, dtype) for value in operands]


def promoted_floats(bb: BlockBuilder, *operands: Any) -> list[Expr]:
    """Operands as tensors of one data type, which is a float."""
    dtype = common_dtype(*operands)
    kind = dtype if category(dtype) == 2 else DEFAULT_FLOAT
    return [tensor_of(bb, value, kind) for value in operands]


def matched(bb: BlockBuilder, *operands: Any) -> list[Expr]:
    """Operands of one data type, for an operator on elements: see `_agreeing`."""
    return _agreeing(bb, promoted(bb, *operands))


def matched_floats(bb: BlockBuilder, *operands: Any) -> list[Expr]:
    """Operands of one data type, which is a float, for an operator on elements."""
    return _agreeing(bb, promoted_floats(bb, *operands))


def _agreeing(bb: BlockBuilder, tensors: list[Expr]) -> list[Expr]:
    """Tensors whose extents, where they are not 1, are checked to be equal as the program runs.

    Torch repeats no extent but one that is known to be 1 where it traces, where a size that is
    open counts as 2 or more.
    """
    shapes = [_with_ones(extents_of(tensor)) for tensor in tensors]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(tensors):
        return tensors
    ndim = max(len(shape) for shape in known)
    padded = [(IntImm("int64", 1),) * (ndim - len(shape)) + tuple(shape) for shape in known]
    wanted = [next((e for e in column if not is_number(e, 1)), None) for column in zip(*padded)]
    return [
        agreeing(bb, tensor, [have if is_number(have, 1) else want
                              for have, want in zip(shape, wanted[ndim - len(shape) :])])
        for tensor, shape in zip(tensors, known)
    ]  # fmt: skip


def _with_ones(shape: Sequence[PrimExpr] | None) -> tuple[PrimExpr, ...] | None:
    """The extents, as 1 where they are that for open sizes of 2 and more."""
    return None if shape is None else tuple([_or_one(extent) for extent in shape])


def _or_one(extent: PrimExpr) -> PrimExpr:
    if isinstance(extent, (IntImm, Var)):
        return extent
    analyzer, one = Analyzer(), IntImm("int64", 1)
    for size in vars_in(extent):
        analyzer.update(size, ConstIntBound(2, ConstIntBound.POS_INF))
    return one if analyzer.can_prove_equal(extent, one) else extent


def refuse(asked: str, found: object, legal: str) -> OpAttributeUnImplemented:
    """The error of an option that Relax has no meaning for."""
    return OpAttributeUnImplemented(message(asked, found=str(found), legal=legal))
