"""The target of a device of this machine."""

from __future__ import annotations

from typing import Any, Final

from tvm.error import TargetError, message
from tvm.runtime._device import Device

from .host_cpu import available_cores
from .kind import KINDS
from .target import Target

_CPUS: Final = ("cpu", "llvm")
# What a target is told of a device: its option, and the device's attribute.
_LIMITS: Final = (
    ("max_shared_memory_per_block", "max_shared_memory_per_block"),
    ("max_threads_per_block", "max_threads_per_block"),
    ("thread_warp_size", "warp_size"),
)
_WITHOUT_DETECTION: Final = ("metal", "hexagon", "ext_dev")


def detect_target_from_device(dev: Any) -> Target:
    """The target for a device given as `"cpu"`, `"cuda:0"` or a Device.

    Devices that are no CPU have to exist on this machine, and are asked what they can do.
    """
    device = _device(dev)
    if device is None or device.type in _CPUS:
        return Target({"kind": "llvm", "num-cores": available_cores()})
    if not device.exist:
        raise _refused(dev, "no such device on this machine")
    told: dict[str, Any] = {"kind": device.type}
    if device.type == "cuda":
        told["arch"] = "sm_" + str(device.compute_version).replace(".", "")
    for option, attribute in _LIMITS:
        value = getattr(device, attribute)
        known = option in KINDS[device.type].options
        if known and value is not None and (option != "thread_warp_size" or device.type == "cuda"):
            told[option] = int(value)
    return Target(told)


def _device(dev: Any) -> Any:
    """The device that is meant; None for the CPU by its compiler's name."""
    if not isinstance(dev, str):
        found = dev
    else:
        kind, _, number = dev.partition(":")
        if kind in _CPUS:
            return None
        try:
            found = Device({"gpu": "cuda"}.get(kind, kind), int(number or 0))
        except (ValueError, RuntimeError) as err:
            raise _refused(dev, "no kind of device") from err
    if found.type in _WITHOUT_DETECTION:
        raise _refused(dev, f"nothing here asks devices of kind {found.type}")
    return found


def _refused(dev: Any, found: str) -> TargetError:
    return TargetError(
        message(
            f"Auto detection for device {dev!s} is not supported",
            found=found,
            legal="cpu; a cuda, opencl, vulkan or webgpu device that exists on this machine",
        )
    )
