"""NVIDIA's GPUs, by cuda-bindings: the functions of the CUDA driver, with real pointers.

Streams are those of the calling thread that tvm_ffi knows, so code in torch's streams runs in them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi import get_global_func, library
from tvm.runtime._tensor import numpy_dtype
from tvm.runtime.attributes import DeviceAttr
from tvm.support.dtype import DataType

from .api import AXES, DYNAMIC_SHARED, DeviceAPI, Kernel, MissingLibrary, Prepared, address_of

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule

_SHARED_WITHOUT_ASKING: Final = 48 << 10  # bytes a block


class CUDAAPI(DeviceAPI):
    """The primary context of each device, which other libraries of the process use as well."""

    kind: ClassVar[str] = "cuda"
    launch_tags: ClassVar[tuple[str, ...]] = (DYNAMIC_SHARED,)

    def __init__(self) -> None:
        super().__init__()
        try:
            from cuda.bindings import driver
        except ImportError as err:
            raise MissingLibrary("cuda-bindings is not installed") from err
        self.driver: Final[Any] = driver
        self._type: Final = int(library().core.DLDeviceType.kDLCUDA)
        self._devices: Final = self._find_devices()
        self._contexts: Final[dict[int, Any]] = {}
        self._make_current: Final = functools.partial(self.call, "cuCtxSetCurrent")
        self._stream_of_thread: Final = library().core._env_get_current_stream

    def call(self, name: str, *args: Any) -> Any:
        """The results of a function of the driver; MemoryError or TVMError where it fails."""
        code, *results = getattr(self.driver, name)(*args)
        if code != 0:
            self.failed(name, code)
        return results[0] if len(results) == 1 else tuple(results)

    def failed(self, name: str, code: Any) -> NoReturn:
        """Say what a function of the driver answered."""
        if code == self.driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise MemoryError(f"{name} of the CUDA driver")
        _, text = self.driver.cuGetErrorString(code)
        said = text.decode() if text else "no text"
        raise TVMError(message(f"{name} of the CUDA driver", found=f"{code.name}: {said}"))

    def _find_devices(self) -> list[Any]:
        try:
            self.call("cuInit", 0)
            return [self.call("cuDeviceGet", n) for n in range(self.call("cuDeviceGetCount"))]
        except (RuntimeError, MemoryError):  # no driver is installed, or it has no device
            return []

    def count(self) -> int:
        return len(self._devices)

    def _enter(self, index: int) -> int:
        """Make a device the one that the driver's functions mean; the stream of this thread."""
        context = self._contexts.get(index)
        if context is None:
            with self._lock:
                context = self.call("cuDevicePrimaryCtxRetain", self._devices[index])
                self._contexts[index] = context
        self._make_current(context)  # others in this process change it
        return int(self._stream_of_thread(self._type, index) or 0)

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
        return int(self.call("cuDeviceGetAttribute", which, self._devices[index]))

    def capability(self, index: int) -> tuple[int, int]:
        """The version of a device's instruction set."""
        major, minor = (self.number(index, f"COMPUTE_CAPABILITY_{part}") for part in _VERSION)
        return major, minor

    def device_name(self, index: int) -> str:
        """What the maker calls a device."""
        name: bytes = self.call("cuDeviceGetName", 256, self._devices[index])
        return name.split(b"\0")[0].decode()

    def memory(self, index: int) -> tuple[int, int]:
        """Bytes of a device that are free, and all."""
        self._enter(index)
        free, total = self.call("cuMemGetInfo")
        return int(free), int(total)

    # --- memory ---

    def allocate(self, index: int, nbytes: int) -> int:
        self._enter(index)
        return int(self.call("cuMemAlloc", nbytes))

    def release(self, index: int, address: int) -> None:
        self._enter(index)
        self.call("cuMemFree", address)

    def write(self, index: int, address: int, data: memoryview) -> None:
        stream = self._enter(index)
        self.call("cuMemcpyHtoDAsync", address, _start(data), data.nbytes, stream)
        self.call("cuStreamSynchronize", stream)  # the bytes are the caller's again

    def read(self, index: int, address: int, into: memoryview) -> None:
        stream = self._enter(index)
        self.call("cuMemcpyDtoHAsync", _start(into), address, into.nbytes, stream)
        self.call("cuStreamSynchronize", stream)

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        stream = self._enter(index)
        self.call("cuMemcpyDtoDAsync", target, source, nbytes, stream)

    # --- streams ---

    def current_stream(self, index: int) -> int:
        return int(self._stream_of_thread(self._type, index) or 0)

    def create_stream(self, index: int) -> int:
        self._enter(index)
        return int(self.call("cuStreamCreate", 0))

    def free_stream(self, index: int, stream: int) -> None:
        if stream:
            super().free_stream(index, stream)
            self.call("cuStreamDestroy", stream)

    def set_stream(self, index: int, stream: int) -> None:
        before = self._enter(index)
        if before != stream:  # what was queued there comes before what comes here
            event = self.call("cuEventCreate", _NO_TIMING)
            self.call("cuEventRecord", event, before)
            self.call("cuStreamWaitEvent", stream, event, 0)
            self.call("cuEventDestroy", event)
        library().core._env_set_current_stream(self._type, index, stream)

    def sync(self, index: int, stream: int) -> None:
        current = self._enter(index)
        self.call("cuStreamSynchronize", stream or current)

    # --- time, and launches that are repeated ---

    def seconds(self, index: int, work: Callable[[], None]) -> float:
        """Seconds that the device takes for what `work` queues, by its own clock."""
        stream = self._enter(index)
        start, end = (self.call("cuEventCreate", 0) for _ in range(2))
        try:
            self.call("cuEventRecord", start, stream)
            work()
            self._enter(index)
            self.call("cuEventRecord", end, stream)
            self.call("cuEventSynchronize", end)
            return float(self.call("cuEventElapsedTime", start, end)) / 1000
        finally:
            for event in (start, end):
                self.call("cuEventDestroy", event)

    def record(self, index: int, work: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        """What `work` returns, and a function that repeats its launches by one graph of them."""
        outside = self._enter(index)
        stream = int(self.call("cuStreamCreate", _NON_BLOCKING))
        set_stream = library().core._env_set_current_stream
        set_stream(self._type, index, stream)
        graph = None
        try:
            relaxed = self.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
            self.call("cuStreamBeginCapture", stream, relaxed)
            try:
                with self._memory_held() as held:
                    result = work()
            finally:
                self._enter(index)
                graph = self.call("cuStreamEndCapture", stream)
            ready = self.call("cuGraphInstantiate", graph, 0)
        finally:
            set_stream(self._type, index, outside)
            if graph is not None:
                self.call("cuGraphDestroy", graph)
            self._share_pool_of(index, stream)
            self.call("cuStreamDestroy", stream)

        def repeat() -> None:
            self.call("cuGraphLaunch", ready, self._enter(index))

        def end() -> None:
            self._enter(index)
            self.call("cuGraphExecDestroy", ready)
            for place, address, size in held:
                self.give(place, address, size)

        weakref.finalize(repeat, end).atexit = False  # the device goes with the process
        return result, repeat

    # --- kernels ---

    def kernel(self, index: int, module: DeviceModule, name: str) -> Kernel:
        if module.fmt == "ptx":  # the driver compiles it
            binary = module.source.encode()
        else:
            binary = self._compiled(module.source, module.arch, index)
        return self.kernel_of(index, binary, name, module.kernels[name].arg_types)

    def kernel_of(self, index: int, binary: bytes, name: str, kinds: Sequence[str]) -> Kernel:
        """A kernel of PTX or a cubin, on a device."""
        self._enter(index)
        loaded = self._loaded(binary, index)
        function = self.call("cuModuleGetFunction", loaded, name.encode())
        return _Kernel(self, index, name, function, kinds)

    def enter(self, index: int) -> int:
        return self._enter(index)

    def prepared(
        self, index: int, kernel: Kernel, kinds: Sequence[str], args: Sequence[Any],
        extents: dict[str, int],
    ) -> Prepared:  # fmt: skip
        assert isinstance(kernel, _Kernel), "made by kernel_of"
        return kernel.prepared(kinds, args, extents)

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

    @functools.lru_cache(maxsize=256)  # noqa: B019 -- the API lives as long as the process
    def _compiled(self, source: str, arch: str, index: int) -> bytes:
        """The binary of CUDA text, by whatever is registered as its compiler."""
        major, minor = self.capability(index)
        own = f"sm_{major}{minor}"
        # a target may name the variant of a machine, as sm_90a
        name = arch if arch.rstrip("af") == own else own
        target = importlib.import_module("tvm.target").Target({"kind": "cuda", "arch": name})
        return bytes(get_global_func("tvm_callback_cuda_compile")(source, target))

    @functools.lru_cache(maxsize=256)  # noqa: B019
    def _loaded(self, binary: bytes, index: int) -> Any:
        return self.call("cuModuleLoadData", binary + b"\0")


class _Kernel:
    """A function of a loaded module; every argument has eight bytes of one buffer."""

    def __init__(
        self, api: CUDAAPI, index: int, name: str, function: Any, kinds: Sequence[str]
    ) -> None:
        self._api = api
        self._index = index
        self._name = name
        self._function = function
        self._packers = [_packer(kind) for kind in kinds]
        self._layout = struct.Struct(f"<{len(kinds)}Q")
        self._bytes = ctypes.create_string_buffer(max(8 * len(kinds), 8))
        start = ctypes.addressof(self._bytes)
        self._pointers = (ctypes.c_void_p * max(len(kinds), 1))(
            *range(start, start + 8 * len(kinds), 8)
        )
        self._shared = _SHARED_WITHOUT_ASKING
        self._lock = threading.Lock()

    def __call__(self, args: Sequence[Any], extents: Mapping[str, int]) -> None:
        """Queue a launch; the driver copies the arguments before it returns."""
        stream = self._api._enter(self._index)
        values = [pack(arg) for pack, arg in zip(self._packers, args)]
        dims = [extents[axis] for axis in AXES]
        shared = extents.get(DYNAMIC_SHARED, 0)
        with self._lock:
            if shared > self._shared:
                most = self._api.driver.CUfunction_attribute
                most = most.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self._api.call("cuFuncSetAttribute", self._function, most, shared)
                self._shared = shared
            self._layout.pack_into(self._bytes, 0, *values)
            try:
                self._api.call("cuLaunchKernel", self._function, *dims, shared, stream,
                               ctypes.addressof(self._pointers), 0)  # fmt: skip
            except TVMError as err:
                raise TVMError(
                    message(
                        f"launch kernel {self._name!r}",
                        found=f"{dims[:3]} blocks of {dims[3:]} threads, {shared} bytes shared; "
                        f"{err}",
                        legal="what the device has room for",
                    )
                ) from err

    def prepared(
        self, kinds: Sequence[str], args: Sequence[Any], extents: Mapping[str, int]
    ) -> Prepared:
        """A launch that has been made once, with memory of its own for its arguments."""
        values = [pack(arg) for pack, arg in zip(self._packers, args)]
        held = (ctypes.c_uint64 * max(len(values), 1))(*values)
        start = ctypes.addressof(held)
        pointers = (ctypes.c_void_p * max(len(values), 1))(
            *range(start, start + 8 * len(values), 8)
        )
        at = ctypes.addressof(pointers)
        dims = [extents[axis] for axis in AXES]
        shared = extents.get(DYNAMIC_SHARED, 0)
        places = [n for n, kind in enumerate(kinds) if kind == "handle"]
        queue, function = self._api.driver.cuLaunchKernel, self._function

        def launch(stream: int, addresses: Sequence[int], keep: Any = pointers) -> None:
            for place, address in zip(places, addresses):
                held[place] = address
            (code,) = queue(function, *dims, shared, stream, at, 0)
            if code != 0:
                self._api.failed(f"cuLaunchKernel of {self._name!r}", code)

        return launch


def _packer(kind: str) -> Callable[[Any], int]:
    """An argument as the number whose low bytes a kernel gets."""
    dtype = DataType(kind)
    if dtype.is_handle:
        return address_of
    code = _FLOATS.get(kind)
    if code is not None:
        return lambda arg: int.from_bytes(code.pack(arg), "little")
    if dtype.is_floating:
        own = numpy_dtype(kind)
        return lambda arg: int.from_bytes(np.asarray(arg).astype(own).tobytes(), "little")
    mask = (1 << max(dtype.bits, 8)) - 1
    return lambda arg: int(arg) & mask


def _start(data: memoryview) -> int:
    """The address of bytes of the host."""
    return int(np.frombuffer(data, np.uint8).ctypes.data)


@functools.cache
def _driver_library() -> ctypes.CDLL:
    """The driver, which cuda-bindings has loaded already."""
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


_DEVICE_ORDINAL: Final = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_FLOATS: Final = {
    "float16": struct.Struct("<e"), "float32": struct.Struct("<f"), "float64": struct.Struct("<d"),
}  # fmt: skip
_VERSION: Final = ("MAJOR", "MINOR")
_NON_BLOCKING: Final = 1
_NO_TIMING: Final = 2
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
    DeviceAttr.DRIVER_VERSION: lambda api, n: str(api.call("cuDriverGetVersion")),
    DeviceAttr.L2_CACHE_SIZE_BYTES: lambda api, n: api.number(n, "L2_CACHE_SIZE"),
    DeviceAttr.TOTAL_GLOBAL_MEMORY: lambda api, n: api.memory(n)[1],
    DeviceAttr.AVAILABLE_GLOBAL_MEMORY: lambda api, n: api.memory(n)[0],
}  # fmt: skip
