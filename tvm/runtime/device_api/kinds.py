"""The kinds of devices and who drives them, named and not imported."""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import Final

from tvm.error import TVMError, message
from tvm.runtime.device_module import DeviceModule

from .api import DeviceAPI, MissingLibrary

# kind -> the class that drives it, and the extra of this package that brings its library
DRIVERS: Final[dict[str, tuple[str, str]]] = {
    "cuda": ("tvm.runtime.device_api.cuda:CUDAAPI", "cuda"),
    "metal": ("tvm.runtime.device_api.metal:MetalAPI", "metal"),
    "opencl": ("tvm.runtime.device_api.opencl:OpenCLAPI", "opencl"),
    "rocm": ("tvm.runtime.device_api.rocm:ROCmAPI", "rocm"),
    "vulkan": ("tvm.runtime.device_api.webgpu:VulkanAPI", "webgpu"),
    "webgpu": ("tvm.runtime.device_api.webgpu:WebGPUAPI", "webgpu"),
}
_lock: Final = threading.RLock()


@functools.cache
def _started(kind: str) -> DeviceAPI | str:
    """The driver of a kind, or why there is none."""
    if kind not in DRIVERS:
        return f"nothing here drives devices of kind {kind}"
    home, extra = DRIVERS[kind]
    module, _, name = home.partition(":")
    try:
        made: DeviceAPI = getattr(importlib.import_module(module), name)()
    except MissingLibrary as err:
        return f"{err}; pip install 'tvm-py[{extra}]' brings it"
    return made


def find_api(kind: str) -> DeviceAPI | None:
    """What drives a kind of device here, or None."""
    with _lock:
        found = _started(kind)
    return None if isinstance(found, str) else found


def api_of(kind: str, index: int = 0) -> DeviceAPI:
    """What drives a device; TVMError, with the reason, where it cannot be used here."""
    with _lock:
        found = _started(kind)
    if isinstance(found, str):
        reason = found
    elif index >= found.count():
        reason = f"{found.count() or 'no'} such device{'s' * (found.count() > 1)} on this machine"
        reason = "; ".join([reason, *found.unusable])
    else:
        return found
    raise TVMError(
        message(
            f"use of device {kind}:{index}",
            found=reason,
            legal="cpu(0); `tvm.device(name).exist` tells whether a device can be used",
        )
    )


def is_cpu(kind: str, index: int = 0) -> bool:
    """Whether a device that exists is the CPU by a driver for it."""
    found = find_api(kind)
    return found is not None and index < found.count() and found.is_cpu(index)


def launcher(module: DeviceModule, name: str) -> Callable[..., None]:
    """A kernel of a module as a function of its arguments and then the extents of a launch."""
    return api_of(module.kind).launcher(module, name)
