"""Operators that rearrange a tensor: shape, order and number of its elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.error import CheckError, ShapeError, message
from tvm.ir.expr import PrimExpr, StructInfo
from tvm.ir.structural import structural_equal
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, PrimValue, Tuple, convert_to_expr
from tvm.relax.expr import Var as RelaxVar
from tvm.relax.extents import agreeing, extents_of
from tvm.relax.shape_math import (
    product,
    product_in_order,
    same_extent,
    same_shape,
    simplify,
    total_in_order,
)
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
    dim,
)
from tvm.relax.te_call import gen_call_tir_inputs
from tvm.support.dtype import DataType
from tvm.support.lazy import lazy_names
from tvm.tir import op as tir_op
from tvm.tir.expr import (
    INT64,
    Add,
    BinaryOpExpr,
    Cast,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Sub,
    Var,
)
from tvm.tir.op.arith import const as tir_const
from tvm.tir.op.arith import equal

from . import layout_moves, layout_rules
from .base import call_tir
from .declare import (
    BROADCAST,
    FOLLOW,
    INJECTIVE,
    Array,
    Expr,
    Infer,
    OptionError,
    as_shape,
    attrs_class,
    int_tuple,
    listed,
    relax_op,
    show_extents,
    show_shape,
    te,
    topi,
    whole,
)
from .shape_variables import written_shape
from .shapes import (
    axis_index,
    axis_indices,
    broadcast_extents,
    common_dtype,
    is_one,
    like,
    values_of,
)

ConcatAttrs = attrs_class("ConcatAttrs", "axis")
ExpandDimsAttrs = attrs_class("ExpandDimsAttrs", "axis")
PermuteDimsAttrs = attrs_class("PermuteDimsAttrs", "axes")
SplitAttrs = attrs_class(
    "SplitAttrs", "indices_or_sections", "axis", numbers=("indices_or_sections",)
)
SqueezeAttrs = attrs_class("SqueezeAttrs", "axis")
StackAttrs = attrs_class("StackAttrs", "axis")
RepeatAttrs = attrs_class("RepeatAttrs", "repeats", "axis")
TileAttrs = attrs_class("TileAttrs", "repeats")
FlipAttrs = attrs_class("FlipAttrs", "axis")
MeshgridAttrs = attrs_class("MeshgridAttrs", "indexing")
OneHotAttrs = attrs_class("OneHotAttrs", "depth", "axis")
LayoutTransformAttrs = attrs_class(
    "LayoutTransformAttrs", "index_map", "pad_value", "axis_separators", "input_axis_separators",
    numbers=("pad_value",),
)  # fmt: skip


def _tuple_of(tensors: Any) -> Expr:
    return tensors if isinstance(tensors, Expr) else Tuple(tensors)


def tensor_fields(operands: TupleStructInfo) -> list[TensorStructInfo]:
    """The fields of a tuple of tensors."""
    return [field for field in operands.fields if isinstance(field, TensorStructInfo)]


def tuple_items(bb: BlockBuilder, operands: Expr) -> list[Expr]:
    """The fields of a tuple operand as expressions: what it was made of, where that is known."""
    known: Expr | None = operands
    while isinstance(known, RelaxVar):
        known = bb.lookup_binding(known)
    if isinstance(known, Tuple):
        return list(known.fields)
    info = operands.struct_info
    assert isinstance(info, TupleStructInfo), "checked by its kind"
    return [bb.normalize_argument(operands[i]) for i in range(len(info.fields))]  # type: ignore[index]


# --- shape ---


@relax_op("relax.broadcast_to", "x: Tensor, shape: Shape", pattern=BROADCAST, precision=FOLLOW)
def broadcast_to(x: ExprLike, shape: Any) -> Call:
    """x repeated along dimensions of extent 1, and along new ones in front."""
    return broadcast_to.call(x, as_shape(shape))


@broadcast_to.infer
def _broadcast_to_info(
    ctx: Infer, x: TensorStructInfo, shape: ShapeStructInfo
) -> TensorStructInfo:
    if shape.ndim != -1 and x.ndim > shape.ndim:
        raise ctx.shape_error(
            "x has more dimensions than the target", f"{x.ndim}", f"{shape.ndim} or fewer"
        )
    if x.values is not None and shape.values is not None:
        found = broadcast_extents(ctx, x.values, shape.values, ("x", "shape"))
        _note_repeated(ctx, x.values, shape.values)
        for now, wanted in zip(found or (), shape.values):
            if same_extent(now, wanted, ctx.analyzer) is False:
                raise ctx.shape_error(
                    "x does not broadcast to the target",
                    f"x {show_shape(x)}, target {show_shape(shape)}",
                    "extents of x that are 1 or those of the target",
                )
    return TensorStructInfo(ctx.call.args[1], x.dtype, x.vdevice)


def _note_repeated(ctx: Infer, have: Sequence[PrimExpr], wanted: Sequence[PrimExpr]) -> None:
    """Extents that may be 1 or those of the target, which only the running program knows."""
    for a, b in zip(reversed(have), reversed(wanted)):
        if not is_one(a) and same_extent(a, b, ctx.analyzer) is None:
            ctx.note_equal(tir_op.if_then_else(equal(a, tir_const(1, a.dtype)), b, a), b)


@broadcast_to.legalize
def _broadcast_to_te(bb: BlockBuilder, x: Expr, shape: Expr) -> Expr:
    return bb.call_te(topi.broadcast_to, x, shape)


broadcast_to.reference(lambda x, shape: np.broadcast_to(x, shape))


def resolve_shape(x: Expr, shape: Sequence[Any]) -> list[PrimExpr]:
    """The target of a reshape: -1 is what is left over, 0 is the extent that x has there."""
    numbers = [const_int(extent) for extent in shape]
    if numbers.count(-1) > 1:
        raise ShapeError(f"relax.reshape: -1 may stand once, found {list(numbers)}")
    result: list[PrimExpr] = []
    info = x.struct_info_
    values = info.values if isinstance(info, TensorStructInfo) else None
    if 0 in numbers or -1 in numbers:
        if values is None:
            raise CheckError(
                "relax.reshape: -1 and 0 in the target need the shape of x, which is not known: "
                f"{info}"
            )
        if 0 in numbers and numbers.index(0) >= len(values):
            raise ShapeError("relax.reshape: 0 stands where x has no dimension")
    for i, (extent, number) in enumerate(zip(shape, numbers)):
        if number is not None and number < -1:
            raise ShapeError(f"relax.reshape: extent {number}; legal: -1, 0 or more")
        if number == 0 and values is not None:
            result.append(values[i])
        else:
            result.append(IntImm(INT64, -1) if number == -1 else dim(extent))
    if -1 in numbers and values is not None:
        at = numbers.index(-1)
        left, rest = list(values), []
        for extent in (one for i, one in enumerate(result) if i != at):
            same = next((i for i, one in enumerate(left) if structural_equal(one, extent)), None)
            if same is None:
                rest.append(extent)
            else:  # what stays needs no division
                del left[same]
        result[at] = simplify(tir_op.floordiv(product(left), product(rest)))
    return result


@relax_op("relax.reshape", "x: Tensor, shape: Shape", pattern=INJECTIVE, precision=FOLLOW,
          reads_shape_variables=True)  # fmt: skip
def reshape(x: Expr, shape: Any) -> Call:
    """The same elements in another shape; -1 is what is left over, 0 the extent of x there."""
    if isinstance(shape, Expr) and not isinstance(shape, ShapeExpr):
        return reshape.call(x, shape)
    if isinstance(shape, (int, float, PrimExpr)):
        as_shape(shape)  # which refuses it
    values = shape.values if isinstance(shape, ShapeExpr) else listed(shape, "shape")
    x = convert_to_expr(x)
    return reshape.call(x, ShapeExpr(resolve_shape(x, values)))


@reshape.infer
def _reshape_info(ctx: Infer, x: TensorStructInfo, shape: ShapeStructInfo) -> TensorStructInfo:
    if x.values is not None and shape.values is not None:
        old, new = product(x.values), product(shape.values)
        if ctx.differ(old, new):
            raise ctx.shape_error(
                "the numbers of elements differ",
                f"x {show_shape(x)}, target {show_shape(shape)}",
                "a target with as many elements as x",
            )
    if shape.values is not None:
        return like(x, shape.values)
    return TensorStructInfo(ctx.call.args[1], x.dtype, x.vdevice)


@reshape.legalize
def _reshape_te(bb: BlockBuilder, x: Expr, shape: Expr) -> Expr:
    return bb.call_te(topi.reshape, x, written_shape(bb, shape))


reshape.reference(lambda x, shape: np.reshape(x, shape))


@relax_op("relax.flatten", "x: Tensor", pattern=INJECTIVE, precision=FOLLOW)
def flatten(x: ExprLike) -> Call:
    """All elements in one dimension."""
    return flatten.call(x)


@flatten.infer
def _flatten_info(ctx: Infer, x: TensorStructInfo) -> TensorStructInfo:
    if x.ndim == 1:
        return x
    if x.ndim == 0:
        return like(x, (IntImm(INT64, 1),))
    if x.values is None:
        return like(x, None, 1)
    return like(x, (product_in_order(x.values),))


@flatten.legalize
def _flatten_te(bb: BlockBuilder, x: Expr) -> Expr:
    info = bb.normalize(flatten(x)).struct_info
    values = values_of(info)
    if values is None:
        return flatten(x)
    return bb.call_te(topi.reshape, x, list(values))


flatten.reference(lambda x: x.reshape(-1))


@relax_op("relax.expand_dims", "x: Tensor", ExpandDimsAttrs, pattern=INJECTIVE, precision=FOLLOW)
def expand_dims(x: ExprLike, axis: int | Sequence[int]) -> Call:
    """New dimensions of extent 1 at the given axes of the result."""
    return expand_dims.call(x, axis=int_tuple(axis))


@expand_dims.infer
def _expand_dims_info(
    ctx: Infer, x: TensorStructInfo, *, axis: tuple[int, ...]
) -> TensorStructInfo:
    if not axis:
        return x
    if x.ndim == -1:
        return like(x, None)
    ndim = x.ndim + len(axis)
    positions = axis_indices(ctx, axis, ndim)
    if x.values is None:
        return like(x, None, ndim)
    old = iter(x.values)
    return like(x, [IntImm(INT64, 1) if i in positions else next(old) for i in range(ndim)])


@expand_dims.legalize
def _expand_dims_te(bb: BlockBuilder, x: Expr, *, axis: tuple[int, ...]) -> Expr:
    def compute(te_x: Any) -> Any:
        ndim = len(te_x.shape) + len(axis)
        shape, kept = list(te_x.shape), list(range(ndim))
        for position in sorted(a % ndim for a in axis):
            shape.insert(position, IntImm(INT64, 1))
            kept.remove(position)
        return te.compute(shape, lambda *i: te_x(*[i[d] for d in kept]), name="expand_dims")

    return bb.call_te(compute, x, primfunc_name_hint="expand_dims")


expand_dims.reference(lambda x, axis: np.expand_dims(x, axis))


@relax_op("relax.squeeze", "x: Tensor", SqueezeAttrs, pattern=INJECTIVE, precision=FOLLOW,
          reads_shape_variables=True)  # fmt: skip
def squeeze(x: ExprLike, axis: int | Sequence[int] | None = None) -> Call:
    """Without the given dimensions of extent 1; without all of extent 1 if none is given."""
    return squeeze.call(x, axis=None if axis is None else int_tuple(axis))


@squeeze.infer
def _squeeze_info(
    ctx: Infer, x: TensorStructInfo, *, axis: tuple[int, ...] | None
) -> TensorStructInfo:
    if axis is not None:
        gone = axis_indices(ctx, axis, x.ndim) if x.ndim != -1 else axis
    elif x.values is None or any(const_int(extent) is None for extent in x.values):
        return like(x, None)  # an extent that is not known may be 1
    else:
        gone = tuple(i for i, extent in enumerate(x.values) if is_one(extent))
    if not gone:
        return x
    if x.ndim == -1:
        return like(x, None)
    for position in gone:
        known = None if x.values is None else const_int(x.values[position])
        if known not in (None, 1):
            raise ctx.shape_error(
                f"dimension {position} is not 1", f"x {show_shape(x)}", "axes of extent 1"
            )
    if not isinstance(x.shape, ShapeExpr):
        return like(x, None, x.ndim - len(gone))
    return like(x, [extent for i, extent in enumerate(x.shape.values) if i not in gone])


@squeeze.legalize
def _squeeze_te(bb: BlockBuilder, x: Expr, *, axis: tuple[int, ...] | None) -> Expr:
    values = values_of(x.struct_info) or ()
    gone = [i for i, e in enumerate(values) if is_one(e)] if axis is None else list(axis)
    return bb.call_te(topi.squeeze, x, gone, primfunc_name_hint="squeeze")


squeeze.reference(lambda x, axis: np.squeeze(x, axis))


@relax_op("relax.permute_dims", "x: Tensor", PermuteDimsAttrs, pattern=INJECTIVE, precision=FOLLOW)
def permute_dims(x: ExprLike, axes: Sequence[int] | None = None) -> Call:
    """The dimensions in another order, reversed if none is given.   (n, m) -> (m, n)"""
    return permute_dims.call(x, axes=None if axes is None else int_tuple(axes))


@permute_dims.infer
def _permute_dims_info(
    ctx: Infer, x: TensorStructInfo, *, axes: tuple[int, ...] | None
) -> TensorStructInfo:
    if axes is not None and x.ndim not in (-1, len(axes)):
        raise ctx.shape_error(
            "axes must name each dimension once", f"{list(axes)} for {x.ndim} dimensions"
        )
    ndim = x.ndim if axes is None else len(axes)
    order = range(ndim - 1, -1, -1) if axes is None else axis_indices(ctx, axes, ndim, "axes")
    if ndim != -1 and list(order) == list(range(ndim)):
        return x
    if x.values is None:
        return like(x, None, ndim)
    return like(x, [x.values[i] for i in order])


@permute_dims.legalize
def _permute_dims_te(bb: BlockBuilder, x: Expr, *, axes: tuple[int, ...] | None) -> Expr:
    return bb.call_te(
        topi.transpose, x, None if axes is None else list(axes), primfunc_name_hint="transpose"
    )


permute_dims.reference(lambda x, axes: np.transpose(x, axes))


# --- joining and dividing ---


@relax_op("relax.concat", "tensors: Tensors", ConcatAttrs, pattern=INJECTIVE, precision=FOLLOW)
def concat(tensors: Any, axis: int | None = 0) -> Call:
    """The tensors one after the other along `axis`.   (n, m), (k, m), axis=0 -> (n + k, m)"""
    return concat.call(_tuple_of(tensors), axis=axis)


def _same_ndim(ctx: Infer, infos: Sequence[TensorStructInfo]) -> int:
    ndims = {info.ndim for info in infos if info.ndim != -1}
    if len(ndims) > 1:
        counts = ", ".join(str(info.ndim) for info in infos)
        raise ctx.shape_error("the numbers of dimensions differ", counts, "one number for all")
    return ndims.pop() if ndims else -1


@concat.infer
def _concat_info(ctx: Infer, tensors: TupleStructInfo, *, axis: int | None) -> TensorStructInfo:
    infos = tensor_fields(tensors)
    if not infos:
        raise ctx.error("there is nothing to concatenate", "an empty tuple", "one tensor or more")
    dtype = common_dtype(ctx, *((f"tensor {i}", info) for i, info in enumerate(infos)))
    ndim = _same_ndim(ctx, infos)
    if len(infos) == 1 and axis is not None:
        if ndim != -1:
            axis_index(ctx, axis, ndim)
        return infos[0]
    if axis is None and ndim not in (-1, 1):
        raise ctx.shape_error("without an axis the tensors have one dimension", f"{ndim}", "1")
    ndim = 1 if axis is None else ndim
    if ndim == -1:
        return TensorStructInfo(None, dtype)
    at = axis_index(ctx, 0 if axis is None else axis, ndim)
    shapes = [info.values for info in infos]
    known = [shape for shape in shapes if shape is not None]
    fits = len(known) == len(shapes)
    for shape in known[1:]:
        for i in range(ndim):
            same = i == at or same_extent(known[0][i], shape[i], ctx.analyzer)
            if same is False:
                raise ctx.shape_error(
                    f"the extents of dimension {i} differ",
                    f"{show_extents(known[0])} and {show_extents(shape)}",
                    f"shapes that differ along axis {at} only",
                )
            fits = fits and same is True
    if not fits:
        return TensorStructInfo(None, dtype, ndim=ndim)
    extents = list(known[0])
    extents[at] = total_in_order([shape[at] for shape in known])
    return TensorStructInfo(extents, dtype)


@concat.legalize
def _concat_te(bb: BlockBuilder, tensors: Expr, *, axis: int | None) -> Expr:
    parts = tuple_items(bb, tensors)
    return bb.call_te(
        topi.concatenate, parts, 0 if axis is None else axis, primfunc_name_hint="concatenate"
    )


@concat.fit
def _concat_fit(bb: BlockBuilder, tensors: Expr, *, axis: int | None) -> list[Expr]:
    parts = tuple_items(bb, tensors)
    first = extents_of(parts[0])
    if first is None:
        return [tensors]
    at = (axis or 0) % len(first)
    wanted = [None if i == at else extent for i, extent in enumerate(first)]
    return [Tuple([agreeing(bb, part, wanted) for part in parts])]


concat.reference(lambda tensors, axis: np.concatenate(tensors, 0 if axis is None else axis))


@relax_op("relax.stack", "tensors: Tensors", StackAttrs, pattern=INJECTIVE, precision=FOLLOW)
def stack(tensors: Any, axis: int = 0) -> Call:
    """The tensors, all of one shape, along a new dimension at `axis`."""
    return stack.call(_tuple_of(tensors), axis=axis)


@stack.infer
def _stack_info(ctx: Infer, tensors: TupleStructInfo, *, axis: int | None) -> TensorStructInfo:
    infos = tensor_fields(tensors)
    if not infos:
        raise ctx.error("there is nothing to stack", "an empty tuple", "one tensor or more")
    dtype = common_dtype(ctx, *((f"tensor {i}", info) for i, info in enumerate(infos)))
    ndim = _same_ndim(ctx, infos)
    if ndim == -1:
        return TensorStructInfo(None, dtype)
    at = axis_index(ctx, 0 if axis is None else axis, ndim + 1)
    known = [info.values for info in infos if info.values is not None]
    fits = len(known) == len(infos)
    for shape in known[1:]:
        same = same_shape(known[0], shape, ctx.analyzer)
        if same is False:
            raise ctx.shape_error(
                "the shapes differ", f"{show_extents(known[0])} and {show_extents(shape)}",
                "one shape for all",
            )  # fmt: skip
        fits = fits and same is True
    if not fits:
        return TensorStructInfo(None, dtype, ndim=ndim + 1)
    count = IntImm(INT64, len(infos))
    return TensorStructInfo([*known[0][:at], count, *known[0][at:]], dtype)


@stack.fit
def _stack_fit(bb: BlockBuilder, tensors: Expr, *, axis: int | None) -> list[Expr]:
    parts = tuple_items(bb, tensors)
    first = extents_of(parts[0])
    if first is None:
        return [tensors]
    return [Tuple([agreeing(bb, part, first) for part in parts])]


@stack.legalize
def _stack_te(bb: BlockBuilder, tensors: Expr, *, axis: int | None) -> Expr:
    parts = tuple_items(bb, tensors)
    return bb.call_te(topi.stack, parts, 0 if axis is None else axis)


stack.reference(lambda tensors, axis: np.stack(tensors, 0 if axis is None else axis))


_MAX_PIECES: Final = 1 << 20  # each is a value of its own


@relax_op("relax.split", "x: Tensor", SplitAttrs, pattern=INJECTIVE, precision=FOLLOW)
def split(x: ExprLike, indices_or_sections: Any, axis: int = 0) -> Call:
    """The tensor in pieces along `axis`: so many equal ones, or cut before each index."""
    if isinstance(indices_or_sections, (list, tuple)):
        given: Any = int_tuple(indices_or_sections)
    else:
        given = const_int(indices_or_sections)
        if given is None or not 1 <= given <= _MAX_PIECES:
            raise OptionError(
                f"split: indices_or_sections is {indices_or_sections}; "
                f"legal: an integer from 1 to {_MAX_PIECES:,}, or a list of indices"
            )
    return split.call(x, indices_or_sections=given, axis=axis)


def _piece_bounds(
    extent: PrimExpr, indices_or_sections: int | tuple[int, ...]
) -> list[tuple[PrimExpr, PrimExpr]] | None:
    """Where each piece begins and ends; None for equal pieces of an unknown extent."""
    if isinstance(indices_or_sections, tuple):
        cuts = [IntImm(INT64, 0), *(IntImm(INT64, i) for i in indices_or_sections)]
        return list(zip(cuts, [*cuts[1:], extent]))
    count, size = indices_or_sections, const_int(extent)
    if size is None:
        return None
    piece = -(-size // count)
    ends = [min(piece * i, size) for i in range(count + 1)]
    return [(IntImm(INT64, a), IntImm(INT64, b)) for a, b in itertools.pairwise(ends)]


@split.infer
def _split_info(
    ctx: Infer, x: TensorStructInfo, *, indices_or_sections: int | tuple[int, ...], axis: int
) -> StructInfo:
    given = indices_or_sections
    count = given if isinstance(given, int) else len(given) + 1
    at = axis if x.ndim == -1 else axis_index(ctx, axis, x.ndim)
    if count == 1:
        return x
    if x.values is None:
        return TupleStructInfo([like(x, None, x.ndim)] * count)
    extent = x.values[at]
    bounds = _piece_bounds(extent, given)
    if bounds is None:
        size = simplify(tir_op.floordiv(extent + (count - 1), count), ctx.analyzer)
        last = simplify(extent - size * (count - 1), ctx.analyzer)
        sizes = [size] * (count - 1) + [last]
    else:
        sizes = [_piece_size(ctx, low, high, extent) for low, high in bounds]
    return TupleStructInfo([like(x, [*x.values[:at], s, *x.values[at + 1 :]]) for s in sizes])


def _piece_size(ctx: Infer, low: PrimExpr, high: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """high - low, as much of it as there is."""
    if isinstance(low, IntImm) and isinstance(high, IntImm) and isinstance(extent, IntImm):
        whole = extent.value
        return IntImm(INT64, max(min(high.value, whole) - min(low.value, whole), 0))
    size = tir_op.min(high, extent) - tir_op.min(low, extent)
    return simplify(tir_op.max(size, 0), ctx.analyzer)


@split.legalize
def _split_te(
    bb: BlockBuilder, x: Expr, *, indices_or_sections: int | tuple[int, ...], axis: int
) -> Expr:
    values = values_of(x.struct_info)
    given: Any = indices_or_sections
    if isinstance(given, tuple):
        given = list(given)
    elif values is not None:
        bounds = _piece_bounds(values[axis], given)
        if bounds is not None and (const_int(values[axis]) or 0) % given:
            given = [const_int(low) for low, _ in bounds[1:]]
    return bb.call_te(topi.split, x, given, axis)


@split.reference
def _split_numpy(
    x: Array, *, indices_or_sections: int | tuple[int, ...], axis: int
) -> tuple[Array, ...]:
    given: Any = indices_or_sections
    if isinstance(given, int):
        piece = -(-x.shape[axis] // given)
        given = [piece * i for i in range(1, given)]
    return tuple(np.split(x, list(given), axis))


# --- repeating ---


@relax_op("relax.repeat", "data: Tensor", RepeatAttrs, pattern=INJECTIVE)
def repeat(data: ExprLike, repeats: int, axis: int | None = None) -> Call:
    """Each element `repeats` times in a row along `axis`; flattened without an axis."""
    at = None if axis is None else whole(axis)
    return repeat.call(data, repeats=whole(repeats, "repeats"), axis=at)


@repeat.infer
def _repeat_info(
    ctx: Infer, data: TensorStructInfo, *, repeats: int, axis: int | None
) -> TensorStructInfo:
    if axis is None:
        if data.values is None:
            return like(data, None, 1)
        return like(data, (simplify(product(data.values) * repeats, ctx.analyzer),))
    if data.ndim == -1:
        return like(data, None)
    at = axis_index(ctx, axis, data.ndim)
    if data.values is None:
        return like(data, None, data.ndim)
    extents = list(data.values)
    extents[at] = simplify(extents[at] * repeats, ctx.analyzer)
    return like(data, extents)


@repeat.legalize
def _repeat_te(bb: BlockBuilder, data: Expr, *, repeats: int, axis: int | None) -> Expr:
    def compute(x: Any) -> Any:
        if axis is not None:
            return topi.repeat(x, repeats, axis)
        flat = topi.reshape(x, (product(list(x.shape)),)) if len(x.shape) != 1 else x
        return topi.repeat(flat, repeats, 0)

    return bb.call_te(compute, data, primfunc_name_hint="repeat")


repeat.reference(lambda data, repeats, axis: np.repeat(data, repeats, axis))


@relax_op("relax.tile", "data: Tensor", TileAttrs, pattern=INJECTIVE)
def tile(data: ExprLike, repeats: int | Sequence[int]) -> Call:
    """The whole tensor `repeats` times along each of its last dimensions."""
    return tile.call(data, repeats=int_tuple(repeats))


@tile.infer
def _tile_info(
    ctx: Infer, data: TensorStructInfo, *, repeats: tuple[int, ...]
) -> TensorStructInfo:
    if any(times < 0 for times in repeats):
        raise ctx.error("repeats must not be negative", f"{list(repeats)}", "0 or more each")
    if all(times == 1 for times in repeats) and len(repeats) <= data.ndim:
        return data
    if data.ndim == -1:
        return like(data, None)
    ndim = max(data.ndim, len(repeats))
    if data.values is None:
        return like(data, None, ndim)
    times = (1,) * (ndim - len(repeats)) + repeats
    extents = [IntImm(INT64, 1)] * (ndim - data.ndim) + list(data.values)
    return like(data, [simplify(e * t, ctx.analyzer) for e, t in zip(extents, times)])


@tile.legalize
def _tile_te(bb: BlockBuilder, data: Expr, *, repeats: tuple[int, ...]) -> Expr:
    return bb.call_te(topi.tile, data, list(repeats))


tile.reference(lambda data, repeats: np.tile(data, repeats))


@relax_op("relax.flip", "data: Tensor", FlipAttrs, pattern=INJECTIVE)
def flip(data: ExprLike, axis: int) -> Call:
    """The elements in reverse order along `axis`."""
    return flip.call(data, axis=whole(axis))


@flip.infer
def _flip_info(ctx: Infer, data: TensorStructInfo, *, axis: int) -> TensorStructInfo:
    if data.ndim != -1:
        axis_index(ctx, axis, data.ndim)
    return data


@flip.legalize
def _flip_te(bb: BlockBuilder, data: Expr, *, axis: int) -> Expr:
    return bb.call_te(topi.flip, data, axis)


flip.reference(lambda data, axis: np.flip(data, axis))


@relax_op("relax.meshgrid", "tensors: Tensors", MeshgridAttrs, pattern=INJECTIVE, precision=FOLLOW)
def meshgrid(tensors: Any, indexing: str | None = "ij") -> Call:
    """Each of n one-dimensional tensors spread over a grid of n dimensions."""
    if indexing not in ("ij", "xy"):
        raise OptionError(f"meshgrid: indexing is {indexing!r}; legal: 'ij', 'xy'")
    return meshgrid.call(_tuple_of(tensors), indexing=indexing)


@meshgrid.infer
def _meshgrid_info(ctx: Infer, tensors: TupleStructInfo, *, indexing: str) -> StructInfo:
    infos = tensor_fields(tensors)
    if not infos:
        raise ctx.error("there are no tensors", "an empty tuple", "one tensor or more")
    dtype = common_dtype(ctx, *((f"tensor {i}", info) for i, info in enumerate(infos)))
    extents: list[PrimExpr] = []
    for i, info in enumerate(infos):
        if info.ndim not in (-1, 1):
            raise ctx.shape_error(f"tensor {i} must have one dimension", f"{info.ndim}", "1")
        if info.values is not None:
            extents.append(info.values[0])
    if len(extents) < len(infos):
        return TupleStructInfo([like(info, None, len(infos), dtype) for info in infos])
    if indexing == "xy" and len(extents) > 1:
        extents[0], extents[1] = extents[1], extents[0]
    return TupleStructInfo([like(info, extents, dtype=dtype) for info in infos])


@meshgrid.legalize
def _meshgrid_te(bb: BlockBuilder, tensors: Expr, *, indexing: str) -> Expr:
    given = tuple_items(bb, tensors)
    if len(given) == 1:  # one result of a kernel is no tuple, and there is nothing to repeat
        return Tuple(given)
    return bb.call_te(topi.meshgrid, given, indexing)


meshgrid.reference(
    lambda tensors, indexing: tuple(np.meshgrid(*tensors, indexing=indexing))
)


@relax_op(
    "relax.one_hot", "indices: Tensor, on_value: Prim, off_value: Prim", OneHotAttrs,
    pattern=INJECTIVE,
)  # fmt: skip
def one_hot(
    indices: ExprLike, on_value: ExprLike, off_value: ExprLike, depth: int, axis: int = -1
) -> Call:
    """`on_value` at each index along a new dimension of extent `depth`, `off_value` elsewhere."""
    depth = whole(depth, "depth")
    if depth <= 0:
        asked = "one_hot: depth must be positive"
        raise CheckError(message(asked, found=f"{depth}", legal="1 or more"))
    return one_hot.call(indices, on_value, off_value, depth=depth, axis=whole(axis))


@one_hot.infer
def _one_hot_info(
    ctx: Infer, indices: TensorStructInfo, on_value: Any, off_value: Any, *, depth: int, axis: int
) -> TensorStructInfo:
    if indices.dtype != "void" and not indices.dtype.is_integer:
        raise ctx.dtype_error("indices must be integers", f"{indices.dtype}", "int32, int64")
    if on_value.dtype is not off_value.dtype:
        raise ctx.dtype_error(
            "on_value and off_value must have one dtype", f"{on_value.dtype}, {off_value.dtype}"
        )
    if indices.ndim == -1:
        return like(indices, None, dtype=on_value.dtype)
    at = axis_index(ctx, axis, indices.ndim + 1)
    if indices.values is None:
        return like(indices, None, indices.ndim + 1, on_value.dtype)
    extents = [*indices.values[:at], IntImm(INT64, depth), *indices.values[at:]]
    return like(indices, extents, dtype=on_value.dtype)


@one_hot.legalize
def _one_hot_te(
    bb: BlockBuilder, indices: Expr, on_value: Any, off_value: Any, *, depth: int, axis: int
) -> Expr:
    on, off = on_value.struct_info.value, off_value.struct_info.value
    for name, value in (("on_value", on), ("off_value", off)):
        if value is None:
            raise CheckError(
                message(f"relax.one_hot: the kernel needs to know {name}",
                        found="a number that is handed in", legal="a relax.PrimValue")
            )  # fmt: skip
    return bb.call_te(topi.one_hot, indices, on, off, depth, axis, str(on.dtype))


@one_hot.reference
def _one_hot_numpy(
    indices: Array, on_value: Any, off_value: Any, *, depth: int, axis: int
) -> Array:
    expanded = np.expand_dims(indices, axis)
    shape = [1] * expanded.ndim
    shape[axis] = depth
    hit = expanded == np.arange(depth).reshape(shape)
    dtype = np.int64 if isinstance(on_value, int) else np.float32
    return np.where(hit, on_value, off_value).astype(dtype)


@relax_op("relax.layout_transform", "x: Tensor", LayoutTransformAttrs, pattern=INJECTIVE,
          precision=FOLLOW, reads_shape_variables=True)  # fmt: skip
def layout_transform(
    x: ExprLike,
    index_map: Any,
    pad_value: Any = None,
    axis_separators: Any = None,
    input_axis_separators: Any = None,
) -> Call:
    """The elements moved to the indices that `index_map` maps theirs to; `pad_value` elsewhere."""
    from tvm.tir.index_map import IndexMap  # a layout is given rarely

    mapping = index_map if isinstance(index_map, IndexMap) else IndexMap.from_func(index_map)
    separators = () if axis_separators is None else tuple(axis_separators)
    inputs = () if input_axis_separators is None else tuple(input_axis_separators)
    return layout_transform.call(
        x,
        index_map=mapping,
        pad_value=_fill(x, pad_value),
        axis_separators=separators,
        input_axis_separators=inputs,
    )


def _fill(x: ExprLike, value: Any) -> PrimValue | None:
    """The padding as a value of the elements' type, where one number is of the same kind."""
    if value is None or isinstance(value, PrimValue):
        return value
    if isinstance(value, PrimExpr):
        return PrimValue(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            message("layout_transform: pad_value", found=f"{type(value).__name__} {value!r}",
                    legal="a number, or a PrimValue")
        )  # fmt: skip
    info = getattr(x, "struct_info_", None)
    dtype = info.dtype if isinstance(info, TensorStructInfo) else DataType("")
    if dtype.is_floating or (dtype.is_integer and isinstance(value, int)):
        return PrimValue(tir_const(value, dtype))
    return PrimValue(value)


@layout_transform.infer
def _layout_transform_info(
    ctx: Infer, x: TensorStructInfo, *, index_map: Any, pad_value: Any, **separators: Any
) -> TensorStructInfo:
    wanted = len(index_map.initial_indices)
    if x.ndim not in (-1, wanted):
        raise ctx.shape_error("the index map does not fit x", f"{x.ndim} dimensions", f"{wanted}")
    if isinstance(pad_value, float) and x.dtype.is_integer:
        raise ctx.dtype_error("the dtypes of x and pad_value differ", f"{x.dtype}, {pad_value}")
    if x.values is None:
        return like(x, None, len(index_map.final_indices))
    return like(x, [dim(extent) for extent in _wide_map(index_map).map_shape(x.values)])


_ON_EXPRS: dict[type, Any] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: tir_op.floordiv,
    FloorMod: tir_op.floormod,
    Min: tir_op.min,
    Max: tir_op.max,
}


def _wide_map(index_map: Any) -> Any:
    """The index map over int64, the type of extents; itself if it is that already."""
    old = index_map.initial_indices
    if all(var.dtype == "int64" for var in old):
        return index_map
    new = [Var(var.name, INT64) for var in old]
    at = dict(zip(old, new))
    return type(index_map)(new, [_wide(index, at) for index in index_map.final_indices], None)


def _wide(expr: PrimExpr, at: dict[Any, Any]) -> PrimExpr:
    known = const_int(expr)
    if known is not None:
        return IntImm(INT64, known)
    if isinstance(expr, Cast):
        return _wide(expr.value, at)
    if isinstance(expr, BinaryOpExpr) and type(expr) in _ON_EXPRS:
        made: PrimExpr = _ON_EXPRS[type(expr)](_wide(expr.a, at), _wide(expr.b, at))
        return made
    found: PrimExpr = at.get(expr, expr)
    return found


@layout_transform.legalize
def _layout_transform_te(
    bb: BlockBuilder,
    x: Expr,
    *,
    index_map: Any,
    pad_value: Any,
    axis_separators: tuple[int, ...],
    input_axis_separators: tuple[int, ...],
) -> Expr:
    """A copy whose written buffer is then laid out by the schedule."""
    from tvm.tir.schedule import Schedule  # a layout is given rarely

    info = x.struct_info
    assert isinstance(info, TensorStructInfo), "operands were checked"
    assert info.values is not None, "operators of unknown shape are not legalized"
    mapping = _wide_map(index_map)
    _, is_padding = mapping.non_surjective_inverse(info.values)
    name = "te_layout_transform"
    if not isinstance(is_padding, IntImm):
        name += "_with_pad"
    if axis_separators:
        name += "_axis_separator"
    copy = gen_call_tir_inputs(lambda a: te.compute(a.shape, lambda *i: a(*i), name=name), x)
    sch = Schedule(copy.func)
    fill = tir_const(0 if pad_value is None else pad_value, info.dtype)
    sch.transform_layout(name, ("write", 0), mapping, fill)
    for buffer, separators in (("write", axis_separators), ("read", input_axis_separators)):
        if separators:
            sch.set_axis_separator(name, (buffer, 0), list(separators))
    func = sch.mod["main"].without_attr("global_symbol")
    shape = [dim(extent) for extent in mapping.map_shape(info.values)]
    return call_tir(bb.add_func(func, name), copy.args, TensorStructInfo(shape, info.dtype))


_ON_ARRAYS: dict[type, Any] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    FloorDiv: np.floor_divide,
    FloorMod: np.mod,
    Min: np.minimum,
    Max: np.maximum,
}


def _on_arrays(expr: PrimExpr, at: dict[Any, Array]) -> Array:
    """An index expression for whole arrays of indices."""
    if isinstance(expr, BinaryOpExpr):
        return _ON_ARRAYS[type(expr)](_on_arrays(expr.a, at), _on_arrays(expr.b, at))
    if isinstance(expr, Cast):
        return _on_arrays(expr.value, at)
    known = const_int(expr)
    return at[expr] if known is None else np.asarray(known)


@layout_transform.reference
def _layout_transform_numpy(
    x: Array, *, index_map: Any, pad_value: Any, **separators: Any
) -> Array:
    shape = [const_int(extent) or 0 for extent in index_map.map_shape(x.shape)]
    out = np.full(shape, 0 if pad_value is None else pad_value, x.dtype)
    out[layout_indices(index_map, x.shape)] = x
    return out


def layout_indices(index_map: Any, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Where an index map puts each element of a tensor of this shape."""
    at = dict(zip(index_map.initial_indices, np.indices(shape)))
    return tuple(
        np.broadcast_to(_on_arrays(index, at), shape) for index in index_map.final_indices
    )


for _declared, _rule in (
    (expand_dims, layout_rules.expanded),
    (squeeze, layout_rules.squeezed),
    (permute_dims, layout_rules.permuted),
    (concat, layout_rules.joined),
    (stack, layout_rules.stacked),
    (split, layout_rules.divided),
):
    _declared.layout(_rule)
for _followed, _rule in (
    (flip, layout_rules.along_axis),
    (repeat, layout_moves.scanned),
    (tile, layout_moves.tiled),
    (broadcast_to, layout_moves.reshaped_alike),
):
    _followed.follow_layout(_rule)

# These stand in a module above this one; programs may look for them here as well.
__getattr__ = lazy_names(
    __name__,
    {
        name: f"tvm.relax.op.gather:{name}"
        for name in (
            "collapse_sum_like", "collapse_sum_to", "gather_elements", "gather_nd", "index_put",
            "index_tensor", "scatter_elements", "scatter_nd", "slice_scatter",
        )
    },
)  # fmt: skip
