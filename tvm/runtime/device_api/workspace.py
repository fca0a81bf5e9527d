"""Scratch memory on a device for host code, which asks for it by name."""

from __future__ import annotations

from typing import Final

from tvm.error import message
from tvm.ffi import register_global_func
from tvm.runtime._device import Device

from .kinds import api_of

_sizes: Final[dict[tuple[int, int, int], int]] = {}


@register_global_func("runtime.take_device_workspace", override=True)
def take_device_workspace(device_type: int, device_id: int, nbytes: int) -> int:
    """The address of scratch memory on a device, until it is given back."""
    if nbytes < 0:
        raise MemoryError(
            message("memory for a kernel's workspace", found="a size that 64 bits do not hold")
        )
    kind = Device(device_type, device_id).type
    address, size = api_of(kind, device_id).take(device_id, max(nbytes, 1))
    _sizes[device_type, device_id, address] = size
    return address


@register_global_func("runtime.give_device_workspace", override=True)
def give_device_workspace(device_type: int, device_id: int, address: int) -> int:
    """Scratch memory that is not needed any more."""
    size = _sizes.pop((device_type, device_id, address))
    api_of(Device(device_type, device_id).type, device_id).give(device_id, address, size)
    return 0
