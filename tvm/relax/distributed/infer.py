"""The struct info of operators on tensors that are spread over a mesh.

The whole tensors give the whole result, by the operator's own rule; the links between dimensions
(`axis_links`) say in which pieces the result comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.expr import Call, Tuple, Var
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo

from .axis_links import axis_links
from .struct_info import DTensorStructInfo, Placement, PlacementSpec, PlacementSpecKind

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder


def infer_distributed(call: Call, bb: BlockBuilder) -> StructInfo:
    """The struct info of a call some of whose operands are spread tensors."""
    name = call.op.name if isinstance(call.op, Op) else str(call.op)
    spread = [info for arg in call.args for info in _infos(arg)]
    mesh = next(i.device_mesh for i in spread if isinstance(i, DTensorStructInfo))
    for info in spread:
        if isinstance(info, TensorStructInfo):
            raise CheckError(
                message(
                    f"{name}: distributed and normal tensors are mixed",
                    found=f"{info} beside R.DTensor",
                    legal="distributed tensors only; R.dist.annotate_sharding places one",
                )
            )
        assert isinstance(info, DTensorStructInfo), "collected above"
        if info.device_mesh is not mesh and not structural_equal(info.device_mesh, mesh):
            raise CheckError(
                message(
                    f"{name}: operands are on different meshes",
                    found=f"shapes {mesh.shape} and {info.device_mesh.shape}",
                    legal="one mesh; R.dist.redistribute moves a tensor",
                )
            )
    whole = Call(call.op, [_whole(arg) for arg in call.args], call.attrs, call.sinfo_args)
    result = bb.normalize(whole).struct_info
    return _with_placement(call, whole, result, mesh)


def _infos(arg: RelaxExpr) -> list[StructInfo]:
    info = arg.struct_info_
    fields = info.fields if isinstance(info, TupleStructInfo) else (info,)
    return [f for f in fields if isinstance(f, (TensorStructInfo, DTensorStructInfo))]


def _whole(arg: RelaxExpr) -> RelaxExpr:
    """A stand-in for the whole of an operand."""
    info = arg.struct_info_
    if isinstance(info, DTensorStructInfo):
        return Var("whole", info.tensor_sinfo)
    if isinstance(info, TupleStructInfo) and _infos(arg):
        fields = arg.fields if isinstance(arg, Tuple) else [
            Var("part", field) for field in info.fields
        ]
        return Tuple([_whole(field) for field in fields])
    return arg


def _with_placement(call: Call, whole: Call, result: StructInfo, mesh: object) -> StructInfo:
    from .global_info import DeviceMesh

    assert isinstance(mesh, DeviceMesh), "the caller found it"
    if isinstance(result, TupleStructInfo):
        return TupleStructInfo([_with_placement(call, whole, f, mesh) for f in result.fields])
    if not isinstance(result, TensorStructInfo):
        return result
    infos = [a.struct_info_ for a in whole.args]
    tensors = [i if isinstance(i, TensorStructInfo) else None for i in infos]
    links = axis_links(whole, tensors, result)
    return DTensorStructInfo(result, mesh, result_placement(call.args, links, len(mesh.shape)))


def result_placement(
    args: Sequence[RelaxExpr], links: Sequence[tuple[int, int, int]], parts: int
) -> Placement:
    """Where the result lies: cut where a linked dimension of an operand is cut."""
    target = {(operand, dim): out for operand, dim, out in links}
    specs: list[PlacementSpec] = []
    used: set[int] = set()
    for part in range(parts):
        spec = PlacementSpec.replica()
        for at, arg in enumerate(args):
            info = arg.struct_info_
            if not isinstance(info, DTensorStructInfo):
                continue
            own = info.placement.dim_specs[part]
            out = target.get((at, own.axis))
            if own.kind is PlacementSpecKind.kSharding and out is not None and out not in used:
                spec = PlacementSpec.sharding(out)
                used.add(out)
                break
        specs.append(spec)
    return Placement(specs)
