"""Where values lie: the storages of an expression's tensors, and those of a whole function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.ffi.object import Object
from tvm.ir.expr import RelaxExpr
from tvm.target.virtual_device import VirtualDevice


class StorageInfo(Object):
    """For each tensor of a value: its storage's number, device, and bytes."""

    def __init__(self, sids: Sequence[int], dev_types: Sequence[Any], sizes: Sequence[int]) -> None:
        if not len(sids) == len(dev_types) == len(sizes):
            raise ValueError(
                f"StorageInfo: {len(sids)} storages, {len(dev_types)} devices, {len(sizes)} sizes; "
                "legal: one of each for every tensor"
            )
        self.storage_ids = list(sids)
        self.virtual_devices = [
            d if isinstance(d, VirtualDevice) else VirtualDevice(d) for d in dev_types
        ]
        self.storage_sizes = list(sizes)

    @property
    def device_types(self) -> list[int]:
        """The kinds of the devices."""
        return [device.device_type_int for device in self.virtual_devices]


class StaticMemoryPlan(Object):
    """The storages of every expression of a function."""

    def __init__(self, expr_to_storage_info: Mapping[RelaxExpr, StorageInfo]) -> None:
        self.expr_to_storage_info = dict(expr_to_storage_info)
