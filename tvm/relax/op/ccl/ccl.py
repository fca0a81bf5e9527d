"""Operators by which several workers exchange tensors."""

from __future__ import annotations

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, ExternFunc, ShapeExpr
from tvm.relax.op import layout_moves, layout_rules
from tvm.relax.op.base import call_dps_packed
from tvm.relax.op.declare import (
    Expr,
    Infer,
    OptionError,
    attrs_class,
    relax_op,
    whole,
)
from tvm.relax.op.manipulate import permute_dims, reshape
from tvm.relax.op.shapes import axis_index, like, values_of
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import TensorStructInfo, const_int
from tvm.tir import op as tir_op

AllReduceAttrs = attrs_class("AllReduceAttrs", "op_type", "in_group")
AllGatherAttrs = attrs_class("AllGatherAttrs", "num_workers", "in_group")
ScatterCollectiveAttrs = attrs_class("ScatterCollectiveAttrs", "num_workers", "axis")
# The numbers that the runtime's functions take for each kind of reduction.
OP_TYPES = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}


@relax_op("relax.ccl.allreduce", "x: Tensor", AllReduceAttrs)
def allreduce(x: ExprLike, op_type: str = "sum", in_group: bool = True) -> Call:
    """The tensors of all workers reduced to one, which each of them gets."""
    if not isinstance(op_type, str) or op_type not in OP_TYPES:
        raise OptionError(f"allreduce: op_type is {op_type!r}; legal: {', '.join(OP_TYPES)}")
    return allreduce.call(x, op_type=op_type, in_group=bool(in_group))


@allreduce.infer
def _allreduce_info(
    ctx: Infer, x: TensorStructInfo, *, op_type: str, in_group: bool
) -> StructInfo:
    return x


@allreduce.legalize
def _allreduce_te(bb: BlockBuilder, x: Expr, *, op_type: str, in_group: bool) -> Expr:
    return call_dps_packed(
        ExternFunc("runtime.disco.allreduce"),
        [x, ShapeExpr([OP_TYPES[op_type]]), in_group],
        x.struct_info,
    )


@relax_op("relax.ccl.allgather", "x: Tensor", AllGatherAttrs, reads_shape_variables=True)
def allgather(x: ExprLike, num_workers: int, in_group: bool = True) -> Call:
    """The tensors of all workers one after the other, which each of them gets."""
    return allgather.call(x, num_workers=whole(num_workers, "num_workers"), in_group=bool(in_group))


@allgather.infer
def _allgather_info(
    ctx: Infer, x: TensorStructInfo, *, num_workers: int, in_group: bool
) -> StructInfo:
    if x.ndim == 0:
        raise ctx.shape_error("x has no dimension for the workers' tensors", "()", "(n,)")
    if x.values is None:
        return like(x, None, x.ndim)
    first = simplify(x.values[0] * num_workers, ctx.analyzer)
    return like(x, (first, *x.values[1:]))


@allgather.legalize
def _allgather_te(bb: BlockBuilder, x: Expr, *, num_workers: int, in_group: bool) -> Expr:
    info = bb.normalize(allgather.call(x, num_workers=num_workers, in_group=in_group)).struct_info
    return call_dps_packed(ExternFunc("runtime.disco.allgather"), [x, in_group], info)


@relax_op("relax.ccl.broadcast_from_worker0", "x: Tensor")
def broadcast_from_worker0(x: ExprLike) -> Call:
    """The first worker's tensor, which each worker gets."""
    return broadcast_from_worker0.call(x)


broadcast_from_worker0.infer(lambda ctx, x: x)


@broadcast_from_worker0.legalize
def _broadcast_te(bb: BlockBuilder, x: Expr) -> Expr:
    return call_dps_packed(
        ExternFunc("runtime.disco.broadcast_from_worker0"), [x, False], x.struct_info
    )


@relax_op("relax.ccl.scatter_from_worker0", "x: Tensor", ScatterCollectiveAttrs,
          reads_shape_variables=True)  # fmt: skip
def scatter_from_worker0(x: ExprLike, num_workers: int, axis: int = 0) -> Call:
    """The first worker's tensor in equal pieces along `axis`; each worker gets one."""
    return scatter_from_worker0.call(
        x, num_workers=whole(num_workers, "num_workers"), axis=whole(axis)
    )


@scatter_from_worker0.infer
def _scatter_info(
    ctx: Infer, x: TensorStructInfo, *, num_workers: int, axis: int
) -> StructInfo:
    if x.shape is None:
        raise ctx.shape_error(
            "input tensor of scatter_from_worker0 should have defined shape", f"{x}",
            "a tensor of known shape, by R.match_cast for example",
        )  # fmt: skip
    at = axis if x.ndim == -1 else axis_index(ctx, axis, x.ndim)
    if x.values is None:
        return like(x, None, x.ndim)
    known = const_int(x.values[at])
    if known is not None and known % num_workers:
        raise ctx.shape_error(
            "the extent is no multiple of the number of workers", f"{known}", f"k * {num_workers}"
        )
    extents = list(x.values)
    extents[at] = simplify(tir_op.div(extents[at], num_workers), ctx.analyzer)
    return like(x, extents)


@scatter_from_worker0.legalize
def _scatter_te(bb: BlockBuilder, x: Expr, *, num_workers: int, axis: int) -> Expr:
    values = values_of(x.struct_info)
    info = bb.normalize(
        scatter_from_worker0.call(x, num_workers=num_workers, axis=axis)
    ).struct_info
    if values is None:
        return scatter_from_worker0.call(x, num_workers=num_workers, axis=axis)
    piece = tir_op.floordiv(values[axis], num_workers)
    split = [*values[:axis], num_workers, piece, *values[axis + 1 :]]
    x = bb.normalize_argument(reshape(x, split))
    if axis > 0:
        order = [axis, *(i for i in range(len(split)) if i != axis)]
        x = bb.normalize_argument(permute_dims(x, order))
    return call_dps_packed(
        ExternFunc("runtime.disco.scatter_from_worker0"), [x, False], info
    )


# element by element, whatever the order of dimensions; a gather is along the first one
for _declared in (allreduce, broadcast_from_worker0):
    _declared.layout(layout_rules.same)
allgather.layout(layout_moves.gathered_from_workers)
