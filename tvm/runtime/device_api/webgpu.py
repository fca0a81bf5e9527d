"""WebGPU and Vulkan devices, by wgpu-py (wgpu-native). Kernels come as WGSL.

Launches are recorded and handed over together: when something is read, written or waited for, or
when many have gathered.
"""

from __future__ import annotations

import contextlib
import functools
import re
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from tvm.error import TVMError, message
from tvm.runtime.attributes import DeviceAttr
from tvm.support.dtype import DataType

from .addresses import ADDRESSES
from .api import ALIGNMENT, DeviceAPI, Kernel, MissingLibrary, address_of

if TYPE_CHECKING:
    from tvm.runtime.device_module import DeviceModule

_MAX_BLOCKS: Final = 65535  # along an axis of a launch
_MAX_BATCH: Final = 64  # launches that are handed over at once, at most
_WORD: Final = 4  # bytes; what copies count in
_FEATURES: Final = ("shader-f16", "shader-f64", "shader-int64", "shader-float32-atomic", "subgroup")
_WIDE: Final = re.compile(r"\b[iu]64\b")
_UNIFORM_FORMATS: Final = {
    "int8": "i", "int16": "i", "int32": "i", "uint8": "I", "uint16": "I", "uint32": "I",
    "bool": "i", "float16": "e", "float32": "f", "int64": "q", "uint64": "Q", "float64": "d",
}  # fmt: skip


class WebGPUAPI(DeviceAPI):
    """Each adapter is a device with one queue."""

    kind: ClassVar[str] = "webgpu"
    BACKENDS: ClassVar[tuple[str, ...]] = ("Vulkan", "Metal", "D3D12")

    def __init__(self) -> None:
        super().__init__()
        try:
            import wgpu
        except ImportError as err:
            raise MissingLibrary("wgpu is not installed") from err
        self.gpu: Final[Any] = wgpu
        with contextlib.suppress(ImportError, RuntimeError):  # another implementation, or begun
            from wgpu.backends.wgpu_native.extras import set_instance_extras

            # OpenGL has no compute shaders worth having, and complains where there is no screen
            set_instance_extras(backends=["Vulkan", "Metal", "DX12"])
        self._devices: Final = [_Device(self, i, a) for i, a in enumerate(self._adapters())]

    def _adapters(self) -> list[Any]:
        try:
            found = self.gpu.gpu.enumerate_adapters_sync()
        except (RuntimeError, OSError):  # no driver at all
            return []
        usable = [one for one in found if one.info["backend_type"] in self.BACKENDS]
        order = {"DiscreteGPU": 0, "IntegratedGPU": 1, "VirtualGPU": 2, "CPU": 4}
        return sorted(usable, key=lambda one: order.get(one.info["adapter_type"], 3))

    def count(self) -> int:
        return len(self._devices)

    def is_cpu(self, index: int) -> bool:
        return bool(self._devices[index].adapter.info["adapter_type"] == "CPU")

    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        device = self._devices[index]
        limits = device.adapter.limits
        if attr is DeviceAttr.MAX_THREAD_DIMENSIONS:
            return [limits[f"max-compute-workgroup-size-{axis}"] for axis in "xyz"]
        if attr in _LIMITS:
            return limits[_LIMITS[attr]]
        return {
            DeviceAttr.EXIST: True,
            DeviceAttr.WARP_SIZE: 1,
            DeviceAttr.DEVICE_NAME: device.adapter.info["device"],
            DeviceAttr.DRIVER_VERSION: device.adapter.info["description"],
        }.get(attr)

    # --- memory ---

    def allocate(self, index: int, nbytes: int) -> int:
        return ADDRESSES.assign(self._devices[index].buffer(nbytes))

    def release(self, index: int, address: int) -> None:
        self._devices[index].flush()  # what was recorded may use it
        ADDRESSES.forget(address).destroy()

    def write(self, index: int, address: int, data: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        device = self._devices[index]
        first, last = offset % _WORD, -(offset + len(data)) % _WORD
        if first or last:  # copies count in words: what lies around stays
            whole = bytearray(device.read(buffer, offset - first, first + len(data) + last))
            whole[first : first + len(data)] = data
            data = memoryview(whole)
        device.write(buffer, offset - first, data)

    def read(self, index: int, address: int, into: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        first, last = offset % _WORD, -(offset + len(into)) % _WORD
        whole = self._devices[index].read(buffer, offset - first, first + len(into) + last)
        into[:] = whole[first : first + len(into)]

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        (old, start), (new, to) = ADDRESSES.find(source), ADDRESSES.find(target)
        if (start | to | nbytes) % _WORD:
            data = bytearray(nbytes)
            self.read(index, source, memoryview(data))
            self.write(index, target, memoryview(data))
        elif old is not new:
            self._devices[index].copy(old, start, new, to, nbytes)
        else:
            between, size = self.take(index, nbytes)
            buffer, _ = ADDRESSES.find(between)
            self._devices[index].copy(old, start, buffer, 0, nbytes)
            self._devices[index].copy(buffer, 0, new, to, nbytes)
            self.give(index, between, size)

    def sync(self, index: int, stream: int) -> None:
        self._devices[index].wait()

    # --- kernels ---

    def kernel(self, index: int, module: DeviceModule, name: str) -> Kernel:
        return _Kernel(self._devices[index], module, name).launch

    def device_of(self, address: int) -> int:
        buffer, _ = ADDRESSES.find(address)
        return next(n for n, one in enumerate(self._devices) if one.made(buffer))


class VulkanAPI(WebGPUAPI):
    """Vulkan's devices: 64-bit numbers where the device has them."""

    kind: ClassVar[str] = "vulkan"
    BACKENDS: ClassVar[tuple[str, ...]] = ("Vulkan",)


class _Device:
    """An adapter with its queue, and what has been recorded for it."""

    def __init__(self, api: WebGPUAPI, index: int, adapter: Any) -> None:
        self.api = api
        self.index = index
        self.adapter = adapter
        self._encoder: Any = None
        self._recorded = 0

    @functools.cached_property
    def device(self) -> Any:
        """The device itself, opened at first use with all that it can."""
        adapter = self.adapter
        limits = {name: value for name, value in adapter.limits.items() if value is not None}
        return adapter.request_device_sync(
            required_features=[f for f in _FEATURES if f in adapter.features],
            required_limits=limits,
        )

    @property
    def step(self) -> int:
        """Where a binding may start: multiples of this many bytes."""
        return int(self.adapter.limits["min-storage-buffer-offset-alignment"])

    def buffer(self, nbytes: int) -> Any:
        """A new buffer; MemoryError where there is no room."""
        if nbytes > self.adapter.limits["max-buffer-size"]:
            raise MemoryError(f"buffers have {self.adapter.limits['max-buffer-size']:,} at most")
        usage = self.api.gpu.BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        try:
            return self.device.create_buffer(size=-(-nbytes // ALIGNMENT) * ALIGNMENT, usage=flags)
        except self.api.gpu.GPUOutOfMemoryError as err:
            raise MemoryError(str(err)) from err

    def made(self, buffer: Any) -> bool:
        """Whether a buffer is one of this device."""
        return buffer._device is self.device

    def encoder(self) -> Any:
        """What following commands are recorded with."""
        if self._encoder is None:
            self._encoder = self.device.create_command_encoder()
        self._recorded += 1
        return self._encoder

    def recorded(self) -> None:
        """A command is complete."""
        if self._recorded >= _MAX_BATCH:
            self.flush()

    def flush(self) -> None:
        """Hand over what is recorded."""
        encoder, self._encoder, self._recorded = self._encoder, None, 0
        if encoder is not None:
            self.device.queue.submit([encoder.finish()])

    def wait(self) -> None:
        """Hand over what is recorded, and wait until it is done."""
        self.read(self._marker, 0, _WORD)  # what is read comes after all before

    @functools.cached_property
    def _marker(self) -> Any:
        return self.buffer(_WORD)

    def write(self, buffer: Any, offset: int, data: memoryview) -> None:
        """Words of the host into a buffer."""
        self.flush()
        self.device.queue.write_buffer(buffer, offset, data)

    def read(self, buffer: Any, offset: int, nbytes: int) -> memoryview:
        """Words of a buffer."""
        self.flush()
        found: memoryview = self.device.queue.read_buffer(buffer, offset, nbytes)
        return memoryview(found).cast("B")

    def copy(self, old: Any, start: int, new: Any, to: int, nbytes: int) -> None:
        """Words from one buffer to another."""
        self.encoder().copy_buffer_to_buffer(old, start, new, to, nbytes)
        self.recorded()


class _Kernel:
    """A pipeline of one kernel, and the layout of its bindings."""

    def __init__(self, device: _Device, module: DeviceModule, name: str) -> None:
        self._device = device
        self._name = name
        info = module.kernels[name]
        self._kinds = info.arg_types
        pointers = [i for i, kind in enumerate(self._kinds) if kind == "handle"]
        self._written = [i in info.written for i in pointers]
        kinds = ["storage" if w else "read-only-storage" for w in self._written]
        self._has_numbers = len(pointers) < len(self._kinds)
        if self._has_numbers:
            kinds.append("uniform")
        stage = device.api.gpu.ShaderStage.COMPUTE
        own = device.device
        entries = [
            {"binding": n, "visibility": stage, "buffer": {"type": kind}}
            for n, kind in enumerate(kinds)
        ]
        self._layout = own.create_bind_group_layout(entries=entries)
        try:
            self._pipeline = own.create_compute_pipeline(
                layout=own.create_pipeline_layout(bind_group_layouts=[self._layout]),
                compute={"module": _shader(device, module.source), "entry_point": name},
            )
        except device.api.gpu.GPUError as err:
            raise TVMError(
                message(
                    f"compile kernel {name!r} for {device.adapter.info['device']}",
                    found=str(err)[:2000],
                    legal="WGSL that its driver takes",
                )
            ) from err

    def launch(self, args: Sequence[Any], extents: dict[str, int]) -> None:
        device = self._device
        blocks = _folded([extents[f"blockIdx.{axis}"] for axis in "xyz"])
        back: list[tuple[int, int, int, int]] = []  # address, copy, bytes, bytes taken
        entries: list[dict[str, Any]] = []
        pointers = [address_of(a) for kind, a in zip(self._kinds, args) if kind == "handle"]
        for number, (address, written) in enumerate(zip(pointers, self._written)):
            resource = self._bound(address, written, pointers, back)
            entries.append({"binding": number, "resource": resource})
        if self._has_numbers:
            data = _packed([(k, a) for k, a in zip(self._kinds, args) if k != "handle"])
            usage = device.api.gpu.BufferUsage.UNIFORM
            numbers = device.device.create_buffer_with_data(data=data, usage=usage)
            resource = {"buffer": numbers, "offset": 0, "size": len(data)}
            entries.append({"binding": len(entries), "resource": resource})
        try:
            group = device.device.create_bind_group(layout=self._layout, entries=entries)
            work = device.encoder().begin_compute_pass()
            work.set_pipeline(self._pipeline)
            work.set_bind_group(0, group)
            work.dispatch_workgroups(*blocks)
            work.end()
            device.recorded()
        except device.api.gpu.GPUError as err:
            raise TVMError(
                message(f"launch kernel {self._name!r}", found=f"{err}: {tuple(blocks)} blocks")
            ) from err
        api = device.api
        for own, copied, nbytes, room in back:
            if nbytes:
                api.copy(device.index, copied, own, nbytes)
            api.give(device.index, copied, room)

    def _bound(
        self, address: int, written: bool, pointers: Sequence[int],
        back: list[tuple[int, int, int, int]],
    ) -> dict[str, Any]:  # fmt: skip
        """What a binding gets: memory that is written is bound once, the rest may be a copy."""
        if not address:
            raise TVMError(
                message(f"launch kernel {self._name!r}", found="no memory", legal="a tensor")
            )
        api, index = self._device.api, self._device.index
        buffer, offset = ADDRESSES.find(address)
        nbytes = buffer.size - offset
        beside = [w for other, w in zip(pointers, self._written)
                  if ADDRESSES.find(other)[0] is buffer]  # fmt: skip
        aligned = offset % self._device.step == 0
        if aligned and (written or not any(beside)) and sum(beside) <= 1:
            return {"buffer": buffer, "offset": offset, "size": nbytes}
        if written and len(beside) > 1:
            raise TVMError(
                message(
                    f"launch kernel {self._name!r}",
                    found=f"several tensors in one buffer, one from its byte {offset} on, "
                    f"of which {sum(beside)} are written",
                    legal=f"starts at multiples of {self._device.step} bytes, and a buffer of its "
                    "own for each result",
                )
            )
        copied, room = api.take(index, nbytes)
        api.copy(index, address, copied, nbytes)
        back.append((address, copied, nbytes if written else 0, room))
        return {"buffer": ADDRESSES.find(copied)[0], "offset": 0, "size": nbytes}


def _folded(blocks: list[int]) -> list[int]:
    """The grid of a launch: more blocks along x than devices take go along z as well.

    Kernels whose blocks may be so many were written for that, unless they use z themselves.
    """
    x, y, z = blocks
    if x <= _MAX_BLOCKS or z != 1:
        return blocks
    rows = -(-x // _MAX_BLOCKS)
    return [-(-x // rows), y, rows]


@functools.lru_cache(maxsize=256)
def _shader(device: _Device, source: str) -> Any:
    try:
        _check_driver(device.adapter.info, source)
        return device.device.create_shader_module(code=source)
    except device.api.gpu.GPUError as err:
        raise TVMError(
            message(
                f"compile kernels for {device.adapter.info['device']}",
                found=str(err)[:2000],
                legal="WGSL that its driver takes",
            )
        ) from err


def _check_driver(info: Any, source: str) -> None:
    """Refuse what a driver computes wrongly.

    Mesa's llvmpipe 22 finds `i64(x) < 4li` false for every x.
    """
    found = re.search(r"Mesa (\d+)", str(info["description"]))
    old = found is not None and int(found[1]) <= 22 and str(info["device"]).startswith("llvmpipe")
    wide = _WIDE.search(source)
    if old and wide is not None:
        raise TVMError(
            message(
                f"run kernels with {wide[0]} on {info['device']}",
                found=f"{info['description']}, which compares 64-bit numbers wrongly",
                legal="a later driver; numbers of 32 bits",
            )
        )


def _packed(numbers: Sequence[tuple[str, Any]]) -> bytes:
    """Numbers as the members of a WGSL structure, each at a multiple of its size."""
    data = b""
    for kind, value in numbers:
        form = _UNIFORM_FORMATS[kind]
        size = struct.calcsize(f"<{form}")
        data += bytes(-len(data) % size)
        data += struct.pack(f"<{form}", float(value) if DataType(kind).is_float else int(value))
    return data + bytes(-len(data) % 16)


_LIMITS: Final = {
    DeviceAttr.MAX_THREADS_PER_BLOCK: "max-compute-invocations-per-workgroup",
    DeviceAttr.MAX_SHARED_MEMORY_PER_BLOCK: "max-compute-workgroup-storage-size",
    DeviceAttr.IMAGE_SPATIAL_LIMIT: "max-texture-dimension-2d",
}
