"""AMD's GPUs, by hip-python: the functions of HIP, with real pointers.

HIP's text is compiled by hiprtc when a kernel is first launched; LLVM's objects are linked by lld.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.runtime.attributes import DeviceAttr

from .api import MissingLibrary
from .pointers import PointerAPI

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule


class ROCmAPI(PointerAPI):
    """HIP's devices, which other libraries of the process use as well."""

    kind: ClassVar[str] = "rocm"
    PREFIX: ClassVar[str] = "hip"
    DRIVER: ClassVar[str] = "HIP"
    DEVICE_TYPE: ClassVar[str] = "kDLROCM"
    RELAXED: ClassVar[str] = "hipStreamCaptureMode.hipStreamCaptureModeRelaxed"
    NAMES: ClassVar[Mapping[str, str]] = {
        "MemAlloc": "hipMalloc",
        "MemFree": "hipFree",
        "StreamCreate": "hipStreamCreateWithFlags",
        "EventCreate": "hipEventCreateWithFlags",
        "GraphInstantiate": "hipGraphInstantiateWithFlags",
        "LaunchKernel": "hipModuleLaunchKernel",
        "DeviceGetCount": "hipGetDeviceCount",
    }

    def __init__(self) -> None:
        try:
            from hip import hip
        except ImportError as err:
            raise MissingLibrary("hip-python is not installed, or ROCm is not") from err
        super().__init__(hip)

    def is_out_of_memory(self, code: Any) -> bool:
        return bool(code == self.driver.hipError_t.hipErrorOutOfMemory)

    def error_text(self, code: Any) -> str:
        found = self.driver.hipGetErrorString(code)
        text = found[-1] if isinstance(found, tuple) else found
        return text.decode() if isinstance(text, bytes) else str(text)

    def _find_devices(self) -> list[Any]:
        try:
            return list(range(int(self.call("DeviceGetCount"))))
        except (RuntimeError, MemoryError):  # no driver is loaded, or it has no device
            return []

    def make_current(self, index: int) -> None:
        self.call("SetDevice", index)

    def allow_shared(self, function: Any, nbytes: int) -> None:
        """A block has all of the memory from the start."""

    # --- attributes ---

    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        if index >= len(self._devices):
            return False if attr is DeviceAttr.EXIST else None
        tell = _ATTRIBUTES.get(attr)
        return None if tell is None else tell(self, index)

    def number(self, index: int, name: str) -> int:
        """An attribute by HIP's name, without its prefix."""
        which = getattr(self.driver.hipDeviceAttribute_t, f"hipDeviceAttribute{name}")
        return int(self.call("DeviceGetAttribute", which, index))

    @functools.lru_cache(maxsize=64)  # noqa: B019 -- the API lives as long as the process
    def properties(self, index: int) -> tuple[str, str]:
        """A device's name, and that of its machine, such as gfx90a."""
        held = self.call("GetDeviceProperties", index)
        texts = [_text(held.name), _text(held.gcnArchName)]
        return texts[0], texts[1].partition(":")[0]

    # --- kernels ---

    def device_of(self, address: int) -> int:
        if len(self._devices) == 1:
            return 0
        return int(self.call("PointerGetAttributes", address).device)

    def compiled(self, module: DeviceModule, index: int) -> bytes:
        machine = self.properties(index)[1]
        if module.fmt == "amdgcn":
            if module.arch != machine:
                raise TVMError(
                    message(
                        f"load kernels for {module.arch} on rocm:{index}",
                        found=f"a {machine}",
                        legal=f"a target with -mcpu={machine}",
                    )
                )
            return self._linked(module.binary)
        return self._compiled(module.source, machine)

    @functools.lru_cache(maxsize=256)  # noqa: B019
    def _linked(self, binary: bytes) -> bytes:
        return bytes(get_global_func("tvm_callback_rocm_link")(binary))

    @functools.lru_cache(maxsize=256)  # noqa: B019
    def _compiled(self, source: str, machine: str) -> bytes:
        return bytes(get_global_func("tvm_callback_rocm_compile")(source, machine))


def _text(value: Any) -> str:
    """A text of a structure of C."""
    data = value if isinstance(value, (bytes, bytearray)) else str(value).encode()
    return bytes(data).split(b"\0")[0].decode()


_ATTRIBUTES: Final[dict[DeviceAttr, Callable[[ROCmAPI, int], Any]]] = {
    DeviceAttr.EXIST: lambda api, index: True,
    DeviceAttr.MAX_THREADS_PER_BLOCK: lambda api, n: api.number(n, "MaxThreadsPerBlock"),
    DeviceAttr.WARP_SIZE: lambda api, n: api.number(n, "WarpSize"),
    DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK: (
        lambda api, n: api.number(n, "MaxSharedMemoryPerBlock")),
    DeviceAttr.COMPUTE_VERSION: lambda api, n: ".".join(
        str(api.number(n, f"ComputeCapability{part}")) for part in ("Major", "Minor")),
    DeviceAttr.DEVICE_NAME: lambda api, n: api.properties(n)[0],
    DeviceAttr.GCN_ARCH: lambda api, n: api.properties(n)[1],
    DeviceAttr.MAX_CLOCK_RATE: lambda api, n: api.number(n, "ClockRate"),
    DeviceAttr.MULTI_PROCESSOR_COUNT: lambda api, n: api.number(n, "MultiprocessorCount"),
    DeviceAttr.MAX_THREAD_DIMENSIONS: (
        lambda api, n: [api.number(n, f"MaxBlockDim{axis}") for axis in "XYZ"]),
    DeviceAttr.MAX_REGISTERS_PER_BLOCK: lambda api, n: api.number(n, "MaxRegistersPerBlock"),
    DeviceAttr.DRIVER_VERSION: lambda api, n: str(api.call("DriverGetVersion")),
    DeviceAttr.API_VERSION: lambda api, n: int(api.call("RuntimeGetVersion")),
    DeviceAttr.L2_CACHE_SIZE_BYTES: lambda api, n: api.number(n, "L2CacheSize"),
    DeviceAttr.TOTAL_GLOBAL_MEMORY: lambda api, n: api.memory(n)[1],
    DeviceAttr.AVAILABLE_GLOBAL_MEMORY: lambda api, n: api.memory(n)[0],
}  # fmt: skip
