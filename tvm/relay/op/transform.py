"""Operators that move, select and convert elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relax.op.manipulate import tuple_items
from tvm.relax.struct_info import TensorStructInfo, const_int
from tvm.relay.expr import Call, Constant, Tuple, TupleWrapper, const
from tvm.relay.ty import Any as AnyDim
from tvm.relay.ty import TensorType
from tvm.tir.expr import Var as TirVar

from .declare import (
    ATTRS_CLASSES,
    BROADCAST,
    ELEMWISE,
    INJECTIVE,
    OPAQUE,
    OUT_FUSABLE,
    REQUIRED,
    Expr,
    Relate,
    as_expr,
    dynamic,
    is_open,
    relay_op,
    te,
    topi,
)
from .diagonals import matrix_set_diag
from .relations import (
    along_axis,
    axis_of,
    choice,
    extents,
    is_any,
    tensor,
    tensor_type,
)
from .reshapes import reshape_extents, reverse_extents
from .sequences import reverse_sequence, sequence_mask
from .sets import unique
from .signal import dft, stft
from .sparse import sparse_fill_empty_rows, sparse_reshape
from .stretches import (
    broadcast_to,
    broadcast_to_like,
    collapse_sum_like,
    collapse_sum_to,
    fixed_ints,
)


def _cast_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    return None if x is None else TensorType(x.shape, ctx.attrs.dtype)


@relay_op("cast", "CastAttrs", operands=("data",), relation=_cast_type, pattern=ELEMWISE,
          level=3, lower=lambda bb, x, *, dtype: R.astype(x, dtype))  # fmt: skip
def cast(data: Expr, dtype: str) -> Call:
    """The values in another data type."""
    return cast.call(data, dtype=str(dtype))


@relay_op("cast_like", pattern=ELEMWISE, level=3,
          relation=lambda ctx: _like(ctx, 0, 1),
          lower=lambda bb, x, like: R.astype(x, like.struct_info.dtype))  # fmt: skip
def cast_like(data: Expr, dtype_like: Expr) -> Call:
    """The values in the data type of another tensor."""
    return cast_like.call(data, dtype_like)


def _like(ctx: Relate, shape: int, dtype: int) -> Type | None:
    a, b = tensor(ctx, shape), tensor(ctx, dtype)
    return None if a is None or b is None else TensorType(a.shape, b.dtype)


@relay_op("reinterpret", "CastAttrs", operands=("data",), relation=_cast_type, pattern=ELEMWISE,
          lower=te(topi.reinterpret), level=3)  # fmt: skip
def reinterpret(data: Expr, dtype: str) -> Call:
    """The same bits as another data type."""
    return reinterpret.call(data, dtype=dtype)


def _expand_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    axis, count = int(ctx.attrs.axis), int(ctx.attrs.num_newaxis)
    axis = axis_of(ctx, axis, len(dims) + 1)
    return TensorType([*dims[:axis], *[1] * count, *dims[axis:]], x.dtype)


@relay_op("expand_dims", "ExpandDimsAttrs", operands=("data",), relation=_expand_type, level=1,
          pattern=BROADCAST, lower=lambda bb, x, *, axis, num_newaxis: _expand(x, axis, num_newaxis)
          )  # fmt: skip
def expand_dims(data: Expr, axis: int, num_newaxis: int = 1) -> Call:
    """New axes of extent 1 before `axis`."""
    if is_open(axis):
        attrs = ATTRS_CLASSES["DynExpandDimsAttrs"](num_newaxis=num_newaxis)
        return dynamic("dyn.expand_dims", attrs, data, axis)
    position = fixed_ints(axis, "expand_dims: the axis")[0]
    return expand_dims.call(data, axis=position, num_newaxis=num_newaxis)


def _expand(x: Any, axis: int, count: int) -> Any:
    rank = x.struct_info.ndim
    first = axis if axis >= 0 else axis + rank + 1
    return R.expand_dims(x, list(range(first, first + count))) if count else x


def _transpose_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    axes = ctx.attrs.axes
    order = range(len(dims))[::-1] if axes is None else [axis_of(ctx, a, len(dims)) for a in axes]
    if sorted(order) != list(range(len(dims))):
        raise ctx.fail(f"axes {list(order)} name no order", "each axis once")
    return TensorType([dims[axis] for axis in order], x.dtype)


@relay_op("transpose", "TransposeAttrs", operands=("data",), relation=_transpose_type, level=3,
          pattern=INJECTIVE, optional={"axes": REQUIRED},
          lower=lambda bb, x, *, axes: R.permute_dims(x, axes))  # fmt: skip
def transpose(data: Expr, axes: Sequence[int] | None = None) -> Call:
    """The axes in another order; reversed without one."""
    return transpose.call(data, axes=None if axes is None else tuple(int(a) for a in axes))


def _squeeze_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    axis = ctx.attrs.axis
    if axis is None:
        if not all(isinstance(d, int) for d in dims):  # one of them may be 1 when it runs
            raise ctx.fail("no axes are named, and an extent is no number", "axis=[...]")
        return TensorType([d for d in dims if not (isinstance(d, int) and d == 1)], x.dtype)
    gone = {axis_of(ctx, int(a), len(dims)) for a in axis}
    wrong = [dims[a] for a in sorted(gone) if isinstance(dims[a], int) and dims[a] != 1]
    if wrong:
        raise ctx.fail(f"an axis of extent {wrong[0]} cannot go", "axes of extent 1")
    return TensorType([d for at, d in enumerate(dims) if at not in gone], x.dtype)


@relay_op("squeeze", "SqueezeAttrs", operands=("data",), relation=_squeeze_type, level=3,
          pattern=INJECTIVE, lower=lambda bb, x, *, axis: R.squeeze(x, axis))  # fmt: skip
def squeeze(data: Expr, axis: Any = None) -> Call:
    """Axes of extent 1 go: those named, or all."""
    if is_open(axis):
        return dynamic("dyn.squeeze", ATTRS_CLASSES["SqueezeAttrs"](axis=()), data, axis)
    return squeeze.call(data, axis=None if axis is None else fixed_ints(axis, "squeeze: the axes"))


def _reshape_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = reshape_extents(extents(x), ctx.attrs.newshape, bool(ctx.attrs.allowzero), ctx.fail)
    return tensor_type(dims, x.dtype)


def _lower_dims(x: Any) -> list[Any]:
    values = x.struct_info.shape.values
    return [int(v.value) if hasattr(v, "value") else v for v in values]


@relay_op("reshape", "ReshapeAttrs", operands=("data",), relation=_reshape_type, level=3,
          pattern=INJECTIVE,
          lower=lambda bb, x, *, newshape, allowzero: R.reshape(
              x, reshape_extents(_lower_dims(x), newshape, allowzero)))  # fmt: skip
def reshape(data: Expr, newshape: Any, allowzero: bool = False) -> Call:
    """The elements in another shape; codes 0, -1, -2, -3, -4 stand for what there is."""
    if isinstance(newshape, RelaxExpr) and not isinstance(newshape, Constant):
        return Call(Op.get("dyn.reshape"), (data, newshape),
                    reshape.attrs_type(newshape=(), allowzero=allowzero)  # type: ignore[misc]
                    )  # fmt: skip
    if isinstance(newshape, int):
        newshape = (newshape,)
    codes = [s if not hasattr(s, "value") else int(s.value) for s in _items(newshape)]
    return reshape.call(data, newshape=tuple(codes), allowzero=bool(allowzero))


def _items(value: Any) -> list[Any]:
    if isinstance(value, Constant):
        return list(fixed_ints(value, "reshape: the shape"))
    return [int(v) if not hasattr(v, "dtype") or not hasattr(v, "span") else v for v in value]


@relay_op("contrib_reverse_reshape", "ReshapeAttrs", operands=("data",), level=10,
          relation=lambda ctx: _reverse_type(ctx), pattern=INJECTIVE, hidden=("newshape",),
          optional={"newshape": REQUIRED},
          lower=lambda bb, x, *, newshape, allowzero: R.reshape(
              x, reverse_extents(_lower_dims(x), newshape)))  # fmt: skip
def reverse_reshape(data: Expr, newshape: Any) -> Call:
    """As `reshape`, with the codes read from the back."""
    newshape = (newshape,) if isinstance(newshape, int) else newshape
    return reverse_reshape.call(data, newshape=fixed_ints(newshape, "reverse_reshape: the shape"))


def _reverse_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    return tensor_type(reverse_extents(extents(x), ctx.attrs.newshape), x.dtype)


def _part(o: dict[str, Any], rank: int, side: str) -> tuple[int, int]:
    begin = int(o[f"{side}_begin"])
    end = o[f"{side}_end"]
    last = rank if end is None else int(end)
    return begin + rank * (begin < 0), last + rank * (last < 0)


def _reshape_like_dims(a: list[Any], b: list[Any], o: dict[str, Any]) -> list[Any]:
    a0, a1 = _part(o, len(a), "lhs")
    b0, b1 = _part(o, len(b), "rhs")
    return [*a[:a0], *b[b0:b1], *a[a1:]]


def _reshape_like_type(ctx: Relate) -> Type | None:
    a, b = tensor(ctx, 0), tensor(ctx, 1)
    if a is None or b is None:
        return None
    dims = _reshape_like_dims(extents(a), extents(b), dict(ctx.attrs.items()))
    from .reshapes import product

    before, after = product(extents(a)), product(dims)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise ctx.fail(f"{before} elements do not make {dims}", "as many elements as before")
    return tensor_type(dims, a.dtype)


@relay_op("reshape_like", "ReshapeLikeAttrs", operands=("data", "shape_like"), level=3,
          relation=_reshape_like_type, pattern=INJECTIVE,
          lower=lambda bb, x, like, **o: R.reshape(
              x, _reshape_like_dims(_lower_dims(x), _lower_dims(like), o)))  # fmt: skip
def reshape_like(
    data: Expr, shape_like: Expr, lhs_begin: int = 0, lhs_end: int | None = None,
    rhs_begin: int = 0, rhs_end: int | None = None,
) -> Call:  # fmt: skip
    """The elements in the shape of another tensor, or some axes as some of the other's."""
    return reshape_like.call(
        data, shape_like, lhs_begin=lhs_begin, lhs_end=lhs_end, rhs_begin=rhs_begin,
        rhs_end=rhs_end,
    )  # fmt: skip


@relay_op("argwhere", relation=lambda ctx: _argwhere_type(ctx), level=10,
          lower=lambda bb, x: _argwhere(bb, x))  # fmt: skip
def argwhere(condition: Expr) -> Call:
    """The indices where a condition holds, one a row."""
    return argwhere.call(condition)


def _argwhere(bb: Any, x: Any) -> Any:
    """The indices that hold, one a column, get a name for how many they are; then rows."""
    count = TirVar("places", "int64")
    rank = int(x.struct_info.ndim)
    columns = bb.match_cast(
        bb.normalize_argument(R.nonzero(x)), TensorStructInfo((rank, count), "int64")
    )
    return R.astype(bb.emit(R.permute_dims(columns)), "int32")


def _argwhere_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    return None if x is None else TensorType((AnyDim(), len(x.shape)), "int32")


def _scattered(ctx: Relate) -> Type | None:
    x, index, updates = (tensor(ctx, at) for at in range(3))
    if x is None or index is None or updates is None:
        return None
    choice(ctx, "reduction", "update", "add", "mul", "mean", "min", "max")
    axis_of(ctx, int(ctx.attrs.axis), len(x.shape))
    if not len(x.shape) == len(index.shape) == len(updates.shape):
        raise ctx.fail("the operands differ in their numbers of dimensions", "equal numbers")
    return x


@relay_op("scatter_elements", "ScatterElementsAttrs", operands=("data", "indices", "updates"),
          relation=_scattered,
          lower=lambda bb, x, i, u, *, axis, reduction: bb.call_te(
              topi.scatter_elements, x, i, u, axis, reduction), level=3)  # fmt: skip
def scatter_elements(
    data: Expr, indices: Expr, updates: Expr, axis: int = 0, reduction: str = "update"
) -> Call:
    """`data` with `updates` put at indices along an axis."""
    return scatter_elements.call(data, indices, updates, axis=axis, reduction=reduction)


@relay_op("scatter_nd", "ScatterNDAttrs", operands=("data", "indices", "updates"),
          relation=lambda ctx: tensor(ctx, 0), level=3,
          lower=lambda bb, x, i, u, *, mode: bb.call_te(topi.scatter_nd, x, i, u, mode)
          )  # fmt: skip
def scatter_nd(data: Expr, indices: Expr, updates: Expr, mode: str = "update") -> Call:
    """`data` with `updates` put at the indices that the columns of `indices` hold."""
    return scatter_nd.call(data, indices, updates, mode=mode)


def _take_type(ctx: Relate) -> Type | None:
    x, index = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or index is None:
        return None
    choice(ctx, "mode", "clip", "wrap", "fast")
    if "int" not in str(index.dtype):
        raise ctx.fail(f"indices of {index.dtype}", "integers")
    dims, taken = extents(x), extents(index)
    if ctx.attrs.axis is None:
        return TensorType(taken, x.dtype)
    axis = axis_of(ctx, int(ctx.attrs.axis), len(dims))
    batch = int(ctx.attrs.batch_dims)
    batch += len(taken) * (batch < 0)
    if not 0 <= batch <= axis:
        raise ctx.fail(f"batch_dims {batch} behind axis {axis}", f"0 ... {axis}")
    return TensorType([*dims[:axis], *taken[batch:], *dims[axis + 1 :]], x.dtype)


@relay_op("take", "TakeAttrs", operands=("data", "indices"), relation=_take_type, level=3,
          pattern=INJECTIVE, first=("batch_dims",),
          lower=lambda bb, x, i, *, axis, batch_dims, mode: bb.call_te(
              topi.take, x, i, axis, batch_dims, mode))  # fmt: skip
def take(
    data: Expr, indices: Expr, axis: int | None = None, batch_dims: int = 0, mode: str = "clip"
) -> Call:
    """Elements at indices along an axis, or of the flat tensor."""
    return take.call(data, indices, axis=axis, batch_dims=batch_dims, mode=mode)


def _full_type(ctx: Relate) -> Type | None:
    value = tensor(ctx, 0)
    if value is None:
        return None
    if value.shape:
        raise ctx.fail("the value to fill with is no scalar", "a tensor without dimensions")
    return TensorType(ctx.attrs.shape, ctx.attrs.dtype or value.dtype)


@relay_op("full", "InitOpAttrs", operands=("fill_value",), relation=_full_type, level=3,
          pattern=ELEMWISE, optional={"shape": REQUIRED},
          lower=lambda bb, x, *, shape, dtype: R.full(list(shape), x, dtype or None))  # fmt: skip
def full(fill_value: Expr, shape: Any = (), dtype: str = "") -> Call:
    """A shape filled with a scalar."""
    if is_open(shape):
        attrs = ATTRS_CLASSES["InitOpAttrs"](shape=None, dtype=dtype)
        return dynamic("dyn.full", attrs, fill_value, shape)
    return full.call(fill_value, shape=fixed_ints(shape, "full: the shape"), dtype=dtype)


def _full_like_type(ctx: Relate) -> Type | None:
    value = tensor(ctx, 1)
    if value is not None and value.shape:
        raise ctx.fail("the value to fill with is no scalar", "a tensor without dimensions")
    return tensor(ctx, 0)


@relay_op("full_like", pattern=ELEMWISE, level=3, relation=_full_like_type,
          lower=lambda bb, x, v: R.full_like(x, v))  # fmt: skip
def full_like(data: Expr, fill_value: Expr) -> Call:
    """The shape and type of another tensor, filled with a scalar."""
    return full_like.call(data, fill_value)


def _scalar(value: Any) -> float | int | None:
    if isinstance(value, Constant):
        found: float | int = value.data.numpy().item()
        return found
    return None


def _arange_type(ctx: Relate) -> Type | None:
    values = [_scalar(arg) for arg in ctx.args[:3]]
    if None in values:
        return TensorType((AnyDim(),), ctx.attrs.dtype)
    import math

    start, stop, step = values
    if step == 0:
        raise ctx.fail("a step of 0", "numbers above or below it")
    return TensorType((max(0, math.ceil((stop - start) / step)),), ctx.attrs.dtype)  # type: ignore[operator]


def _arange(bb: Any, start: Any, stop: Any, step: Any, *, dtype: str) -> Any:
    values = [_known(bb, operand) for operand in (start, stop, step)]
    return R.arange(values[0], values[1], values[2], dtype)


def _known(bb: Any, operand: Any) -> Any:
    """The number that an operand is; it may be bound to a variable."""
    from tvm.relax.expr import Constant as RelaxConstant
    from tvm.relax.expr import Var as RelaxVar

    found = operand
    while isinstance(found, RelaxVar):
        found = bb.lookup_binding(found)
    if not isinstance(found, RelaxConstant):
        from tvm.relay.to_relax_types import NotFirstOrder  # it reads the operators

        raise NotFirstOrder("arange: a bound is a value of the program")
    return found.data.numpy().item()


@relay_op("arange", "ArangeAttrs", operands=("start", "stop", "step"), relation=_arange_type,
          level=3, optional={"dtype": REQUIRED},
          lower=_arange)  # fmt: skip
def arange(
    start: Any, stop: Any = None, step: Any = None, dtype: str = "float32"
) -> Call:
    """The numbers from `start` up to `stop`, a step apart."""
    if stop is None:
        stop, start = start, const(0, dtype)
    step = const(1, dtype) if step is None else step
    given = [v if isinstance(v, RelaxExpr) else const(v, dtype) for v in (start, stop, step)]
    return arange.call(*given, dtype=dtype)


arange.op.set_attr("FRelayByValue", True)  # numbers of the operands tell the result's extent


def _meshgrid(bb: Any, data: Any, *, indexing: str) -> Any:
    """Scalars are vectors of one element."""
    parts: list[Any] = list(tuple_items(bb, data))
    fields = [bb.emit(R.reshape(x, (1,))) if x.struct_info.ndim == 0 else x for x in parts]
    return R.meshgrid(fields, indexing)


@relay_op("meshgrid", "MeshgridAttrs", operands=("data",), level=3, pattern=INJECTIVE,
          lower=_meshgrid)  # fmt: skip
def meshgrid(data: Any, indexing: str = "ij") -> Any:
    """Grids of coordinates of the given vectors."""
    operands = as_expr(data)
    count = len(operands.fields) if isinstance(operands, Tuple) else len(data)
    return TupleWrapper(meshgrid.call(operands, indexing=indexing), count)


def _repeated(ctx: Relate) -> Type | None:
    x, times = tensor(ctx, 0), int(ctx.attrs.repeats)
    if x is None:
        return None
    if times < 1:
        raise ctx.fail(f"repeats {times}", "1 or more")
    dims = extents(x)
    axis = axis_of(ctx, int(ctx.attrs.axis), len(dims))
    dims[axis] = dims[axis] if is_any(dims[axis]) else dims[axis] * times
    return tensor_type(dims, x.dtype)


@relay_op("repeat", "RepeatAttrs", operands=("data",), level=3, pattern=BROADCAST,
          optional={"axis": None},
          relation=_repeated,
          lower=lambda bb, x, *, repeats, axis: R.repeat(x, repeats, axis))  # fmt: skip
def repeat(data: Expr, repeats: int, axis: int) -> Call:
    """Each element several times along an axis."""
    return repeat.call(data, repeats=int(repeats), axis=axis)


def _tile_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims, reps = extents(x), list(ctx.attrs.reps)
    if any(int(r) < 1 for r in reps):
        raise ctx.fail(f"repetitions {reps}", "numbers from 1 up")
    rank = max(len(dims), len(reps))
    dims, reps = [1] * (rank - len(dims)) + dims, [1] * (rank - len(reps)) + reps
    return tensor_type([AnyDim() if is_any(d) else d * int(r) for d, r in zip(dims, reps)], x.dtype)


@relay_op("tile", "TileAttrs", operands=("data",), relation=_tile_type, level=3,
          pattern=BROADCAST, lower=lambda bb, x, *, reps: R.tile(x, list(reps)))  # fmt: skip
def tile(data: Expr, reps: Any) -> Call:
    """The whole tensor several times along each axis."""
    if is_open(reps):
        return dynamic("dyn.tile", ATTRS_CLASSES["TileAttrs"](reps=()), data, reps)
    return tile.call(data, reps=fixed_ints(reps, "tile: the repetitions"))


@relay_op("reverse", "ReverseAttrs", operands=("data",), relation=along_axis,
          optional={"axis": None},
          pattern=INJECTIVE, level=3, lower=lambda bb, x, *, axis: R.flip(x, axis))  # fmt: skip
def reverse(data: Expr, axis: int) -> Call:
    """The elements along an axis in reverse."""
    return reverse.call(data, axis=axis)


def _where_type(ctx: Relate) -> Type | None:
    from .relations import broadcast_extents

    cond, x, y = (tensor(ctx, i) for i in range(3))
    if cond is None or x is None or y is None:
        return None
    if x.dtype != y.dtype:
        raise ctx.fail("data types do not match", "operands of one data type")
    both = broadcast_extents(ctx, extents(x), extents(y))
    return TensorType(broadcast_extents(ctx, extents(cond), both), x.dtype)


@relay_op("where", relation=_where_type, pattern=BROADCAST, level=4,
          lower=lambda bb, c, x, y: R.where(
              c if str(c.struct_info.dtype) == "bool" else R.astype(c, "bool"), x, y))  # fmt: skip
def where(condition: Expr, x: Expr, y: Expr) -> Call:
    """From `x` where the condition holds, from `y` elsewhere."""
    return where.call(condition, x, y)


def _split_type(ctx: Relate) -> Type | None:
    from tvm.ir.type import TupleType

    x = tensor(ctx, 0)
    if x is None:
        return None
    dims = extents(x)
    axis = axis_of(ctx, int(ctx.attrs.axis), len(dims))
    sections, extent = ctx.attrs.indices_or_sections, dims[axis]
    if isinstance(sections, int):
        if isinstance(extent, int) and extent % sections:
            raise ctx.fail(f"{extent} elements do not make {sections} equal parts", "a divisor")
        size = AnyDim() if is_any(extent) else extent // sections
        return TupleType(
            [tensor_type([*dims[:axis], size, *dims[axis + 1 :]], x.dtype)] * sections
        )
    ends = [0, *[int(end) for end in sections], extent] if sections else [0, extent]
    parts: list[Type] = []
    for low, high in itertools.pairwise(ends):
        if isinstance(high, int) and isinstance(low, int) and high <= low:
            legal = f"ascending ones between 0 and the extent, {extent}"
            raise ctx.fail(f"indices {list(sections)} leave a part empty", legal)
        size = AnyDim() if is_any(high) else high - low
        parts.append(tensor_type([*dims[:axis], size, *dims[axis + 1 :]], x.dtype))
    return TupleType(parts)


@relay_op("split", "SplitAttrs", operands=("data",), relation=_split_type, level=3,
          pattern=INJECTIVE,
          lower=lambda bb, x, *, indices_or_sections, axis: R.split(
              x, indices_or_sections if isinstance(indices_or_sections, int)
              else list(indices_or_sections), axis))  # fmt: skip
def split(data: Expr, indices_or_sections: Any, axis: int = 0) -> Any:
    """Parts of a tensor along an axis: a number of equal ones, or cut at indices."""
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
    else:
        indices_or_sections = fixed_ints(indices_or_sections, "split: the indices")
        count = len(indices_or_sections) + 1
    made = split.call(data, indices_or_sections=indices_or_sections, axis=axis)
    return TupleWrapper(made, count)


def _slice_bounds(
    dims: Sequence[Any], o: dict[str, Any]
) -> list[tuple[int, Any, Any, int]]:
    """Axis, begin, end and step of each axis that is cut."""
    begin, end = list(o["begin"]), list(o["end"])
    axes = o.get("axes")
    axes = range(len(begin)) if axes is None else axes
    strides = list(o["strides"] or [1])
    if o.get("slice_mode", "end") == "size":
        strides = [1]
    strides += [strides[-1] if len(strides) == 1 and len(axes) > 1 else 1] * (
        len(begin) - len(strides)
    )
    if len(o["strides"] or [1]) == 1 and len(begin) > 1:
        strides = [strides[0]] * len(begin)
    found = []
    for at, axis in enumerate(axes):
        axis = int(axis) % len(dims)
        step = int(strides[at])
        low = (0 if step > 0 else -1) if begin[at] is None else int(begin[at])
        high = dims[axis] if at >= len(end) or end[at] is None else int(end[at])
        if at < len(end) and end[at] is None and step < 0 and isinstance(high, int):
            high = -high - 1  # past the front
        if o.get("slice_mode", "end") == "size":
            high = dims[axis] if high < 0 else low + high
            step = 1
        found.append((axis, low, high, step))
    return found


def _sliced_extent(extent: Any, low: int, high: Any, step: int) -> Any:
    if not isinstance(extent, int):  # a symbol may be less than where a slice ends
        return extent if high is extent and low == 0 and step == 1 else AnyDim()
    return len(range(*slice(low, high if isinstance(high, int) else None, step).indices(extent)))


def _slice_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    dims, o = extents(x), ctx.attrs
    if o.axes is None and max(len(o.begin), len(o.end)) > len(dims):
        raise ctx.fail(f"bounds {list(o.begin)}, {list(o.end)} of {len(dims)} dimensions",
                       "one for each, or for the first")  # fmt: skip
    for axis in o.axes or ():
        axis_of(ctx, int(axis), len(dims))
    for axis, low, high, step in _slice_bounds(dims, dict(ctx.attrs.items())):
        dims[axis] = _sliced_extent(dims[axis], low, high, step)
    return tensor_type(dims, x.dtype)


def _slice(bb: Any, x: Any, **o: Any) -> Any:
    bounds = _slice_bounds(_lower_dims(x), o)
    dims = _lower_dims(x)
    axes = [axis for axis, *_ in bounds]
    begins, ends = [], []
    for axis, low, high, step in bounds:
        if isinstance(dims[axis], int) and isinstance(high, int):
            low, high, _ = slice(low, high, step).indices(dims[axis])
            if step < 0 and high < 0:  # past the front: Relax counts such an end from the back
                high = -dims[axis] - 1
        begins.append(low)
        ends.append(high)
    return R.strided_slice(x, axes, begins, ends, [step for *_, step in bounds])


@relay_op("strided_slice", "StridedSliceAttrs", operands=("data",), relation=_slice_type, level=4,
          pattern=INJECTIVE, lower=_slice,
          first=("begin", "end", "strides", "slice_mode"),
          optional={"strides": REQUIRED, "axes": REQUIRED, "slice_mode": "end"})  # fmt: skip
def strided_slice(
    data: Expr, begin: Any, end: Any, strides: Any = None, axes: Any = None,
    slice_mode: str = "end",
) -> Call:  # fmt: skip
    """The elements from `begin` to `end` (or `end` many), a step apart, of each axis."""
    if is_open(begin, end, strides):
        attrs = ATTRS_CLASSES["StridedSliceAttrs"](
            begin=None, end=None, strides=None, axes=axes, slice_mode=slice_mode
        )
        step = [1] if strides is None else strides
        return dynamic("dyn.strided_slice", attrs, data, begin, end, step)
    steps = fixed_ints([1] if strides is None else strides, "strided_slice: the strides")
    return strided_slice.call(
        data, begin=_bounds(begin, "strided_slice: the begin"),
        end=_bounds(end, "strided_slice: the end"), strides=steps or (1,),
        axes=None if axes is None else fixed_ints(axes, "strided_slice: the axes"),
        slice_mode=slice_mode,
    )  # fmt: skip


def _bounds(value: Any, what: str) -> tuple[int | None, ...]:
    """Numbers; None stands for the first or the last index of an axis."""
    if isinstance(value, (list, tuple)):
        return tuple(None if item is None else int(item) for item in value)
    return fixed_ints(value, what)


@relay_op("strided_set", relation=lambda ctx: tensor(ctx, 0), level=4, pattern=INJECTIVE,
          operands=("data", "v", "begin", "end", "strides"),
          lower=lambda bb, x, v, *ends: bb.call_te(
              topi.strided_set, x, v, *[bb.emit(R.astype(p, "int64")) for p in ends])
          )  # fmt: skip
def strided_set(data: Expr, v: Expr, begin: Any, end: Any, strides: Any = None) -> Call:
    """`data` with a slice replaced by `v`."""
    ends = [const(list(p)) if isinstance(p, (tuple, list)) else p for p in (begin, end)]
    if strides is None:
        strides = [1]  # an axis without one takes 1
    steps = const(list(strides)) if isinstance(strides, (tuple, list)) else strides
    return strided_set.call(data, v, *ends, steps)


def _slice_like_axes(rank: int, like: int, axes: Any) -> list[int]:
    if not axes:
        return list(range(min(rank, like)))
    return [int(axis) % rank for axis in axes]


def _slice_like_type(ctx: Relate) -> Type | None:
    x, like = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or like is None:
        return None
    dims, wanted = extents(x), extents(like)
    for axis in _slice_like_axes(len(dims), len(wanted), ctx.attrs.axes):
        have, want = dims[axis], wanted[axis]
        if isinstance(have, int) and isinstance(want, int) and have < want:
            raise ctx.fail(f"axis {axis} of extent {have} has no {want} elements", "a part")
        dims[axis] = want
    return TensorType(dims, x.dtype)


def _slice_like(bb: Any, x: Any, like: Any, *, axes: Any) -> Any:
    wanted = _lower_dims(like)
    chosen = _slice_like_axes(x.struct_info.ndim, len(wanted), axes)
    return R.strided_slice(x, chosen, [0] * len(chosen), [wanted[a] for a in chosen])


@relay_op("slice_like", "SliceLikeAttrs", operands=("data", "shape_like"), level=10,
          relation=_slice_like_type, pattern=INJECTIVE, lower=_slice_like,
          optional={"axes": REQUIRED})  # fmt: skip
def slice_like(data: Expr, shape_like: Expr, axes: Any = None) -> Call:
    """The front of a tensor, as large as another along some axes."""
    return slice_like.call(
        data, shape_like, axes=None if axes is None else fixed_ints(axes, "slice_like: the axes")
    )


@relay_op("layout_transform", "LayoutTransformAttrs", operands=("data",), level=5,
          pattern=INJECTIVE,
          lower=lambda bb, x, **o: x if o["src_layout"] == o["dst_layout"] else bb.call_te(
              topi.layout_transform, x, **o),
          optional={"src_layout": REQUIRED, "dst_layout": REQUIRED})  # fmt: skip
def layout_transform(data: Expr, src_layout: str, dst_layout: str) -> Call:
    """The elements in another layout, such as NCHW4c of NCHW."""
    return layout_transform.call(data, src_layout=src_layout, dst_layout=dst_layout)


def _gather_type(ctx: Relate) -> Type | None:
    x, index = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or index is None:
        return None
    if len(x.shape) != len(index.shape):
        raise ctx.fail("the indices have another rank than the data", "as many dimensions")
    axis_of(ctx, int(ctx.attrs.axis), len(x.shape))
    return TensorType(index.shape, x.dtype)


@relay_op("gather", "GatherAttrs", operands=("data", "indices"), relation=_gather_type, level=3,
          optional={"axis": None},
          pattern=INJECTIVE, lower=lambda bb, x, i, *, axis: R.gather_elements(x, i, axis)
          )  # fmt: skip
def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """Elements at indices along one axis; the other axes are walked together."""
    return gather.call(data, indices, axis=axis)


def _gather_nd(bb: Any, x: Any, index: Any, *, batch_dims: int, index_rank: int | None) -> Any:
    info = index.struct_info
    if index_rank is not None and info.values and const_int(info.values[0]) is None:
        known = TensorStructInfo((int(index_rank), *info.values[1:]), info.dtype)
        index = bb.match_cast(index, known)
    return bb.call_te(topi.gather_nd, x, index, batch_dims)


@relay_op("gather_nd", "GatherNDAttrs", operands=("data", "indices"), level=3, pattern=INJECTIVE,
          lower=_gather_nd)  # fmt: skip
def gather_nd(
    data: Expr, indices: Expr, batch_dims: int = 0, index_rank: int | None = None
) -> Call:
    """Elements at the indices that the columns of `indices` hold."""
    return gather_nd.call(data, indices, batch_dims=batch_dims, index_rank=index_rank)


def _one_hot_type(ctx: Relate) -> Type | None:
    index = tensor(ctx, 0)
    if index is None:
        return None
    dims = extents(index)
    axis = int(ctx.attrs.axis)
    axis = len(dims) if axis == -1 else axis
    return TensorType([*dims[:axis], int(ctx.attrs.depth), *dims[axis:]], ctx.attrs.dtype)


def _one_hot(bb: Any, index: Any, on: Any, off: Any, *, depth: int, axis: int, dtype: str) -> Any:
    def compute(i: Any, yes: Any, no: Any) -> Any:
        return topi.one_hot(i, yes(), no(), depth, axis, dtype)

    return bb.call_te(compute, index, on, off, primfunc_name_hint="one_hot")


@relay_op("one_hot", "OneHotAttrs", operands=("indices", "on_value", "off_value"), level=10,
          relation=_one_hot_type, pattern=OUT_FUSABLE, lower=_one_hot,
          optional={"depth": 1, "axis": -1, "dtype": ""})  # fmt: skip
def one_hot(
    indices: Expr, on_value: Expr, off_value: Expr, depth: int, axis: int, dtype: str
) -> Call:
    """One value at each index along a new axis, another elsewhere."""
    if is_open(depth):
        attrs = ATTRS_CLASSES["OneHotAttrs"](depth=0, axis=axis, dtype=dtype)
        return dynamic("dyn.one_hot", attrs, indices, on_value, off_value, depth)
    depth = fixed_ints(depth, "one_hot: the depth")[0]
    return one_hot.call(indices, on_value, off_value, depth=depth, axis=axis, dtype=dtype)


@relay_op("unravel_index", level=3, pattern=INJECTIVE, lower=te(topi.unravel_index))
def unravel_index(indices: Expr, shape: Expr) -> Call:
    """Flat indices as coordinates."""
    return unravel_index.call(indices, shape)


def _to_dense_type(ctx: Relate) -> Type | None:
    indices, values = tensor(ctx, 0), tensor(ctx, 1)
    if indices is None or values is None:
        return None
    dims = [int(extent) for extent in ctx.attrs.output_shape]
    rank = extents(indices)[1] if len(indices.shape) == 2 else 1
    if isinstance(rank, int) and len(indices.shape) == 2 and rank != len(dims):
        raise ctx.fail(f"indices of {rank} coordinates in a tensor of shape {dims}", f"{len(dims)}")
    return TensorType(dims, values.dtype)


@relay_op("sparse_to_dense", "SparseToDenseAttrs", level=3, pattern=OPAQUE,
          relation=_to_dense_type,
          operands=("sparse_indices", "sparse_values", "default_value"),
          lower=lambda bb, i, v, d, *, output_shape: bb.call_te(
              lambda a, b, c: topi.sparse_to_dense(a, output_shape, b, c()), i, v, d,
              primfunc_name_hint="sparse_to_dense"))  # fmt: skip
def sparse_to_dense(
    sparse_indices: Expr, output_shape: Any, sparse_values: Expr, default_value: Any = 0
) -> Call:
    """A dense tensor with values at some indices."""
    default = default_value if isinstance(default_value, RelaxExpr) else const(default_value)
    if is_open(output_shape):
        return dynamic(
            "dyn.sparse_to_dense", None, sparse_indices, sparse_values, default, output_shape
        )
    return sparse_to_dense.call(
        sparse_indices, sparse_values, default,
        output_shape=fixed_ints(output_shape, "sparse_to_dense: the shape"),
    )  # fmt: skip


@relay_op("adv_index", pattern=INJECTIVE, level=3,
          lower=lambda bb, x: bb.call_te(
              lambda parts: topi.adv_index(parts[0], list(parts[1:])), tuple_items(bb, x),
              primfunc_name_hint="adv_index"))  # fmt: skip
def adv_index(inputs: Any) -> Call:
    """Elements at the indices that several index tensors give together."""
    return adv_index.call(as_expr(inputs))


@relay_op("sliding_window", "SlidingWindowAttrs", operands=("data",), level=10, pattern=OPAQUE,
          lower=te(topi.sliding_window))  # fmt: skip
def sliding_window(data: Expr, axis: int, window_shape: Any, strides: Any) -> Call:
    """Windows that move over the axes from `axis` on."""
    return sliding_window.call(
        data, axis=axis, window_shape=tuple(window_shape), strides=tuple(strides)
    )


def _scan(bb: Any, x: Any, *, axis: Any, dtype: str, exclusive: Any, func: Any) -> Any:
    return func(x, axis, dtype or None, bool(exclusive))


@relay_op("cumsum", "ScanopAttrs", operands=("data",), level=3,
          optional={"dtype": "", "exclusive": False},
          lower=lambda bb, x, **o: _scan(bb, x, **o, func=R.cumsum))  # fmt: skip
def cumsum(
    data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Call:
    """Running sums along an axis, or of the flat tensor."""
    return cumsum.call(data, axis=axis, dtype=dtype or "", exclusive=exclusive)


@relay_op("cumprod", "ScanopAttrs", operands=("data",), level=3,
          lower=lambda bb, x, **o: _scan(bb, x, **o, func=R.cumprod))  # fmt: skip
def cumprod(
    data: Expr, axis: int | None = None, dtype: str | None = None, exclusive: bool | None = None
) -> Call:
    """Running products along an axis, or of the flat tensor."""
    return cumprod.call(data, axis=axis, dtype=dtype or "", exclusive=exclusive)


@relay_op("invert_permutation", relation=lambda ctx: tensor(ctx, 0), level=1,
          lower=lambda bb, x: R.argsort(x, dtype=x.struct_info.dtype),
          pattern=INJECTIVE)  # fmt: skip
def invert_permutation(data: Expr) -> Call:
    """The permutation that undoes another."""
    return invert_permutation.call(data)


@relay_op("trilu", "TriluAttrs", operands=("data", "k"), relation=lambda ctx: tensor(ctx, 0),
          pattern=ELEMWISE, level=3,
          lower=lambda bb, x, k, *, upper: bb.call_te(
              lambda a, b: topi.trilu(a, b(), upper), x, k, primfunc_name_hint="trilu")
          )  # fmt: skip
def trilu(data: Expr, k: Any, upper: bool = True) -> Call:
    """The upper or lower triangle of matrices, zeros elsewhere."""
    k = k if isinstance(k, RelaxExpr) else const(k, "int32")
    return trilu.call(data, k, upper=bool(upper))


def segment_sum(data: Expr, segment_ids: Expr, num_segments: Any = None) -> Any:
    """Sums of the slices of `data` (n, ...) that have the same number in `segment_ids` (n,).

    The result has `num_segments` slices, by default one more than the highest number.
    """
    from .reduce import max as highest
    from .tensor import add, concatenate, shape_of, zeros

    if num_segments is None:
        top = add(highest(segment_ids), cast_like(const(1), segment_ids))
        count = cast(reshape(top, (1,)), "int32")
    elif isinstance(num_segments, int):
        count = const([num_segments], "int32")
    else:
        count = cast(reshape(as_expr(num_segments), (1,)), "int32")
    inner = strided_slice(shape_of(data, "int32"), [1], [-1], slice_mode="size")
    start = cast_like(zeros(concatenate([count, inner], 0), "float32"), data)
    return scatter_nd(start, expand_dims(segment_ids, 0), data, "add")


__all__ = [
    "adv_index", "arange", "argwhere", "broadcast_to", "broadcast_to_like", "cast", "cast_like",
    "collapse_sum_like", "collapse_sum_to", "cumprod", "cumsum", "dft", "expand_dims", "full",
    "full_like", "gather", "gather_nd", "invert_permutation", "layout_transform",
    "matrix_set_diag", "meshgrid", "one_hot", "reinterpret", "repeat", "reshape",
    "reshape_like", "reverse", "reverse_reshape", "reverse_sequence", "scatter_elements",
    "scatter_nd", "segment_sum", "sequence_mask", "slice_like", "sliding_window",
    "sparse_fill_empty_rows", "sparse_reshape", "sparse_to_dense", "split", "squeeze", "stft",
    "strided_set", "strided_slice", "take", "tile", "transpose", "trilu", "unique",
    "unravel_index", "where",
]  # fmt: skip
