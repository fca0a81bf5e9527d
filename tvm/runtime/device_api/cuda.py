"""NVIDIA's GPUs, by cuda-bindings: the functions of the CUDA driver, with real pointers."""

from __future__ import annotations

import ctypes
import functools
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.runtime.attributes import DeviceAttr

from .api import MissingLibrary
from .pointers import PointerAPI

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule


class CUDAAPI(PointerAPI):
    """The primary context of each device, which other libraries of the process use as well."""

    kind: ClassVar[str] = "cuda"
    PREFIX: ClassVar[str] = "cu"
    DRIVER: ClassVar[str] = "the CUDA driver"
    DEVICE_TYPE: ClassVar[str] = "kDLCUDA"
    RELAXED: ClassVar[str] = "CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED"

    def __init__(self) -> None:
        try:
            from cuda.bindings import driver
        except ImportError as err:
            raise MissingLibrary("cuda-bindings is not installed") from err
        super().__init__(driver)
        self._contexts: Final[dict[int, Any]] = {}
        self._make_current: Final = functools.partial(self.call, "CtxSetCurrent")

    def is_out_of_memory(self, code: Any) -> bool:
        return bool(code == self.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY)

    def error_text(self, code: Any) -> str:
        _, text = self.driver.cuGetErrorString(code)
        return text.decode() if text else "no text"

    def _find_devices(self) -> list[Any]:
        try:
            self.call("Init", 0)
            return [self.call("DeviceGet", n) for n in range(self.call("DeviceGetCount"))]
        except (RuntimeError, MemoryError):  # no driver is installed, or it has no device
            return []

    def make_current(self, index: int) -> None:
        context = self._contexts.get(index)
        if context is None:
            with self._lock:
                context = self.call("DevicePrimaryCtxRetain", self._devices[index])
                self._contexts[index] = context
        self._make_current(context)

    def allow_shared(self, function: Any, nbytes: int) -> None:
        most = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.call("FuncSetAttribute", function, most, nbytes)

    # --- attributes ---

    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        if index >= len(self._devices):
            return False if attr is DeviceAttr.EXIST else None
        tell = _ATTRIBUTES.get(attr)
        return None if tell is None else tell(self, index)

    def number(self, index: int, name: str) -> int:
        """An attribute by the driver's name, without its prefix."""
        known = self.driver.CUdevice_attribute
        which = getattr(known, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("DeviceGetAttribute", which, self._devices[index]))

    def capability(self, index: int) -> tuple[int, int]:
        """The version of a device's instruction set."""
        major, minor = (self.number(index, f"COMPUTE_CAPABILITY_{part}") for part in _VERSION)
        return major, minor

    def device_name(self, index: int) -> str:
        """What the maker calls a device."""
        name: bytes = self.call("DeviceGetName", 256, self._devices[index])
        return name.split(b"\0")[0].decode()

    # --- kernels ---

    def device_of(self, address: int) -> int:
        if len(self._devices) == 1:
            return 0
        # by the driver itself: that of cuda-bindings 13.3 says 0 of all memory
        found = ctypes.c_int()
        code = _driver_library().cuPointerGetAttribute(
            ctypes.byref(found), _DEVICE_ORDINAL, ctypes.c_uint64(address)
        )
        if code != 0:
            raise TVMError(
                message(
                    f"the device of memory at {address:#x}",
                    found=f"error {code} of the CUDA driver",
                    legal="memory of a CUDA device",
                )
            )
        return found.value

    def compiled(self, module: DeviceModule, index: int) -> bytes:
        if module.fmt == "ptx":  # the driver compiles it
            return module.source.encode()
        return self._compiled(module.source, module.arch, index)

    @functools.lru_cache(maxsize=256)  # noqa: B019 -- the API lives as long as the process
    def _compiled(self, source: str, arch: str, index: int) -> bytes:
        """The binary of CUDA text, by whatever is registered as its compiler."""
        major, minor = self.capability(index)
        own = f"sm_{major}{minor}"
        # a target may name the variant of a machine, as sm_90a
        name = arch if arch.rstrip("af") == own else own
        target = importlib.import_module("tvm.target").Target({"kind": "cuda", "arch": name})
        return bytes(get_global_func("tvm_callback_cuda_compile")(source, target))


@functools.cache
def _driver_library() -> ctypes.CDLL:
    """The driver, which cuda-bindings has loaded already."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


_DEVICE_ORDINAL: Final = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_VERSION: Final = ("MAJOR", "MINOR")
_ATTRIBUTES: Final[dict[DeviceAttr, Callable[[CUDAAPI, int], Any]]] = {
    DeviceAttr.EXIST: lambda api, index: True,
    DeviceAttr.MAX_THREADS_PER_BLOCK: lambda api, n: api.number(n, "MAX_THREADS_PER_BLOCK"),
    DeviceAttr.WARP_SIZE: lambda api, n: api.number(n, "WARP_SIZE"),
    DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK: (
        lambda api, n: api.number(n, "MAX_SHARED_MEMORY_PER_BLOCK")),
    DeviceAttr.COMPUTE_VERSION: lambda api, n: ".".join(map(str, api.capability(n))),
    DeviceAttr.DEVICE_NAME: lambda api, n: api.device_name(n),
    DeviceAttr.MAX_CLOCK_RATE: lambda api, n: api.number(n, "CLOCK_RATE"),
    DeviceAttr.MULTI_PROCESSOR_COUNT: lambda api, n: api.number(n, "MULTIPROCESSOR_COUNT"),
    DeviceAttr.MAX_THREAD_DIMENSIONS: (
        lambda api, n: [api.number(n, f"MAX_BLOCK_DIM_{axis}") for axis in "XYZ"]),
    DeviceAttr.MAX_REGISTERS_PER_BLOCK: lambda api, n: api.number(n, "MAX_REGISTERS_PER_BLOCK"),
    DeviceAttr.API_VERSION: lambda api, n: api.driver.CUDA_VERSION,
    DeviceAttr.DRIVER_VERSION: lambda api, n: str(api.call("DriverGetVersion")),
    DeviceAttr.L2_CACHE_SIZE_BYTES: lambda api, n: api.number(n, "L2_CACHE_SIZE"),
    DeviceAttr.TOTAL_GLOBAL_MEMORY: lambda api, n: api.memory(n)[1],
    DeviceAttr.AVAILABLE_GLOBAL_MEMORY: lambda api, n: api.memory(n)[0],
}  # fmt: skip
