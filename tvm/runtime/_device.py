"""Devices, and what can be asked of them."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any, Final

from tvm.ffi import get_global_func, library

from .attributes import HOST_ATTRIBUTES, DeviceAttr

_tvm_ffi = library()
_DeviceBase: Any = _tvm_ffi.core.Device
_KIND: Any = _tvm_ffi.DLDeviceType
# The kinds of devices that run the code of kinds of targets.
_RUNS_CODE_OF = {
    "llvm": "cpu", "c": "cpu", "stackvm": "cpu", "test": "cpu", "hybrid": "cpu",
    "composite": "cpu", "nvptx": "cuda", "cl": "opencl", "sdaccel": "opencl", "mtl": "metal",
}  # fmt: skip
REMOTE_MASK: Final = 128  # a device type is that of session n - 1 plus n times this


class Device(_DeviceBase):  # type: ignore[misc]
    """Where tensors live and kernels run, such as `cpu(0)` or `cuda(1)`."""

    __slots__ = ("_rpc_sess",)  # the session of a remote device
    _DEVICE_NAME_TO_TYPE: Final = _DeviceBase._DEVICE_NAME_TO_TYPE | {
        code: _DeviceBase._DEVICE_NAME_TO_TYPE[kind]
        for code, kind in _RUNS_CODE_OF.items()
        if code != "composite"
    }
    DEVICE_TYPE_TO_NAME: Final = {int(k): v for k, v in _DeviceBase._DEVICE_TYPE_TO_NAME.items()}
    DEVICE_NAME_TO_TYPE: Final = {k: int(v) for k, v in _DEVICE_NAME_TO_TYPE.items()}
    kDLCPU: Final = int(_KIND.kDLCPU)
    kDLCUDA: Final = int(_KIND.kDLCUDA)
    kDLCUDAHost: Final = int(_KIND.kDLCUDAHost)
    kDLCUDAManaged: Final = int(_KIND.kDLCUDAManaged)
    kDLOpenCL: Final = int(_KIND.kDLOpenCL)
    kDLVulkan: Final = int(_KIND.kDLVulkan)
    kDLMetal: Final = int(_KIND.kDLMetal)
    kDLVPI: Final = int(_KIND.kDLVPI)
    kDLROCM: Final = int(_KIND.kDLROCM)
    kDLROCMHost: Final = int(_KIND.kDLROCMHost)
    kDLExtDev: Final = int(_KIND.kDLExtDev)
    kDLOneAPI: Final = int(_KIND.kDLOneAPI)
    kDLWebGPU: Final = int(_KIND.kDLWebGPU)
    kDLHexagon: Final = int(_KIND.kDLHexagon)

    @property
    def is_remote(self) -> bool:
        """Whether it is a device at the other end of a session (tvm.rpc)."""
        return bool(self.dlpack_device_type() >= REMOTE_MASK)

    def __device_type_name__(self) -> str:
        kind = self.dlpack_device_type()
        if kind < REMOTE_MASK:
            return str(super().__device_type_name__())
        there = self._DEVICE_TYPE_TO_NAME[kind % REMOTE_MASK]
        return f"remote[{kind // REMOTE_MASK - 1}]:{there}"

    def _attribute(self, attr: DeviceAttr) -> Any:
        if self.dlpack_device_type() == _tvm_ffi.DLDeviceType.kDLCPU:
            return HOST_ATTRIBUTES[attr]() if attr in HOST_ATTRIBUTES else None
        if self.is_remote:
            return get_global_func("device_api.remote.get_attr")(self, int(attr))
        kinds = importlib.import_module("tvm.runtime.device_api.kinds")
        api = kinds.find_api(self.type)
        if api is None or self.index >= api.count():
            return False if attr is DeviceAttr.EXIST else None
        return api.attribute(self.index, attr)

    @property
    def device_type(self) -> int:
        """The DLPack number of the kind of device."""
        return int(self.dlpack_device_type())

    @property
    def device_id(self) -> int:
        """Which of the devices of this kind."""
        return int(self.index)

    @property
    def exist(self) -> bool:
        """True if the device can be used here."""
        return bool(self._attribute(DeviceAttr.EXIST))

    @property
    def max_threads_per_block(self) -> int | None:
        """Most threads in a block; on a CPU 1."""
        value: int | None = self._attribute(DeviceAttr.MAX_THREADS_PER_BLOCK)
        return value

    @property
    def warp_size(self) -> int | None:
        """Threads that run in lockstep; on a CPU 1."""
        value: int | None = self._attribute(DeviceAttr.WARP_SIZE)
        return value

    @property
    def max_shared_memory_per_block(self) -> int | None:
        """Bytes of shared memory a block may use."""
        value: int | None = self._attribute(DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK)
        return value

    @property
    def compute_version(self) -> str | None:
        """The version of the instruction set, as "9.0"."""
        value: str | None = self._attribute(DeviceAttr.COMPUTE_VERSION)
        return value

    @property
    def device_name(self) -> str | None:
        """What the maker calls it."""
        value: str | None = self._attribute(DeviceAttr.DEVICE_NAME)
        return value

    @property
    def max_clock_rate(self) -> int | None:
        """Highest clock in kHz."""
        value: int | None = self._attribute(DeviceAttr.MAX_CLOCK_RATE)
        return value

    @property
    def multi_processor_count(self) -> int | None:
        """Number of multiprocessors; on a CPU the cores that this process may use."""
        value: int | None = self._attribute(DeviceAttr.MULTI_PROCESSOR_COUNT)
        return value

    @property
    def max_thread_dimensions(self) -> list[int] | None:
        """Most threads of a block along x, y, z."""
        value: list[int] | None = self._attribute(DeviceAttr.MAX_THREAD_DIMENSIONS)
        return value

    @property
    def api_version(self) -> int | None:
        """The version of the programming interface."""
        value: int | None = self._attribute(DeviceAttr.API_VERSION)
        return value

    @property
    def driver_version(self) -> str | None:
        """The version of the driver."""
        value: str | None = self._attribute(DeviceAttr.DRIVER_VERSION)
        return value

    @property
    def l2_cache_size_bytes(self) -> int | None:
        """Size of the second-level cache (of one core, on a CPU)."""
        value: int | None = self._attribute(DeviceAttr.L2_CACHE_SIZE_BYTES)
        return value

    @property
    def total_global_memory(self) -> int | None:
        """Bytes of memory in all."""
        value: int | None = self._attribute(DeviceAttr.TOTAL_GLOBAL_MEMORY)
        return value

    @property
    def available_global_memory(self) -> int | None:
        """Bytes of memory that are free now."""
        value: int | None = self._attribute(DeviceAttr.AVAILABLE_GLOBAL_MEMORY)
        return value

    def texture_spatial_limit(self) -> int | None:
        """The largest extent of an image."""
        value: int | None = self._attribute(DeviceAttr.IMAGE_SPATIAL_LIMIT)
        return value

    def create_raw_stream(self) -> int:
        """A new stream of work; on a CPU there is only stream 0."""
        stream: int = self._stream_call("create_stream", 0)
        return stream

    def free_raw_stream(self, stream: int) -> None:
        """Give a stream back."""
        self._stream_call("free_stream", None, stream)

    def set_raw_stream(self, stream: int) -> None:
        """Make `stream` the one that following work goes to."""
        self._stream_call("set_stream", None, stream)

    def sync(self, stream: int | None = None) -> None:
        """Wait until all work given to the device is done."""
        self._stream_call("sync", None, stream or 0)

    def seconds(self, work: Callable[[], None]) -> float:
        """Seconds that the device takes for what `work` gives it to do, by its own clock where it
        has one."""
        if self.dlpack_device_type() != _tvm_ffi.DLDeviceType.kDLCPU and not self.is_remote:
            kinds = importlib.import_module("tvm.runtime.device_api.kinds")
            taken: float = kinds.api_of(self.type, self.index).seconds(self.index, work)
            return taken
        self.sync()
        start = time.perf_counter()
        work()
        self.sync()
        return time.perf_counter() - start

    def _stream_call(self, what: str, on_cpu: Any, *args: int) -> Any:
        if self.dlpack_device_type() == _tvm_ffi.DLDeviceType.kDLCPU:
            return on_cpu
        if self.is_remote:
            return get_global_func("device_api.remote.stream")(self, what, args)
        kinds = importlib.import_module("tvm.runtime.device_api.kinds")
        return getattr(kinds.api_of(self.type, self.index), what)(self.index, *args)


_tvm_ffi.core._set_class_device(Device)


def device(device_type: str | int, index: int | None = None) -> Device:
    """The device of a name or DLPack number: `device("cpu")`, `device("cuda:1")`.

    The text of a target gives the device that runs its code: `device("llvm -mcpu=skylake")`.
    """
    if isinstance(device_type, str):
        kind, colon, number = device_type.split(" ")[0].partition(":")
        device_type = f"{_RUNS_CODE_OF.get(kind, kind)}{colon}{number}"
    return Device(device_type, index)


def _maker(kind: str) -> Any:
    def make(dev_id: int = 0) -> Device:
        return Device(kind, dev_id)

    make.__name__ = kind
    make.__doc__ = f"Device number `dev_id` of kind {kind}."
    return make


cpu = _maker("cpu")
cuda = _maker("cuda")
rocm = _maker("rocm")
opencl = _maker("opencl")
metal = _maker("metal")
vpi = _maker("vpi")
vulkan = _maker("vulkan")
ext_dev = _maker("ext_dev")
hexagon = _maker("hexagon")
webgpu = _maker("webgpu")
