"""Apple's GPUs, by pyobjc: Metal's buffers, and kernels whose text is compiled when first launched.

Memory is shared with the host. Launches are recorded into one command buffer, which is handed over
when something is read, written or waited for, or when many have gathered.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.runtime._tensor import numpy_dtype
from tvm.runtime.attributes import DeviceAttr

from .addresses import ADDRESSES
from .api import DeviceAPI, Kernel, MissingLibrary, address_of

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule

_MAX_BATCH: Final = 64  # launches that are handed over at once, at most
_SIMDGROUP: Final = 32  # threads; all of Apple's GPUs have so many


class MetalAPI(DeviceAPI):
    """Each device has one queue."""

    kind: ClassVar[str] = "metal"

    def __init__(self) -> None:
        super().__init__()
        try:
            import Metal
        except ImportError as err:
            raise MissingLibrary("pyobjc-framework-Metal is not installed") from err
        self.metal: Final[Any] = Metal
        self._devices: Final = [_Device(Metal, one) for one in Metal.MTLCopyAllDevices() or ()]

    def count(self) -> int:
        return len(self._devices)

    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        if index >= len(self._devices):
            return False if attr is DeviceAttr.EXIST else None
        device = self._devices[index].device
        most = device.maxThreadsPerThreadgroup()
        working_set = int(device.recommendedMaxWorkingSetSize())
        return {
            DeviceAttr.EXIST: True,
            DeviceAttr.MAX_THREADS_PER_BLOCK: int(most.width),
            DeviceAttr.MAX_THREAD_DIMENSIONS: [int(most.width), int(most.height), int(most.depth)],
            DeviceAttr.WARP_SIZE: _SIMDGROUP,
            DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK: int(device.maxThreadgroupMemoryLength()),
            DeviceAttr.DEVICE_NAME: str(device.name()),
            DeviceAttr.TOTAL_GLOBAL_MEMORY: working_set,
            DeviceAttr.AVAILABLE_GLOBAL_MEMORY: working_set - int(device.currentAllocatedSize()),
        }.get(attr)

    # --- memory ---

    def allocate(self, index: int, nbytes: int) -> int:
        device = self._devices[index]
        made = device.device.newBufferWithLength_options_(
            nbytes, self.metal.MTLResourceStorageModeShared
        )
        if made is None:
            raise MemoryError(f"{device.device.name()} gives no {nbytes:,} bytes")
        return ADDRESSES.assign(_Buffer(index, made, nbytes))

    def release(self, index: int, address: int) -> None:
        self._devices[index].flush()  # what was recorded may use it, and holds it from there on
        ADDRESSES.forget(address)

    def write(self, index: int, address: int, data: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        self._devices[index].wait()
        buffer.bytes[offset : offset + len(data)] = data

    def read(self, index: int, address: int, into: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        self._devices[index].wait()
        into[:] = buffer.bytes[offset : offset + len(into)]

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        (old, start), (new, to) = ADDRESSES.find(source), ADDRESSES.find(target)
        self._devices[index].copy(old.whole, start, new.whole, to, nbytes)

    def sync(self, index: int, stream: int) -> None:
        self._devices[index].wait()

    # --- kernels ---

    def kernel(self, index: int, module: DeviceModule, name: str) -> Kernel:
        device = self._devices[index]
        return _Kernel(device, index, device.pipeline(module.source, name), name,
                       module.kernels[name].arg_types).launch  # fmt: skip

    def device_of(self, address: int) -> int:
        buffer: _Buffer = ADDRESSES.find(address)[0]
        return buffer.index


class _Buffer:
    """A buffer of a device, and its bytes as the host sees them."""

    def __init__(self, index: int, whole: Any, nbytes: int) -> None:
        self.index = index
        self.whole = whole
        self.bytes = memoryview(whole.contents().as_buffer(nbytes)).cast("B")


class _Device:
    """A device with its queue, and what has been recorded for it."""

    def __init__(self, metal: Any, device: Any) -> None:
        self.metal = metal
        self.device = device
        self._queue = device.newCommandQueue()
        self._commands: Any = None  # the command buffer that is being recorded
        self._encoder: Any = None  # of launches, while no copy came between
        self._last: Any = None  # the command buffer that was handed over last
        self._recorded = 0
        self._lock = threading.RLock()

    def _begin(self) -> Any:
        if self._commands is None:
            self._commands = self._queue.commandBuffer()
        return self._commands

    def _end_launches(self) -> None:
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            encoder.endEncoding()

    def launch(
        self, pipeline: Any, arguments: Sequence[Any], blocks: tuple[int, ...],
        threads: tuple[int, ...],
    ) -> None:  # fmt: skip
        """Record a launch; arguments are (buffer, offset) or bytes."""
        with self._lock:
            commands = self._begin()
            if self._encoder is None:
                self._encoder = commands.computeCommandEncoder()
            encoder = self._encoder
            encoder.setComputePipelineState_(pipeline)
            for number, given in enumerate(arguments):
                if isinstance(given, bytes):
                    encoder.setBytes_length_atIndex_(given, len(given), number)
                else:
                    encoder.setBuffer_offset_atIndex_(*given, number)
            make = self.metal.MTLSizeMake
            encoder.dispatchThreadgroups_threadsPerThreadgroup_(make(*blocks), make(*threads))
            self._recorded += 1
            if self._recorded >= _MAX_BATCH:
                self.flush()

    def copy(self, old: Any, start: int, new: Any, to: int, nbytes: int) -> None:
        """Record a copy of bytes from one buffer to another."""
        with self._lock:
            self._end_launches()
            encoder = self._begin().blitCommandEncoder()
            encoder.copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size_(
                old, start, new, to, nbytes
            )
            encoder.endEncoding()

    def flush(self) -> None:
        """Hand over what is recorded."""
        with self._lock:
            self._end_launches()
            commands, self._commands, self._recorded = self._commands, None, 0
            if commands is not None:
                commands.commit()
                self._last = commands

    def wait(self) -> None:
        """Hand over what is recorded, and wait until it is done."""
        with self._lock:
            self.flush()
            last, self._last = self._last, None
            if last is None:
                return
            last.waitUntilCompleted()
            error = last.error()
        if error is not None:
            raise TVMError(message("kernels on Metal", found=_said(error)))

    @functools.lru_cache(maxsize=256)  # noqa: B019 -- devices live as long as the process
    def _library(self, source: str) -> Any:
        options = self.metal.MTLCompileOptions.new()
        # sums that round, and tests for what is not a number, mean what is written
        options.setFastMathEnabled_(False)
        made, error = self.device.newLibraryWithSource_options_error_(source, options, None)
        if made is None:
            raise TVMError(
                message(
                    f"compile kernels for {self.device.name()}",
                    found=_said(error)[:2000],
                    legal="Metal that its compiler takes",
                )
            )
        return made

    def pipeline(self, source: str, name: str) -> Any:
        """A kernel that is ready to be launched."""
        function = self._library(source).newFunctionWithName_(name)
        made, error = self.device.newComputePipelineStateWithFunction_error_(function, None)
        if made is None:
            raise TVMError(message(f"make kernel {name!r} ready", found=_said(error)[:2000]))
        return made


class _Kernel:
    """A pipeline and the layout of its arguments: memory first, then a structure of numbers."""

    def __init__(
        self, device: _Device, index: int, pipeline: Any, name: str, kinds: Sequence[str]
    ) -> None:
        self._device = device
        self._index = index
        self._pipeline = pipeline
        self._name = name
        self._kinds = kinds
        fields = [(f"f{n}", numpy_dtype("int8" if kind == "bool" else kind))
                  for n, kind in enumerate(kinds) if kind != "handle"]  # fmt: skip
        self._numbers = np.dtype(fields, align=True) if fields else None

    def launch(self, args: Sequence[Any], extents: dict[str, int]) -> None:
        """Record a launch."""
        blocks, threads = (
            tuple(extents[f"{where}.{axis}"] for axis in "xyz")
            for where in ("blockIdx", "threadIdx")
        )
        most = int(self._pipeline.maxTotalThreadsPerThreadgroup())
        if threads[0] * threads[1] * threads[2] > most:
            raise TVMError(
                message(
                    f"launch kernel {self._name!r}",
                    found=f"{blocks} blocks of {threads} threads",
                    legal=f"{most} threads of a block, which its registers leave room for",
                )
            )
        given: list[Any] = [self._memory(a) for k, a in zip(self._kinds, args) if k == "handle"]
        if self._numbers is not None:
            values = tuple(a for k, a in zip(self._kinds, args) if k != "handle")
            given.append(np.array([values], self._numbers).tobytes())
        self._device.launch(self._pipeline, given, blocks, threads)

    def _memory(self, arg: Any) -> tuple[Any, int]:
        address = address_of(arg)
        if not address:
            return None, 0
        buffer, offset = ADDRESSES.find(address)
        if buffer.index != self._index:
            raise TVMError(
                message(
                    f"launch kernel {self._name!r} on metal:{self._index}",
                    found=f"memory of metal:{buffer.index}",
                    legal="all memory of a launch on one device",
                )
            )
        return buffer.whole, offset


def _said(error: Any) -> str:
    """The words of an NSError."""
    return "no reason" if error is None else str(error.localizedDescription())
