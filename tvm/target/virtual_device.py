"""A device in the abstract: of which kind, for which target, in which memory."""

from __future__ import annotations

from typing import Any, Final

from tvm.ffi.object import Object

from .target import Target


class VirtualDevice(Object):
    """Where a value lives; parts that are not known are left open."""

    __slots__ = ("memory_scope", "target", "virtual_device_id", "_device_type")

    def __init__(self, device: Any = None, target: Any = None, memory_scope: str = "") -> None:
        self.target: Final = None if target is None else Target(target)
        self.memory_scope: Final = memory_scope
        self._device_type: Final = (
            int(device.dlpack_device_type())
            if device is not None
            else -1
            if self.target is None
            else self.target.get_target_device_type()
        )
        self.virtual_device_id: Final = -1 if device is None else int(device.index)

    def dlpack_device_type(self) -> int:
        """The DLPack device type; -1 while it is open."""
        return self._device_type
