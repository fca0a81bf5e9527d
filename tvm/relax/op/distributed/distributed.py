"""Operators that shard tensors over a mesh of devices, and move them there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import tir, topi
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.global_info import DeviceMesh
from tvm.relax.distributed.struct_info import DTensorStructInfo, Placement
from tvm.relax.expr import Call, Expr, ExprLike
from tvm.relax.op.base import TirVars, _operand_tuple, call_pure_packed
from tvm.relax.op.declare import (
    Array,
    Infer,
    attrs_class,
    listed,
    relax_op,
    whole,
)
from tvm.relax.op.shapes import axis_index, like
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
    const_int,
)
from tvm.tir import op as tir_op

DistributionAttrs = attrs_class("DistributionAttrs", "device_mesh", "placement")
ReplicaToShardAttrs = attrs_class("ReplicaToShardAttrs", "num_workers", "axis")


@relax_op("relax.dist.annotate_sharding", "input: Expr", DistributionAttrs)
def annotate_sharding(input: ExprLike, device_mesh: DeviceMesh, placement: Placement) -> Call:
    """The tensor itself, annotated with a mesh and a placement."""
    return annotate_sharding.call(input, device_mesh=device_mesh, placement=placement)


@relax_op("relax.dist.redistribute", "input: Expr", DistributionAttrs)
def redistribute(input: ExprLike, device_mesh: DeviceMesh, placement: Placement) -> Call:
    """The tensor on another mesh or placement; a plain tensor is annotated with them."""
    return redistribute.call(input, device_mesh=device_mesh, placement=placement)


annotate_sharding.infer(lambda ctx, input, *, device_mesh, placement: input)
annotate_sharding.reference(lambda input, *, device_mesh, placement: input)
redistribute.reference(lambda input, *, device_mesh, placement: input)


@redistribute.infer
def _redistribute_info(
    ctx: Infer, input: StructInfo, *, device_mesh: DeviceMesh, placement: Placement
) -> StructInfo:
    if isinstance(input, TensorStructInfo):
        return input
    if not isinstance(input, DTensorStructInfo):
        raise ctx.error("the input is no tensor", f"{input}", "an R.DTensor or R.Tensor")
    return DTensorStructInfo(input.tensor_sinfo, device_mesh, placement)


@relax_op("relax.dist.call_tir_local_view", "func: Expr, args: Tuple, packed_ints: Expr?")
def call_tir_local_view(
    gvar: GlobalVar,
    args: ExprLike,
    out_sinfo: DTensorStructInfo | Sequence[DTensorStructInfo],
    tir_vars: TirVars = None,
) -> Call:
    """As `call_tir`, of a function that each device calls with its own pieces."""
    infos = (
        (out_sinfo,)
        if isinstance(out_sinfo, StructInfo)
        else listed(out_sinfo, "call_tir_local_view: out_sinfo")
    )
    for info in infos:
        if not isinstance(info, DTensorStructInfo):
            raise CheckError(
                message(
                    "call_tir_local_view: out_sinfo", found=f"{info}", legal="R.DTensor, or a list"
                )
            )
    operands: list[Any] = [gvar, _operand_tuple(args)]
    if tir_vars is not None:
        operands.append(tir_vars if isinstance(tir_vars, ShapeExpr) else ShapeExpr(tir_vars))
    plain = call_tir_local_view.call(*operands)
    whole: StructInfo = infos[0] if len(infos) == 1 else TupleStructInfo(infos)
    return Call(plain.op, plain.args, plain.attrs, [whole])


@call_tir_local_view.infer
def _local_view_info(ctx: Infer, *operands: StructInfo) -> StructInfo:
    given = ctx.call.sinfo_args
    if len(given) != 1:
        raise ctx.error("exactly one struct info is given for the result", f"{len(given)}", "1")
    return given[0]


@relax_op("relax.dist.redistribute_replica_to_shard", "input: Expr", ReplicaToShardAttrs)
def redistribute_replica_to_shard(input: ExprLike, num_workers: int, axis: int) -> Call:
    """This worker's piece of a tensor that all workers have.

    Of a distributed tensor the extents stay, those of the whole, and the placement is `S[axis]`.
    Of the worker's own tensor, (.., n, ..) -> (.., n / num_workers, ..)
    """
    return redistribute_replica_to_shard.call(input, num_workers=int(num_workers), axis=whole(axis))


@redistribute_replica_to_shard.infer
def _replica_to_shard_info(
    ctx: Infer, input: StructInfo, *, num_workers: int, axis: int
) -> StructInfo:
    if isinstance(input, DTensorStructInfo):
        _piece_info(ctx, input.tensor_sinfo, num_workers, axis)  # which refuses what has no pieces
        placement = Placement.from_text(f"S[{axis}]")
        return DTensorStructInfo(input.tensor_sinfo, input.device_mesh, placement)
    if not isinstance(input, TensorStructInfo):
        raise ctx.error("input must be a tensor", f"{input}", "R.Tensor, R.DTensor")
    return _piece_info(ctx, input, num_workers, axis)


def _piece_info(
    ctx: Infer, input: TensorStructInfo, num_workers: int, axis: int
) -> TensorStructInfo:
    if input.values is None:
        return like(input, None, input.ndim)
    at = axis_index(ctx, axis, input.ndim)
    known = const_int(input.values[at])
    if known is not None and known % num_workers:
        raise ctx.shape_error(
            "the extent is no multiple of the number of workers", f"{known}", f"k * {num_workers}"
        )
    extents = list(input.values)
    extents[at] = simplify(tir_op.floordiv(extents[at], num_workers), ctx.analyzer)
    return like(input, extents)


@redistribute_replica_to_shard.reference
def _replica_to_shard_numpy(input: Array, *, num_workers: int, axis: int) -> Array:
    """The first worker's piece: one process is worker 0."""
    count = input.shape[axis] // num_workers
    index = [slice(None)] * input.ndim
    index[axis] = slice(0, count)
    return input[tuple(index)]


@redistribute_replica_to_shard.legalize
def _replica_to_shard_te(bb: BlockBuilder, input: Expr, *, num_workers: int, axis: int) -> Expr:
    """A slice: which one, the worker asks when it runs."""
    worker = tir.Var("worker_id", "int64")
    found = bb.emit(call_pure_packed("runtime.disco.worker_id", sinfo_args=[ShapeStructInfo()]))
    bb.match_cast(found, ShapeStructInfo([worker]))
    extent = input.struct_info.values[axis]  # type: ignore[attr-defined]
    return bb.call_te(
        topi.strided_slice,
        input,
        begin=[worker * extent // num_workers],
        end=[(worker + 1) * extent // num_workers],
        strides=[1],
        axes=[axis],
    )


__all__ = [
    "annotate_sharding", "call_tir_local_view", "redistribute",
    "redistribute_replica_to_shard",
]  # fmt: skip
