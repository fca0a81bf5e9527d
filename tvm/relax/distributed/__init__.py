"""Tensors spread over a mesh of devices: where they lie, and the passes that lower them."""

from typing import TYPE_CHECKING

from .global_info import DeviceMesh, device_mesh
from .struct_info import DTensorStructInfo, Placement, PlacementSpec, PlacementSpecKind

if TYPE_CHECKING:
    from . import transform as transform

__all__ = [
    "DTensorStructInfo", "DeviceMesh", "Placement", "PlacementSpec", "PlacementSpecKind",
    "device_mesh",
]  # fmt: skip
