"""The words of `R` for tensors that are spread over a mesh: `R.DTensor`, `R.dist.*`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tvm.error import ScriptError
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.global_info import GlobalInfo
from tvm.relax.distributed.global_info import DeviceMesh
from tvm.relax.distributed.global_info import device_mesh as device_mesh
from tvm.relax.distributed.struct_info import DTensorStructInfo, Placement
from tvm.relax.expr import Call, Constant, ExprLike
from tvm.relax.op import base, distributed
from tvm.relax.struct_info import ShapeExpr
from tvm.script.ir_dialect.frame import module_frame

from . import values
from .proxies import Names, StructInfoProxy, TensorProxy, as_struct_info

_NAMED = re.compile(r"\s*(\w+)\s*\[\s*(\d+)\s*\]\s*")


class DTensorProxy(StructInfoProxy):
    """A distributed tensor as it was written."""

    tensor_sinfo_proxy: TensorProxy
    device_mesh: DeviceMesh
    placement: Placement

    def __init__(
        self, tensor_sinfo_proxy: TensorProxy, device_mesh: DeviceMesh | str, placement: Placement
    ) -> None:
        self.tensor_sinfo_proxy = tensor_sinfo_proxy
        self.device_mesh = device_mesh  # type: ignore[assignment]
        self.placement = placement

    def get_symbolic_vars(self) -> set[str]:
        return self.tensor_sinfo_proxy.get_symbolic_vars()

    def is_known(self) -> bool:
        return self.tensor_sinfo_proxy.is_known() and not isinstance(self.device_mesh, str)

    def as_struct_info(self, dict_globals: Names | None = None) -> DTensorStructInfo:
        tensor = self.tensor_sinfo_proxy.as_struct_info(dict_globals)
        return DTensorStructInfo(tensor, mesh_of(self.device_mesh), self.placement)


def DTensor(
    shape: Any = None,
    dtype: str | None = None,
    device_mesh: DeviceMesh | str | None = None,
    placement: Placement | str = "",
    *,
    ndim: int = -1,
) -> DTensorProxy | DTensorStructInfo:
    """A tensor spread over a mesh; the mesh by itself, or by its name `mesh[0]` in the module."""
    if isinstance(shape, str) and dtype is None:
        dtype, shape = shape, None
    if shape is not None and not isinstance(shape, (tuple, list, RelaxExpr)):
        raise ValueError(f"shape must be a list or tuple or an Expr, but got: {shape}")
    if device_mesh is None:
        raise ValueError("R.DTensor needs a device_mesh; legal: 'mesh[0]', or an R.device_mesh")
    proxy = DTensorProxy(TensorProxy(shape, dtype, None, ndim), device_mesh, _placement(placement))
    return proxy.as_struct_info() if proxy.is_known() else proxy


def _placement(value: Placement | str) -> Placement:
    return Placement.from_text(value) if isinstance(value, str) else value


def mesh_of(value: DeviceMesh | str) -> DeviceMesh:
    """The mesh that `mesh[0]` names among the global infos of the module."""
    if isinstance(value, DeviceMesh):
        return value
    found = _NAMED.fullmatch(value)
    if found is None:
        raise ScriptError(f"a mesh of the module is named as 'mesh[0]', found {value!r}")
    infos = module_frame("a named mesh").global_infos.get(found.group(1), [])
    number = int(found.group(2))
    info: GlobalInfo | None = infos[number] if number < len(infos) else None
    if not isinstance(info, DeviceMesh):
        raise ScriptError(
            f"{value!r} names no mesh of the module; legal: "
            f"{found.group(1)}[0] to [{len(infos) - 1}]" if infos
            else f"{value!r} names no mesh: the module has no global infos {found.group(1)!r}"
        )
    return info


def _infos(value: Any) -> StructInfo | list[StructInfo]:
    if isinstance(value, (list, tuple)):
        return [as_struct_info(one) for one in value]
    return as_struct_info(value)


def call_tir(
    func: str | RelaxExpr,
    args: ExprLike,
    out_sinfo: DTensorStructInfo | list[DTensorStructInfo],
    tir_vars: ShapeExpr | tuple[Any, ...] | list[Any] | None = None,
) -> Call:
    """A call of a TIR function on distributed tensors, written for the whole of them."""
    return base.call_tir(values.global_var(func), args, _infos(out_sinfo), tir_vars)


def call_tir_local_view(
    func: str | RelaxExpr,
    args: ExprLike,
    out_sinfo: DTensorStructInfo | list[DTensorStructInfo],
    tir_vars: ShapeExpr | tuple[Any, ...] | list[Any] | None = None,
) -> Call:
    """A call of a TIR function that each device makes with its own pieces."""
    infos: Any = _infos(out_sinfo)
    return distributed.call_tir_local_view(values.global_var(func), args, infos, tir_vars)


def const(value: Any, struct_info: DTensorStructInfo) -> Constant:
    """A constant that lies on a mesh."""
    info = as_struct_info(struct_info)
    if not isinstance(info, DTensorStructInfo):
        raise TypeError(f"R.dist.const: struct_info is {info}; legal: R.DTensor(...)")
    import numpy as np  # a script without constants needs none

    array = value if hasattr(value, "numpy") else np.asarray(value, str(info.tensor_sinfo.dtype))
    return Constant(array, info)


def annotate_sharding(
    value: RelaxExpr, device_mesh: str | DeviceMesh, placement: str | Placement
) -> Call:
    """The tensor itself, annotated with a mesh and a placement."""
    return distributed.annotate_sharding(value, mesh_of(device_mesh), _placement(placement))


def redistribute(
    value: RelaxExpr, device_mesh: str | DeviceMesh, placement: str | Placement
) -> Call:
    """The tensor redistributed to another mesh or placement."""
    return distributed.redistribute(value, mesh_of(device_mesh), _placement(placement))


def redistribute_replica_to_shard(input: RelaxExpr, num_workers: int, axis: int) -> Call:
    """This worker's piece of a tensor that all workers have."""
    return distributed.redistribute_replica_to_shard(input, num_workers, axis)


WORDS: Sequence[str] = (
    "annotate_sharding", "call_tir", "call_tir_local_view", "const", "device_mesh", "redistribute",
    "redistribute_replica_to_shard",
)  # fmt: skip
