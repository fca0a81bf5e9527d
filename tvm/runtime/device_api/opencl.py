"""OpenCL devices, by pyopencl. Devices of all platforms count through: GPUs, others, CPUs."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from tvm.error import TVMError, message
from tvm.runtime._tensor import numpy_dtype
from tvm.runtime.attributes import DeviceAttr

from .addresses import ADDRESSES
from .api import DeviceAPI, Kernel, MissingLibrary, Prepared, address_of

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule

_KHZ: Final = 1000  # a clock is told in MHz


class OpenCLAPI(DeviceAPI):
    """A context and a queue for each device; what is queued runs in order."""

    kind: ClassVar[str] = "opencl"

    def __init__(self) -> None:
        super().__init__()
        try:
            import pyopencl
        except ImportError as err:
            raise MissingLibrary("pyopencl is not installed") from err
        self.cl: Final[Any] = pyopencl
        self._devices: Final = self._find_devices()
        self._streams: dict[int, Any] = {}
        self._current = threading.local()

    def _find_devices(self) -> list[Any]:
        cl = self.cl
        try:
            platforms = cl.get_platforms()
        except cl.Error:  # no driver is installed
            return []
        found = []
        for platform in platforms:
            try:
                found += platform.get_devices()
            except cl.Error:
                continue  # a driver without its device
        kinds = cl.device_type

        def order(device: Any) -> int:
            return 0 if device.type & kinds.GPU else 2 if device.type & kinds.CPU else 1

        return sorted(filter(self._compiles, found), key=order)

    def _compiles(self, device: Any) -> bool:
        """Whether a driver for CPUs makes code for this one: an old one may not know it."""
        cl = self.cl
        if not device.type & cl.device_type.CPU:
            return True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            try:
                cl.Program(cl.Context([device]), "__kernel void nothing() {}").build()
            except cl.Error as err:
                reason = next((x for x in str(err).splitlines() if "error:" in x), str(err))
                self.unusable.append(f"{device.platform.name.strip()}: {reason.strip()}")
                return False
        return True

    def count(self) -> int:
        return len(self._devices)

    def takes_spirv(self, index: int) -> bool:
        """Whether the driver of a device loads SPIR-V."""
        device = self._devices[index]
        told = "SPIR-V" in str(getattr(device, "il_version", ""))
        return told or "cl_khr_il_program" in device.extensions.split()

    def is_cpu(self, index: int) -> bool:
        return bool(self._devices[index].type & self.cl.device_type.CPU)

    @functools.cached_property
    def _contexts(self) -> list[Any]:
        return [self.cl.Context([device]) for device in self._devices]

    @functools.cached_property
    def _queues(self) -> list[Any]:
        return [self.cl.CommandQueue(context) for context in self._contexts]

    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        if index >= len(self._devices):
            return False if attr is DeviceAttr.EXIST else None
        device = self._devices[index]
        if attr is DeviceAttr.EXIST:
            return True
        if attr is DeviceAttr.WARP_SIZE:
            return 1  # a kernel's affair, not the device's
        if attr is DeviceAttr.COMPUTE_VERSION:
            return device.version.split(" ")[1]
        if attr is DeviceAttr.API_VERSION:
            major, minor = self.cl.get_cl_header_version()
            return major * 100 + minor * 10
        if attr is DeviceAttr.AVAILABLE_GLOBAL_MEMORY:
            return int(device.global_mem_size) - self.memory_in_use(index)
        name = _ATTRIBUTES.get(attr)
        if name is None:
            return None
        value = getattr(device, name)
        if attr is DeviceAttr.MAX_CLOCK_RATE:
            return int(value) * _KHZ
        if attr is DeviceAttr.MAX_THREAD_DIMENSIONS:
            return [int(extent) for extent in value]
        return value if isinstance(value, str) else int(value)

    # --- memory ---

    def allocate(self, index: int, nbytes: int) -> int:
        cl = self.cl
        device = self._devices[index]
        try:
            if nbytes > device.max_mem_alloc_size:
                raise MemoryError(f"{device.name} gives {device.max_mem_alloc_size:,} at a time")
            buffer = cl.Buffer(self._contexts[index], cl.mem_flags.READ_WRITE, nbytes)
        except (cl.MemoryError, cl.LogicError, cl.RuntimeError) as err:
            raise MemoryError(str(err)) from err
        return ADDRESSES.assign(_Buffer(self, index, buffer))

    def release(self, index: int, address: int) -> None:
        ADDRESSES.forget(address).whole.release()

    def write(self, index: int, address: int, data: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        self.cl.enqueue_copy(self._queue(index), buffer.whole, data, dst_offset=offset)

    def read(self, index: int, address: int, into: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        self.cl.enqueue_copy(self._queue(index), into, buffer.whole, src_offset=offset)

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        (old, start), (new, to) = ADDRESSES.find(source), ADDRESSES.find(target)
        self.cl.enqueue_copy(
            self._queue(index), new.whole, old.whole, byte_count=nbytes, src_offset=start,
            dst_offset=to,
        )  # fmt: skip

    # --- streams ---

    def _queue(self, index: int) -> Any:
        stream = self.current_stream(index)
        return self._streams[stream] if stream else self._queues[index]

    def current_stream(self, index: int) -> int:
        return int(getattr(self._current, "streams", {}).get(index, 0))

    def create_stream(self, index: int) -> int:
        queue = self.cl.CommandQueue(self._contexts[index])
        self._streams[queue.int_ptr] = queue
        return int(queue.int_ptr)

    def free_stream(self, index: int, stream: int) -> None:
        super().free_stream(index, stream)
        self._streams.pop(stream, None)

    def set_stream(self, index: int, stream: int) -> None:
        if stream and stream not in self._streams:
            raise self.no_stream(index, stream)
        self._queue(index).flush()  # what is queued there comes before what comes here
        self._current.streams = {**getattr(self._current, "streams", {}), index: stream}

    def sync(self, index: int, stream: int) -> None:
        queue = self._streams.get(stream) if stream else self._queue(index)
        if queue is not None:
            queue.finish()

    # --- kernels ---

    def kernel(self, index: int, module: DeviceModule, name: str) -> Kernel:
        code = module.binary or module.source  # SPIR-V, or OpenCL C
        ready = self.cl.Kernel(self._program(code, index), name)
        return _Kernel(self, index, ready, module.kernels[name].arg_types).launch

    def prepared(
        self, index: int, kernel: Kernel, kinds: Sequence[str], args: Sequence[Any],
        extents: dict[str, int],
    ) -> Prepared:  # fmt: skip
        own: Any = getattr(kernel, "__self__", None)
        assert isinstance(own, _Kernel), "made by `kernel`"
        return _Prepared(own, args, extents).launch

    def device_of(self, address: int) -> int:
        buffer: _Buffer = ADDRESSES.find(address)[0]
        return buffer.index

    @functools.lru_cache(maxsize=256)  # noqa: B019 -- the API lives as long as the process
    def _program(self, source: str | bytes, index: int) -> Any:
        cl, device = self.cl, self._devices[index]
        if isinstance(source, bytes) and not self.takes_spirv(index):
            raise TVMError(
                message(
                    f"kernels in SPIR-V for {device.name}",
                    found=f"a driver without SPIR-V: {device.platform.name.strip()}",
                    legal="a target without -mtriple, whose kernels are OpenCL C",
                )
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            try:
                return cl.Program(self._contexts[index], source).build()
            except cl.RuntimeError as err:
                raise TVMError(
                    message(
                        f"compile kernels for {device.name}",
                        found=str(err)[:2000],
                        legal="OpenCL C or SPIR-V that its driver takes",
                    )
                ) from err


class _Buffer:
    """A buffer of a device, and its parts that kernels were given."""

    def __init__(self, api: OpenCLAPI, index: int, whole: Any) -> None:
        self.index = index
        self.whole = whole
        self.step = api._devices[index].mem_base_addr_align // 8
        self._parts: dict[int, Any] = {}

    def part(self, offset: int) -> Any:
        """The buffer from a byte on; None where the device cannot start there."""
        if offset == 0:
            return self.whole
        if offset % self.step:
            return None
        found = self._parts.get(offset)
        if found is None:
            found = self._parts[offset] = self.whole[offset:]
        return found


class _Kernel:
    """A kernel of a built program; setting its arguments and the launch are one step."""

    def __init__(self, api: OpenCLAPI, index: int, kernel: Any, kinds: tuple[str, ...]) -> None:
        self._api = api
        self._index = index
        self._kernel = kernel
        self._types = [None if kind == "handle" else numpy_dtype(kind) for kind in kinds]
        self._lock = threading.Lock()

    def again(self) -> Any:
        """The same kernel, with arguments of its own."""
        kernel = self._kernel
        return self._api.cl.Kernel(kernel.program, kernel.function_name)

    def launch(self, args: Any, extents: dict[str, int]) -> None:
        cl, kernel, queue = self._api.cl, self._kernel, self._api._queue(self._index)
        moved: list[_Moved] = []
        threads = tuple(extents[f"threadIdx.{axis}"] for axis in "xyz")
        blocks = tuple(extents[f"blockIdx.{axis}"] for axis in "xyz")
        with self._lock:
            for number, (dtype, arg) in enumerate(zip(self._types, args)):
                kernel.set_arg(number, self._memory(arg, args, moved) if dtype is None else (
                    np.array(arg).astype(dtype)))  # fmt: skip
            try:
                cl.enqueue_nd_range_kernel(
                    queue, kernel, tuple(b * t for b, t in zip(blocks, threads)), threads
                )
            except (cl.RuntimeError, cl.LogicError) as err:
                raise TVMError(
                    message(
                        f"launch kernel {kernel.function_name!r}",
                        found=f"{err}: {blocks} blocks of {threads} threads",
                        legal="what the device has room for",
                    )
                ) from err
        for one in moved:
            self._api.copy(self._index, one.copied, one.own, one.nbytes)
            self._api.give(self._index, one.copied, one.room)

    def _memory(self, arg: Any, args: Any, moved: list[_Moved]) -> Any:
        """The memory of an argument; a copy where a device cannot start at that byte."""
        address = address_of(arg)
        if not address:
            return None
        buffer, offset = ADDRESSES.find(address)
        if buffer.index != self._index:
            raise TVMError(
                message(
                    f"launch kernel {self._kernel.function_name!r} on opencl:{self._index}",
                    found=f"memory of opencl:{buffer.index}",
                    legal="all memory of a launch on one device",
                )
            )
        part = buffer.part(offset)
        if part is not None:
            return part
        if sum(buffer is other for other in self._buffers(args)) > 1:
            raise TVMError(
                message(
                    f"launch kernel {self._kernel.function_name!r}",
                    found=f"several tensors in one buffer, one from its byte {offset} on",
                    legal=f"starts at multiples of {buffer.step} bytes, or a buffer for each",
                )
            )
        nbytes = buffer.whole.size - offset
        copied, room = self._api.take(self._index, nbytes)
        self._api.copy(self._index, address, copied, nbytes)
        moved.append(_Moved(address, copied, nbytes, room))
        return ADDRESSES.find(copied)[0].whole

    def _buffers(self, args: Any) -> list[Any]:
        """The buffers of the arguments that are memory."""
        pointers = [address_of(arg) for dtype, arg in zip(self._types, args) if dtype is None]
        return [ADDRESSES.find(pointer)[0] for pointer in pointers if pointer]


class _Prepared:
    """A launch that has been made once: a kernel of its own, which keeps what it was given."""

    def __init__(self, made: _Kernel, args: Sequence[Any], extents: dict[str, int]) -> None:
        self._made = made
        self._given = list(args)
        self._extents = extents
        self._api = made._api
        self._kernel = made.again()
        self._threads = tuple(extents[f"threadIdx.{axis}"] for axis in "xyz")
        blocks = (extents[f"blockIdx.{axis}"] for axis in "xyz")
        self._all = tuple(b * t for b, t in zip(blocks, self._threads))
        self._pointers = [n for n, dtype in enumerate(made._types) if dtype is None]
        self._held: list[Any] = [None] * len(self._pointers)  # what its arguments are
        for number, (dtype, arg) in enumerate(zip(made._types, args)):
            if dtype is not None:
                self._kernel.set_arg(number, np.array(arg).astype(dtype))

    def launch(self, stream: int, addresses: Sequence[int]) -> None:
        """Queue the launch; one whose memory needs a copy goes the long way."""
        for n, address in enumerate(addresses):
            buffer, offset = ADDRESSES.find(address) if address else (None, 0)
            part = None if buffer is None else buffer.part(offset)
            if part is self._held[n] and part is not None:
                continue
            if part is None or buffer is None or buffer.index != self._made._index:
                self._whole(addresses)
                return
            self._kernel.set_arg(self._pointers[n], part)
            self._held[n] = part
        queue = self._api._queue(self._made._index)
        self._api.cl.enqueue_nd_range_kernel(queue, self._kernel, self._all, self._threads)

    def _whole(self, addresses: Sequence[int]) -> None:
        for to, address in zip(self._pointers, addresses):
            self._given[to] = address
        self._made.launch(self._given, self._extents)


class _Moved(NamedTuple):
    """Memory that a kernel gets as a copy: addresses, bytes, and bytes taken for the copy."""

    own: int
    copied: int
    nbytes: int
    room: int


_ATTRIBUTES: Final = {
    DeviceAttr.MAX_THREADS_PER_BLOCK: "max_work_group_size",
    DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK: "local_mem_size",
    DeviceAttr.DEVICE_NAME: "name",
    DeviceAttr.MAX_CLOCK_RATE: "max_clock_frequency",
    DeviceAttr.MULTI_PROCESSOR_COUNT: "max_compute_units",
    DeviceAttr.MAX_THREAD_DIMENSIONS: "max_work_item_sizes",
    DeviceAttr.DRIVER_VERSION: "driver_version",
    DeviceAttr.L2_CACHE_SIZE_BYTES: "global_mem_cache_size",
    DeviceAttr.TOTAL_GLOBAL_MEMORY: "global_mem_size",
    DeviceAttr.IMAGE_SPATIAL_LIMIT: "image2d_max_height",
}
