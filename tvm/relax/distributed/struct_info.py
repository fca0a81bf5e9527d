"""What is known of a tensor that is spread over a mesh: the whole tensor, the mesh, its placement.

    R.DTensor((128, 64), "float32", "mesh[0]", "S[0], R")

The placement has a part for each dimension of the mesh: `S[0]` gives each device there a piece of
the tensor along dimension 0, `R` gives each the whole.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import ClassVar, Final, final

from tvm.error import CheckError, TVMError, message
from tvm.ir.node import Field, Node, all_of_type, fields, number, register_nodes
from tvm.ir.span import Span
from tvm.relax.struct_info import RelaxStructInfo, TensorStructInfo
from tvm.support.arguments import explained

from .global_info import DeviceMesh


class PlacementSpecKind(enum.IntEnum):
    """How a tensor is spread along one dimension of a mesh."""

    kSharding = 0
    kReplica = 1


@final
class PlacementSpec(Node):
    """One part of a placement: a piece along `axis`, or the whole (axis -1)."""

    __slots__ = ("axis", "kind")
    TYPE_KEY = "relax.distributed.PlacementSpec"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("axis", "kind")

    def __init__(self, axis: int, kind: PlacementSpecKind | int) -> None:
        self.axis: Final = number(int, axis, "PlacementSpec: axis")
        self.kind: Final = PlacementSpecKind(kind)

    @staticmethod
    def sharding(axis: int) -> PlacementSpec:
        """A piece along a dimension of the tensor."""
        return PlacementSpec(axis, PlacementSpecKind.kSharding)

    @staticmethod
    def replica() -> PlacementSpec:
        """The whole tensor."""
        return PlacementSpec(-1, PlacementSpecKind.kReplica)

    def __repr__(self) -> str:
        return f"S[{self.axis}]" if self.kind is PlacementSpecKind.kSharding else "R"

    __str__ = __repr__


_PART: Final = re.compile(r"S\[\s*(\d+)\s*\]|R")


@final
class Placement(Node):
    """How a tensor is spread over a mesh, part by part."""

    __slots__ = ("dim_specs",)
    TYPE_KEY = "relax.distributed.Placement"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("dim_specs")

    def __init__(self, dim_specs: Sequence[PlacementSpec]) -> None:
        self.dim_specs: Final[tuple[PlacementSpec, ...]] = tuple(
            all_of_type(dim_specs, PlacementSpec, "Placement: dim_specs")
        )

    @staticmethod
    def from_text(text: str) -> Placement:
        """The placement that `S[0], R` says."""
        specs: list[PlacementSpec] = []
        for part in text.split(","):
            found = _PART.fullmatch(part.strip())
            if found is None:
                raise CheckError(
                    message(
                        f"Placement.from_text({text!r})",
                        found=f"the part {part.strip()!r}",
                        legal="R or S[axis] for each dimension of the mesh: 'S[0], R'",
                    )
                )
            axis = found.group(1)
            specs.append(
                PlacementSpec.replica() if axis is None else PlacementSpec.sharding(int(axis))
            )
        return Placement(specs)

    def __repr__(self) -> str:
        return ", ".join(str(spec) for spec in self.dim_specs)

    __str__ = __repr__


class PlacementError(TVMError, ValueError):
    """A placement that does not fit its mesh or its tensor."""


@final
class DTensorStructInfo(RelaxStructInfo):
    """A tensor spread over the devices of a mesh; `tensor_sinfo` describes the whole of it."""

    __slots__ = ("device_mesh", "placement", "tensor_sinfo")
    TYPE_KEY = "relax.DTensorStructInfo"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "tensor_sinfo", "device_mesh", "placement", "span~"
    )

    @explained
    def __init__(
        self,
        tensor_sinfo: TensorStructInfo,
        device_mesh: DeviceMesh,
        placement: Placement,
        span: Span | None = None,
    ) -> None:
        parts, extents = len(placement.dim_specs), len(device_mesh.shape)
        if parts != extents:
            raise PlacementError(
                message(
                    "The device mesh and placement must have the same dimension size",
                    found=f"placement {placement} for a mesh of shape {device_mesh.shape}",
                    legal=f"{extents} parts",
                )
            )
        for spec in placement.dim_specs:
            if spec.kind is PlacementSpecKind.kSharding and spec.axis >= tensor_sinfo.ndim:
                raise PlacementError(
                    message(
                        "Sharding dimension should be smaller than tensor ndim",
                        found=f"{spec} for {tensor_sinfo}",
                        legal=f"S[0] to S[{tensor_sinfo.ndim - 1}], or R",
                    )
                )
        self.tensor_sinfo: Final = tensor_sinfo
        self.device_mesh: Final = device_mesh
        self.placement: Final = placement
        self.span = span

    def with_tensor(self, tensor_sinfo: TensorStructInfo) -> DTensorStructInfo:
        """Another tensor with the same mesh and placement."""
        if tensor_sinfo is self.tensor_sinfo:
            return self
        return DTensorStructInfo(tensor_sinfo, self.device_mesh, self.placement, self.span)


register_nodes(PlacementSpec, Placement, DTensorStructInfo)
