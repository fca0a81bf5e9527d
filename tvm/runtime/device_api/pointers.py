"""Drivers with real pointers, streams and graphs: what CUDA and HIP have in common.

Both have the same functions under other names. Streams are those of the calling thread that
tvm_ffi knows, so code in torch's streams runs in them.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.runtime._tensor import numpy_dtype
from tvm.support.dtype import DataType

from .api import AXES, DYNAMIC_SHARED, DeviceAPI, Kernel, Prepared, address_of

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule

_SHARED_WITHOUT_ASKING: Final = 48 << 10  # bytes a block


class PointerAPI(DeviceAPI):
    """Calls a driver's functions by what they do: `PREFIX` and a word, or a name of `NAMES`."""

    PREFIX: ClassVar[str]
    NAMES: ClassVar[Mapping[str, str]] = {}
    DRIVER: ClassVar[str]  # what errors call it
    DEVICE_TYPE: ClassVar[str]  # in DLPack's DLDeviceType
    RELAXED: ClassVar[str] = ""  # the mode of captures that ask nothing of other threads
    launch_tags: ClassVar[tuple[str, ...]] = (DYNAMIC_SHARED,)

    def __init__(self, driver: Any) -> None:
        super().__init__()
        self.driver: Final[Any] = driver
        self._type: Final = int(getattr(library().core.DLDeviceType, self.DEVICE_TYPE))
        self._devices: Final = self._find_devices()
        self._stream_of_thread: Final = library().core._env_get_current_stream

    def function(self, word: str) -> Any:
        """A function of the driver, by what it does."""
        return getattr(self.driver, self.NAMES.get(word) or self.PREFIX + word)

    def call(self, word: str, *args: Any) -> Any:
        """The results of a function of the driver; MemoryError or TVMError where it fails."""
        code, *results = self.function(word)(*args)
        if code != 0:
            self.failed(self.NAMES.get(word) or self.PREFIX + word, code)
        return results[0] if len(results) == 1 else tuple(results)

    def failed(self, name: str, code: Any) -> NoReturn:
        """Say what a function of the driver answered."""
        if self.is_out_of_memory(code):
            raise MemoryError(f"{name} of {self.DRIVER}")
        found = f"{code.name}: {self.error_text(code)}"
        raise TVMError(message(f"{name} of {self.DRIVER}", found=found))

    @abstractmethod
    def is_out_of_memory(self, code: Any) -> bool:
        """Whether an error says that no memory is left."""

    @abstractmethod
    def error_text(self, code: Any) -> str:
        """The driver's words for an error."""

    @abstractmethod
    def _find_devices(self) -> list[Any]:
        """The driver's devices; none where no driver is."""

    @abstractmethod
    def make_current(self, index: int) -> None:
        """Make a device the one that the driver's functions mean."""

    @abstractmethod
    def allow_shared(self, function: Any, nbytes: int) -> None:
        """Let blocks of a kernel have more shared memory than they have without asking."""

    @abstractmethod
    def compiled(self, module: DeviceModule, index: int) -> bytes:
        """The binary of a module's kernels for a device."""

    def count(self) -> int:
        return len(self._devices)

    def _enter(self, index: int) -> int:
        """Make a device the current one; the stream of this thread."""
        self.make_current(index)  # others in this process change it
        return int(self._stream_of_thread(self._type, index) or 0)

    def memory(self, index: int) -> tuple[int, int]:
        """Bytes of a device that are free, and all."""
        self._enter(index)
        free, total = self.call("MemGetInfo")
        return int(free), int(total)

    # --- memory ---

    def allocate(self, index: int, nbytes: int) -> int:
        self._enter(index)
        return int(self.call("MemAlloc", nbytes))

    def release(self, index: int, address: int) -> None:
        self._enter(index)
        self.call("MemFree", address)

    def write(self, index: int, address: int, data: memoryview) -> None:
        stream = self._enter(index)
        self.call("MemcpyHtoDAsync", address, _start(data), data.nbytes, stream)
        self.call("StreamSynchronize", stream)  # the bytes are the caller's again

    def read(self, index: int, address: int, into: memoryview) -> None:
        stream = self._enter(index)
        self.call("MemcpyDtoHAsync", _start(into), address, into.nbytes, stream)
        self.call("StreamSynchronize", stream)

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        stream = self._enter(index)
        self.call("MemcpyDtoDAsync", target, source, nbytes, stream)

    # --- streams ---

    def current_stream(self, index: int) -> int:
        return int(self._stream_of_thread(self._type, index) or 0)

    def create_stream(self, index: int) -> int:
        self._enter(index)
        return int(self.call("StreamCreate", 0))

    def free_stream(self, index: int, stream: int) -> None:
        if stream:
            super().free_stream(index, stream)
            self.call("StreamDestroy", stream)

    def set_stream(self, index: int, stream: int) -> None:
        before = self._enter(index)
        if before != stream:  # what was queued there comes before what comes here
            event = self.call("EventCreate", _NO_TIMING)
            self.call("EventRecord", event, before)
            self.call("StreamWaitEvent", stream, event, 0)
            self.call("EventDestroy", event)
        library().core._env_set_current_stream(self._type, index, stream)

    def sync(self, index: int, stream: int) -> None:
        current = self._enter(index)
        self.call("StreamSynchronize", stream or current)

    # --- time, and launches that are repeated ---

    def seconds(self, index: int, work: Callable[[], None]) -> float:
        """Seconds that the device takes for what `work` queues, by its own clock."""
        stream = self._enter(index)
        start, end = (self.call("EventCreate", 0) for _ in range(2))
        try:
            self.call("EventRecord", start, stream)
            work()
            self._enter(index)
            self.call("EventRecord", end, stream)
            self.call("EventSynchronize", end)
            return float(self.call("EventElapsedTime", start, end)) / 1000
        finally:
            for event in (start, end):
                self.call("EventDestroy", event)

    def relaxed(self) -> Any:
        """The mode of a capture that asks nothing of other threads."""
        kind, _, mode = self.RELAXED.partition(".")
        return getattr(getattr(self.driver, kind), mode)

    def record(self, index: int, work: Callable[[], Any]) -> tuple[Any, Callable[[], None]]:
        """What `work` returns, and a function that repeats its launches by one graph of them."""
        outside = self._enter(index)
        stream = int(self.call("StreamCreate", _NON_BLOCKING))
        set_stream = library().core._env_set_current_stream
        set_stream(self._type, index, stream)
        graph = None
        try:
            self.call("StreamBeginCapture", stream, self.relaxed())
            try:
                with self._memory_held() as held:
                    result = work()
            finally:
                self._enter(index)
                graph = self.call("StreamEndCapture", stream)
            ready = self.call("GraphInstantiate", graph, 0)
        finally:
            set_stream(self._type, index, outside)
            if graph is not None:
                self.call("GraphDestroy", graph)
            self._share_pool_of(index, stream)
            self.call("StreamDestroy", stream)

        def repeat() -> None:
            self.call("GraphLaunch", ready, self._enter(index))

        def end() -> None:
            self._enter(index)
            self.call("GraphExecDestroy", ready)
            for number, address, size in held:
                self.give(number, address, size)

        weakref.finalize(repeat, end).atexit = False  # the device goes with the process
        return result, repeat

    # --- kernels ---

    def kernel(self, index: int, module: DeviceModule, name: str) -> Kernel:
        binary = self.compiled(module, index)
        return self.kernel_of(index, binary, name, module.kernels[name].arg_types)

    def kernel_of(self, index: int, binary: bytes, name: str, kinds: Sequence[str]) -> Kernel:
        """A kernel of a binary that the driver loads, on a device."""
        self._enter(index)
        loaded = self._loaded(binary, index)
        function = self.call("ModuleGetFunction", loaded, name.encode())
        return _Kernel(self, index, name, function, kinds)

    def enter(self, index: int) -> int:
        return self._enter(index)

    def prepared(
        self, index: int, kernel: Kernel, kinds: Sequence[str], args: Sequence[Any],
        extents: dict[str, int],
    ) -> Prepared:  # fmt: skip
        assert isinstance(kernel, _Kernel), "made by kernel_of"
        return kernel.prepared(kinds, args, extents)

    @functools.lru_cache(maxsize=256)  # noqa: B019 -- the API lives as long as the process
    def _loaded(self, binary: bytes, index: int) -> Any:
        return self.call("ModuleLoadData", binary + b"\0")


class _Kernel:
    """A function of a loaded module; every argument has eight bytes of one buffer."""

    def __init__(
        self, api: PointerAPI, index: int, name: str, function: Any, kinds: Sequence[str]
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
                self._api.allow_shared(self._function, shared)
                self._shared = shared
            self._layout.pack_into(self._bytes, 0, *values)
            try:
                self._api.call("LaunchKernel", self._function, *dims, shared, stream,
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
        numbers = [n for n, kind in enumerate(kinds) if kind == "handle"]
        queue, function = self._api.function("LaunchKernel"), self._function

        def launch(stream: int, addresses: Sequence[int], keep: Any = pointers) -> None:
            for number, address in zip(numbers, addresses):
                held[number] = address
            (code,) = queue(function, *dims, shared, stream, at, 0)
            if code != 0:
                self._api.failed(f"LaunchKernel of {self._name!r}", code)

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


_FLOATS: Final = {
    "float16": struct.Struct("<e"), "float32": struct.Struct("<f"), "float64": struct.Struct("<d"),
}  # fmt: skip
_NON_BLOCKING: Final = 1
_NO_TIMING: Final = 2
