"""An operator on whole tensors as what each worker does with its own pieces.

    matmul((4, 8 cut in 2), (8 cut in 2, 6)) -> (4, 6)
        ->
    matmul((4, 4), (4, 6)), and the workers' results are added

The links between dimensions (`axis_links`) say what may be cut: each piece of a linked dimension
makes the same piece of the result. A dimension that is summed over gives each worker a part of the
result, `combine` says how parts make the whole. Anything else would give other numbers: refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.op import Op
from tvm.relax.expr import Call, ShapeExpr
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo

from .axis_links import axis_links, reduced_axes
from .struct_info import DTensorStructInfo, PlacementSpecKind

_PARTS: Final = {  # pieces have one size, so the mean of their means is the mean of the whole
    "relax.sum": "sum", "relax.mean": "avg", "relax.max": "max", "relax.min": "min",
    "relax.prod": "prod",
}  # fmt: skip
_SHAPED: Final = ("relax.reshape", "relax.broadcast_to")  # (tensor, shape of the result)
# What calls code that is written for pieces.
_CALLS: Final = (
    "relax.call_dps_packed", "relax.call_inplace_packed", "relax.call_pure_packed",
    "relax.invoke_pure_closure", "relax.dist.call_tir_local_view",
    "relax.dist.redistribute_replica_to_shard",
)  # fmt: skip


@dataclass
class LocalOperator:
    """What one worker computes; `combine` is None, or the kind of reduction over the workers."""

    shape: int | None  # which operand is the shape of the result, of which a worker has a piece
    combine: str | None


_AS_IT_IS: Final = LocalOperator(None, None)


def cut_axis(info: StructInfo | None) -> int | None:
    """The dimension along which a tensor is in pieces, on a mesh of one dimension."""
    if not isinstance(info, DTensorStructInfo):
        return None
    spec = info.placement.dim_specs[0]
    return spec.axis if spec.kind is PlacementSpecKind.kSharding else None


def local_operator(call: Call, result: StructInfo) -> LocalOperator:
    """What a call on distributed tensors is for one worker; `result` says where its value lies."""
    if not isinstance(call.op, (Op, GlobalVar)):
        return _AS_IT_IS  # packed functions are written for pieces
    name = call.op.name if isinstance(call.op, Op) else call.op.name_hint
    if name in _CALLS or name.startswith("relax.ccl."):
        return _AS_IT_IS
    infos = [arg.struct_info_ for arg in call.args]
    if not any(_has_pieces(info) for info in (*infos, result)):
        return _AS_IT_IS
    if name == "relax.call_tir":
        raise _refused(call, name, "R.dist.call_tir", "LowerGlobalViewToLocalView before")
    cuts = {at: axis for at, info in enumerate(infos) if (axis := cut_axis(info)) is not None}
    nested = any(isinstance(info, TupleStructInfo) and _has_pieces(info) for info in infos)
    if nested or not isinstance(result, DTensorStructInfo):
        raise _refused(call, name, _say(infos, result))
    out = cut_axis(result)
    if out is None:
        combine = _combine(call, name, infos, cuts)
        if combine is None:
            raise _refused(call, name, _say(infos, result))
        return LocalOperator(None, combine)
    tensors = [i.tensor_sinfo if isinstance(i, DTensorStructInfo) else None for i in infos]
    links = axis_links(call, tensors, result.tensor_sinfo)
    wanted = {at: dim for at, dim, to in links if to == out}
    if not wanted or wanted != cuts:
        raise _refused(call, name, _say(infos, result))
    if name not in _SHAPED:
        return _AS_IT_IS
    if not isinstance(call.args[1], ShapeExpr):
        raise _refused(call, name, f"the shape {call.args[1]}", "a shape that is written out")
    return LocalOperator(1, None)


def _combine(
    call: Call, name: str, infos: Sequence[StructInfo | None], cuts: Mapping[int, int]
) -> str | None:
    """How the workers' results make the whole, if all that is cut is summed over."""
    if name == "relax.matmul":
        ndims = [i.tensor_sinfo.ndim for i in infos if isinstance(i, DTensorStructInfo)]
        summed = {0: ndims[0] - 1, 1: max(ndims[-1] - 2, 0)}
        return "sum" if len(ndims) == 2 and cuts == summed else None
    info = infos[0] if infos else None
    if name not in _PARTS or not isinstance(info, DTensorStructInfo):
        return None
    return _PARTS[name] if cuts.get(0) in reduced_axes(call, info.tensor_sinfo) else None


def _has_pieces(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_has_pieces(field) for field in info.fields)
    return cut_axis(info) is not None


def _say(infos: Sequence[StructInfo | None], result: StructInfo) -> str:
    return f"operands {', '.join(_shown(i) for i in infos)}; result {_shown(result)}"


def _shown(info: StructInfo | None) -> str:
    if isinstance(info, TupleStructInfo):
        return f"({', '.join(_shown(field) for field in info.fields)})"
    if isinstance(info, DTensorStructInfo):
        return str(info.placement)
    return "a tensor" if isinstance(info, TensorStructInfo) else "no tensor"


def _refused(call: RelaxExpr, name: str, found: str, legal: str | None = None) -> TVMError:
    return TVMError(
        message(
            f"LowerDistIR: {name} on pieces",
            found=found,
            where=None if call.span is None else str(call.span),
            legal=legal or "operands that are cut along the dimensions that make the result's "
            "pieces, or a product or reduction over what is cut; R.dist.redistribute moves one",
        )
    )
