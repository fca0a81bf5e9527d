"""What a kind of device answers, and what all kinds have in common: pooled memory, tensors."""

from __future__ import annotations

import math
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.runtime._device import Device
from tvm.runtime._tensor import (
    Tensor,
    from_host,
    host_anchor,
    host_view,
    refuse_size,
    tensor_at,
)
from tvm.runtime.attributes import DeviceAttr
from tvm.support.dtype import DataType

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule
    from tvm.support.kernel_info import KernelInfo

ALIGNMENT: Final = 256  # bytes; what kinds ask of a part of a buffer at most
_KEPT_SHARE: Final = 0.25  # of a device's memory may wait in the pool
_UNKNOWN_MEMORY: Final = 1 << 30


class MissingLibrary(Exception):
    """The library that drives a kind is not installed; its text says which."""


# What launches a kernel that is ready: a function of its arguments and the extents by thread tag.
Kernel = Callable[[Sequence[Any], dict[str, int]], None]

# A launch of which all but the addresses is known: a function of the stream, as `enter` gave it,
# and of the addresses.
Prepared = Callable[[int, Sequence[int]], None]


class DeviceAPI(ABC):
    """Drives all devices of one kind. Addresses are numbers, whatever the kind calls memory."""

    kind: ClassVar[str]
    launch_tags: ClassVar[tuple[str, ...]] = ()  # what a launch is told besides its extents

    def __init__(self) -> None:
        self._pool: dict[tuple[int, int, int], list[int]] = {}  # (device, stream, bytes) -> free
        self._streams_of: dict[int, int] = {}  # address -> the stream it was first taken in
        self._waiting = 0  # bytes in the pool
        self._in_use: dict[int, int] = {}  # bytes by device, the pool's left out
        self._max_waiting: dict[int, float] = {}  # bytes by device that the pool may hold
        self._held = threading.local()  # memory that a recording of this thread has used
        self._lock = threading.RLock()
        self.unusable: list[str] = []  # drivers that are here and cannot be used, with the reason

    # --- what a kind answers ---

    @abstractmethod
    def count(self) -> int:
        """How many devices there are."""

    @abstractmethod
    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        """An attribute of a device; None where the kind does not tell."""

    def is_cpu(self, index: int) -> bool:
        """Whether a device is the CPU by a driver for it, and no machine of its own."""
        return False

    @abstractmethod
    def allocate(self, index: int, nbytes: int) -> int:
        """The address of new memory; MemoryError where there is none."""

    @abstractmethod
    def release(self, index: int, address: int) -> None:
        """Give memory back to the device."""

    @abstractmethod
    def write(self, index: int, address: int, data: memoryview) -> None:
        """Copy bytes of the host to the device."""

    @abstractmethod
    def read(self, index: int, address: int, into: memoryview) -> None:
        """Copy bytes of the device to the host, after all work before is done."""

    @abstractmethod
    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        """Copy bytes within a device, in the order of its work."""

    @abstractmethod
    def kernel(self, index: int, module: DeviceModule, name: str) -> Kernel:
        """A kernel made ready for a device."""

    @abstractmethod
    def device_of(self, address: int) -> int:
        """The device that memory is on."""

    @abstractmethod
    def sync(self, index: int, stream: int) -> None:
        """Wait until the work of a stream is done."""

    def create_stream(self, index: int) -> int:
        """A new stream of work; kinds that have one only give that."""
        return 0

    def free_stream(self, index: int, stream: int) -> None:
        """Give a stream back when its work is done."""
        self.sync(index, stream)
        self._share_pool_of(index, stream)

    def _share_pool_of(self, index: int, stream: int) -> None:
        """The memory of a stream that is gone is for all."""
        with self._lock:
            gone = [key for key in self._pool if key[:2] == (index, stream) and stream]
            for key in gone:
                self._pool.setdefault((index, 0, key[2]), []).extend(self._pool.pop(key))
            for address in [a for a, s in self._streams_of.items() if s == stream]:
                del self._streams_of[address]

    def set_stream(self, index: int, stream: int) -> None:
        """Make a stream the one that following work of this thread goes to."""
        if stream:
            raise self.no_stream(index, stream)

    def current_stream(self, index: int) -> int:
        """The stream that work of this thread goes to."""
        return 0

    def no_stream(self, index: int, stream: int) -> TVMError:
        """What to say of a stream that a device does not have."""
        return TVMError(
            message(
                f"set_raw_stream of {self.kind}:{index}",
                found=f"{stream:#x}, no stream of it",
                legal="what create_raw_stream gave; 0 is the first",
            )
        )

    # --- kernels ---

    def launcher(self, module: DeviceModule, name: str) -> Callable[..., None]:
        """A kernel as a function of its arguments and then the extents of a launch.

        It runs on the device that its first memory is on.
        """
        return self.launcher_of(
            name, module.kernels[name], lambda index: self.kernel(index, module, name)
        )

    def launcher_of(
        self, name: str, info: KernelInfo, make: Callable[[int], Kernel]
    ) -> Callable[..., None]:
        """A kernel that `make` readies for a device, as a function like that of `launcher`."""
        ready: dict[int, Kernel] = {}
        tags = info.launch_param_tags
        handles = [i for i, kind in enumerate(info.arg_types) if kind == "handle"]

        def launch(*args: Any) -> None:
            given, extents = split_arguments(name, info.arg_types, tags, args, self.launch_tags)
            if 0 in [extents[axis] for axis in AXES]:
                return
            address = next(filter(None, (address_of(given[i]) for i in handles)), 0)
            index = self.device_of(address) if address else 0
            kernel = ready.get(index)
            if kernel is None:
                kernel = ready[index] = make(index)
            kernel(given, extents)
            notes = getattr(self._held, "notes", None)
            if notes is not None:
                notes.launched(index, kernel, info.arg_types, given, extents)

        return launch

    # --- launches that are known before ---

    def notes(self) -> Any:
        """Who notes what this thread asks of the devices, if anybody does."""
        return getattr(self._held, "notes", None)

    def set_notes(self, notes: Any) -> None:
        """Tell `notes` of memory that this thread takes and of its launches; None ends that."""
        self._held.notes = notes

    def enter(self, index: int) -> int:
        """Make a device ready for this thread's prepared launches; the stream they go to."""
        return self.current_stream(index)

    def prepared(
        self, index: int, kernel: Kernel, kinds: Sequence[str], args: Sequence[Any],
        extents: dict[str, int],
    ) -> Prepared:  # fmt: skip
        """A launch whose pointers are given later; one that runs at a time."""
        pointers = [n for n, kind in enumerate(kinds) if kind == "handle"]
        given = list(args)

        def launch(stream: int, addresses: Sequence[int]) -> None:
            for number, address in zip(pointers, addresses):
                given[number] = address
            kernel(given, extents)

        return launch

    # --- time, and launches that are repeated ---

    def seconds(self, index: int, work: Callable[[], None]) -> float:
        """Seconds that a device takes for what `work` queues."""
        self.sync(index, 0)
        start = time.perf_counter()
        work()
        self.sync(index, 0)
        return time.perf_counter() - start

    def record(
        self, index: int, work: Callable[[], Any]
    ) -> tuple[Any, Callable[[], None]] | None:
        """What `work` returns, and a function that repeats its launches; None where a kind of
        device cannot record launches, and nothing was done."""
        return None

    @contextmanager
    def _memory_held(self) -> Iterator[list[tuple[int, int, int]]]:
        """Within, memory that this thread gives back is listed, and stays taken."""
        held: list[tuple[int, int, int]] = []
        self._held.memory = held
        try:
            yield held
        finally:
            self._held.memory = None

    # --- memory ---

    def take(self, index: int, nbytes: int) -> tuple[int, int]:
        """Memory from the pool or the device: its address, and how many bytes it really has.

        What waits in the pool may still be in use by queued work, so it returns to its stream.
        """
        size, stream = _rounded(nbytes), self.current_stream(index)
        with self._lock:
            free = self._pool.get((index, stream, size))
            if free:
                self._waiting -= size
                address = free.pop()
            else:
                address = self._allocate(index, size)
                if stream:
                    self._streams_of[address] = stream
            self._in_use[index] = self._in_use.get(index, 0) + size
        notes = getattr(self._held, "notes", None)
        if notes is not None:
            notes.took(address, size)
        return address, size

    def _allocate(self, index: int, size: int) -> int:
        try:
            return self.allocate(index, size)
        except MemoryError:
            self.drop_pool()
            return self.allocate(index, size)

    def give(self, index: int, address: int, size: int) -> None:
        """Memory that `take` gave goes back to the pool, or to the device where that is full."""
        held = getattr(self._held, "memory", None)
        if held is not None:  # launches that are recorded use it whenever they are repeated
            held.append((index, address, size))
            return
        with self._lock:
            self._in_use[index] -= size
            most = self._max_waiting.get(index)
            if most is None:  # asking a driver takes longer than all the rest
                total = self.attribute(index, DeviceAttr.TOTAL_GLOBAL_MEMORY) or _UNKNOWN_MEMORY
                most = self._max_waiting[index] = _KEPT_SHARE * total
            if self._waiting + size > most:
                self._streams_of.pop(address, None)
                self.release(index, address)
            else:
                key = (index, self._streams_of.get(address, 0), size)
                self._pool.setdefault(key, []).append(address)
                self._waiting += size

    def drop_pool(self) -> None:
        """Give the memory that waits for reuse back to the devices."""
        with self._lock:
            for (index, _, _), addresses in self._pool.items():
                for address in addresses:
                    self._streams_of.pop(address, None)
                    self.release(index, address)
            self._pool.clear()
            self._waiting = 0

    def memory_in_use(self, index: int) -> int:
        """Bytes that tensors and workspaces have; what waits in the pool is not counted."""
        return self._in_use.get(index, 0)

    # --- tensors ---

    def empty(self, dev: Device, shape: Sequence[int], dtype: str) -> Tensor:
        """A tensor on a device whose values are not set."""
        element = DataType(dtype)
        nbytes = math.prod(shape) * element.itemsize
        try:
            address, size = self.take(dev.index, max(nbytes, 1))
        except MemoryError:
            refuse_size(shape, dtype, nbytes)
        anchor = self.owner(dev.index, address, size)
        return tensor_at(anchor, address, dev, tuple(shape), element)

    def owner(self, index: int, address: int, size: int) -> Tensor:
        """What gives memory back that `take` gave, when the last tensor over it is gone."""
        return host_anchor(_Memory(lambda: self.give(index, address, size)))

    def copy_tensor(self, source: Tensor, target: Tensor) -> None:
        """Copy between a tensor on a device of this kind and another of equal size."""
        nbytes = math.prod(target.shape) * DataType(str(target.dtype)).itemsize
        if nbytes == 0:
            return
        notes = self.notes()
        if notes is not None:
            notes.touched()
        here, there = source.device, target.device
        if here == there:
            self.copy(here.index, source.data_ptr(), target.data_ptr(), nbytes)
        elif here.type == self.kind:
            values = host_view(target) if there.type == "cpu" else np.empty(nbytes, np.uint8)
            whole = values.flags.c_contiguous
            into = values if whole else np.empty(values.shape, values.dtype)
            self.read(here.index, source.data_ptr(), _bytes(into))
            if not whole:
                np.copyto(values, into)
            if there.type != "cpu":
                tensor_bytes(values, source).copyto(target)
        else:
            values = np.ascontiguousarray(host_view(source if here.type == "cpu" else (
                source.copyto(Device("cpu")))))  # fmt: skip
            self.write(there.index, target.data_ptr(), _bytes(values))


class _Memory(bytearray):
    """A byte of the host whose end is that of memory on a device."""

    def __init__(self, back: Callable[[], None]) -> None:
        super().__init__(1)
        self._back = back

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if not ending():  # the device goes with the process
            self._back()


def tensor_bytes(values: np.ndarray[Any, Any], like: Tensor) -> Tensor:
    """Bytes as a tensor on the host of another's shape and type."""
    return tensor_at(
        from_host(values), values.ctypes.data, Device("cpu"),
        tuple(int(e) for e in like.shape), DataType(str(like.dtype)),
    )  # fmt: skip


def _bytes(values: np.ndarray[Any, Any]) -> memoryview:
    flat: Any = values.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _rounded(nbytes: int) -> int:
    """A size that several requests share: steps of an eighth from one power of two to the next."""
    least = max(nbytes, ALIGNMENT)
    step = max(1 << max(least.bit_length() - 4, 0), ALIGNMENT)
    return -(-least // step) * step


# --- launches ---


def launch_extents(
    name: str, tags: Sequence[str], given: Sequence[Any], known: Sequence[str] = ()
) -> dict[str, int]:
    """The extents of a launch by thread tag; `known` are tags besides those of the axes."""
    unknown = [tag for tag in tags if tag not in AXES and tag not in known]
    if unknown:
        raise TVMError(
            message(
                f"launch kernel {name!r}",
                found=f"launch parameters {', '.join(unknown)}",
                legal=", ".join((*AXES, *known)),
            )
        )
    return {**dict.fromkeys(AXES, 1), **dict(zip(tags, map(int, given)))}


AXES: Final = (
    "blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z",
)  # fmt: skip
DYNAMIC_SHARED: Final = "tir.use_dyn_shared_memory"  # its value in a launch: bytes a block


def split_arguments(
    name: str, kinds: Sequence[str], tags: Sequence[str], args: Sequence[Any],
    known: Sequence[str] = (),
) -> tuple[Sequence[Any], dict[str, int]]:
    """What a launch is given: arguments of the kernel, and extents by thread tag."""
    if len(args) != len(kinds) + len(tags):
        raise TVMError(
            message(
                f"launch kernel {name!r}",
                found=f"{len(args)} values",
                legal=f"{len(kinds)} arguments, then {', '.join(tags)}",
            )
        )
    return args[: len(kinds)], launch_extents(name, tags, args[len(kinds) :], known)


def address_of(arg: Any) -> int:
    """The number of a pointer."""
    return int(getattr(arg, "value", arg) or 0)
