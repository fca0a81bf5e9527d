"""Tensors: memory on a device with a shape and a data type, shared through DLPack."""

from __future__ import annotations

import ctypes
import importlib
import math
import struct
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import numpy as np

from tvm.error import DTypeError, ShapeError, TVMError, message
from tvm.ffi import get_global_func, library
from tvm.support.dtype import DataType

from . import debug_memory
from ._device import Device, cpu
from ._device import cuda as cuda
from ._device import device as device
from ._device import ext_dev as ext_dev
from ._device import hexagon as hexagon
from ._device import metal as metal
from ._device import opencl as opencl
from ._device import rocm as rocm
from ._device import vpi as vpi
from ._device import vulkan as vulkan
from ._device import webgpu as webgpu

_tvm_ffi = library()
_TensorBase: Any = _tvm_ffi.core.Tensor
_own_dtype: Final[Any] = _TensorBase.dtype.__get__
ALIGNMENT = 64  # bytes; a cache line and a 512-bit vector


class Tensor(_TensorBase):  # type: ignore[misc]
    """An n-dimensional array on a device; `np.from_dlpack(t)` shares its memory."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The data type; of users' types with the width, which the library leaves out."""
        found = _own_dtype(self)
        return found if found[-1] != "]" else _tvm_ffi.dtype(f"{found}{found.bits}")

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a new numpy array."""
        if self.device.type != "cpu":
            return self.copyto(cpu()).numpy()
        if str(self.dtype) in _SHARED and self.__chandle__():
            return np.array(np.from_dlpack(self), order="C")
        values: np.ndarray[Any, Any] = host_view(self).copy()
        return values

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """The older name of `numpy`."""
        return self.numpy()

    def copyfrom(self, source_array: Any) -> Tensor:
        """Overwrite the values with those of a tensor or of anything numpy can read."""
        if isinstance(source_array, _tvm_ffi.core.Tensor):
            source_array.copyto(self)
            return self
        if hasattr(source_array, "__dlpack__") and not isinstance(source_array, np.ndarray):
            # numpy lacks types that others have, such as bfloat16
            source_array = from_dlpack(source_array).numpy()
        values = np.asarray(source_array)
        want = numpy_shape(self)
        if values.shape != want:
            raise ShapeError(
                message(
                    "copyfrom: the shapes differ",
                    found=f"source {values.shape}, tensor {want}",
                    legal="an array of the tensor's shape",
                )
            )
        if self.device.type == "cpu":
            np.copyto(host_view(self), values, casting="unsafe")
        else:
            _copy_across(tensor(np.asarray(values, numpy_dtype(self.dtype))), self)
        return self

    def copyto(self, target: Any, mem_scope: str | None = None) -> Tensor:
        """Copy into a tensor, or into a new one on a device.

        A tensor of as many elements in another shape gets them in order.
        """
        if isinstance(target, _tvm_ffi.core.Device):
            target = empty(self.shape, self.dtype, target, mem_scope)
        if not isinstance(target, Tensor):
            raise ValueError(
                message(
                    "copyto needs a target to copy to",
                    found=f"{target!r} of type {type(target).__name__}",
                    legal="a Tensor or a Device",
                )
            )
        same_size = math.prod(self.shape) == math.prod(target.shape)
        if self.dtype != target.dtype or not same_size:
            raise ShapeError(
                message(
                    "copyto: the tensors differ in kind",
                    found=f"source {self.dtype}{self.shape}, target {target.dtype}{target.shape}",
                    legal="equal data type and number of elements",
                )
            )
        if self.device.type == "cpu" and target.device.type == "cpu":
            np.copyto(host_view(target), host_view(self).reshape(target.shape))
        else:
            _copy_across(self, target)
        return target

    def to_device(self, target: Device) -> Tensor:
        """This tensor on another device; a copy even if it is there already."""
        return self.copyto(target)

    def _create_view(
        self, shape: Sequence[int], dtype: str | None = None, relative_byte_offset: int = 0
    ) -> Tensor:
        """The same memory with another shape, data type or start."""
        kind = DataType(dtype or str(self.dtype))
        need = math.prod(shape) * kind.itemsize + relative_byte_offset
        have = math.prod(self.shape) * DataType(str(self.dtype)).itemsize
        if need > have or relative_byte_offset < 0:
            raise ShapeError(
                message(
                    f"View with shape {tuple(shape)} and datatype {kind} "
                    f"would occupy bytes {relative_byte_offset} <= i_byte < {need}",
                    found=f"the Tensor being viewed only contains {have} bytes "
                    f"({self.dtype}{self.shape})",
                    legal="a view that lies within the tensor",
                )
            )
        return unsafe_view(self, tuple(shape), kind, relative_byte_offset)

    # What compiled code hands to a Python function is a description of memory, not an object of
    # the library; the memory is there until the function returns.

    def _to_dlpack(self) -> object:
        return super()._to_dlpack() if self.__chandle__() else _as_object(self)._to_dlpack()

    def _to_dlpack_versioned(self) -> object:
        if self.__chandle__():
            return super()._to_dlpack_versioned()
        return _as_object(self)._to_dlpack_versioned()

    def to_dlpack(self) -> object:
        """The memory as a DLPack capsule, as TVM before v0.22 and `torch.compile` ask for it."""
        return self._to_dlpack()

    def __len__(self) -> int:
        return int(self.size(0))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def __getitem__(self, key: Any) -> Any:
        if key is Ellipsis or key == slice(None):
            return self
        return self.numpy()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        if key is not Ellipsis and key != slice(None):
            raise ValueError(
                message(
                    "assign to a part of a tensor",
                    found=f"index {key!r}",
                    legal="the whole of it, as in t[:] = values",
                )
            )
        single = not isinstance(value, _TensorBase) and np.ndim(value) == 0
        self.copyfrom(np.broadcast_to(value, numpy_shape(self)) if single else value)

    def __str__(self) -> str:
        return str(self.numpy())

    def __repr__(self) -> str:
        return f"<tvm.runtime.Tensor shape={tuple(self.shape)}, {self.device}>\n{self.numpy()!r}"


_tvm_ffi.register_object("ffi.Tensor")(Tensor)
_tvm_ffi.core._set_class_tensor(Tensor)


class DLTensor(ctypes.Structure):
    """struct DLTensor of dlpack.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("type_code", ctypes.c_uint8),
        ("type_bits", ctypes.c_uint8),
        ("type_lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def _as_object(view: Tensor) -> Tensor:
    """A tensor object over the memory of a description."""
    if view.device.type != "cpu":
        raise TVMError(
            message(
                "share the memory of a tensor that compiled code passed on",
                found=f"memory on {view.device}",
                legal="memory on the CPU; use copyto for others",
            )
        )
    values = host_view(view)
    if _shares(values):
        found = _tvm_ffi.from_dlpack(values)
        assert isinstance(found, Tensor)
        return found
    return from_host(np.ascontiguousarray(values).reshape(values.shape))


_OBJECT_HEADER_BYTES = 24  # struct TVMFFIObject of tvm/ffi/c_api.h; a DLTensor follows it


def unsafe_view(
    source: Tensor,
    shape: tuple[int, ...],
    dtype: DataType,
    byte_offset: int = 0,
    device_id: int | None = None,
) -> Tensor:
    """A tensor over the memory of `source`, which it keeps alive; sizes are not checked."""
    if not source.__chandle__():
        source = _as_object(source)
    proto = DLTensor.from_address(source.__chandle__() + _OBJECT_HEADER_BYTES)
    index = proto.device_id if device_id is None else device_id
    offset = proto.byte_offset + byte_offset
    return _described(source, proto.data, (proto.device_type, index), shape, dtype, offset)


def tensor_at(
    anchor: Tensor, address: int, dev: Device, shape: tuple[int, ...], dtype: DataType
) -> Tensor:
    """A tensor over memory at an address of a device, which lives as long as `anchor`."""
    where = (dev.dlpack_device_type(), dev.index)
    return _described(anchor, address, where, shape, dtype, 0)


def _described(
    source: Tensor, data: int, dlpack_device: tuple[int, int], shape: tuple[int, ...],
    dtype: DataType, offset: int,
) -> Tensor:  # fmt: skip
    """A tensor that keeps `source` alive, over memory of which only this is known."""
    dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    strides = (ctypes.c_int64 * max(len(shape), 1))(*row_major_strides(shape))
    view = DLTensor(
        data, *dlpack_device, len(shape), dtype.type_code, dtype.bits, dtype.lanes, dims, strides,
        offset,
    )
    return _create_view(source, ctypes.addressof(view))


class TensorForm:
    """A shape and type on a device, of which tensors over memory are made again and again."""

    def __init__(self, dev: Device, shape: tuple[int, ...], dtype: DataType) -> None:
        count = max(len(shape), 1)
        self._extents = (ctypes.c_int64 * count)(*shape)
        self._strides = (ctypes.c_int64 * count)(*row_major_strides(shape))
        self._view = DLTensor(
            0, dev.dlpack_device_type(), dev.index, len(shape), dtype.type_code, dtype.bits,
            dtype.lanes, self._extents, self._strides, 0,
        )  # fmt: skip

    def over(self, anchor: Tensor, address: int) -> Tensor:
        """A tensor over memory that lives as long as `anchor`."""
        view = DLTensor.from_buffer_copy(self._view)
        view.data = address
        return _create_view(anchor, ctypes.addressof(view))

    @staticmethod
    def told(handle: int) -> tuple[bytes, int, bytes]:
        """What is the same for tensors of equal device, type, shape and byte offset."""
        head = ctypes.string_at(handle + _OBJECT_HEADER_BYTES, _KIND.size)
        kind, extents, offset = _KIND.unpack(head)
        return kind, offset, ctypes.string_at(extents, 8 * kind[8])


# of a DLTensor: device, number of dimensions and type; where the extents lie; the byte offset
_KIND: Final = struct.Struct("8x16sQ8xQ")


def _create_view(source: Tensor, prototype: int) -> Tensor:
    """Wrap TVMFFITensorCreateUnsafeView; the new object is taken over without a copy."""
    out = ctypes.c_void_p()
    code = _tvm_ffi.LIB.TVMFFITensorCreateUnsafeView(
        ctypes.c_void_p(source.__chandle__()), ctypes.c_void_p(prototype), ctypes.byref(out)
    )
    if code != 0 or out.value is None:
        raise TVMError("the tensor library could not make a view")
    return adopt(out.value)


def adopt(handle: int) -> Tensor:
    """A Python tensor that takes over one reference to a tensor object made by C code."""
    func = _take_handle()
    result = func(handle)
    assert isinstance(result, Tensor)
    return result


_taker: Any = None


def _take_handle() -> Any:
    """A packed function that returns the object whose address it is given."""
    global _taker
    if _taker is None:
        signature = ctypes.CFUNCTYPE(
            ctypes.c_int32,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_int64),
            ctypes.c_int32,
            ctypes.POINTER(ctypes.c_int64),
        )

        def take(_self: Any, args: Any, _count: int, result: Any) -> int:
            result[0] = 70  # kTVMFFITensor, and zero padding in the upper half
            result[1] = args[1]
            return 0

        callback = signature(take)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        _taker = _tvm_ffi.Function.__from_extern_c__(address, keep_alive_object=callback)
    return _taker


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Steps in elements along each dimension when the last one is contiguous."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return tuple(strides)


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The numpy type of one element, with the types of ml_dtypes."""
    kind = DataType(str(dtype)).element_of()
    name = str(kind)
    if (kind.is_floating and not kind.is_float) or (kind.is_integer and kind.bits in (2, 4)):
        import ml_dtypes  # 20 ms to load, and rarely needed

        home: Any = getattr(ml_dtypes, name, None)
    else:
        home = name
    try:
        return np.dtype(home if home is not None else name)
    except TypeError:
        raise DTypeError(
            message(
                f"a numpy array of {dtype}",
                found="numpy has no such type",
                legal="bool, int8 to int64, uint8 to uint64, float16 to float64, bfloat16, float8",
            )
        ) from None


def numpy_shape(source: Tensor) -> tuple[int, ...]:
    """The shape, with the lanes of a vector type as a last dimension."""
    lanes = DataType(str(source.dtype)).lanes
    shape = tuple(int(extent) for extent in source.shape)
    return shape if lanes == 1 else (*shape, lanes)


def host_view(source: Tensor) -> np.ndarray[Any, Any]:
    """The memory of a tensor on the CPU as a numpy array."""
    kind = numpy_dtype(source.dtype)
    shape = numpy_shape(source)
    if 0 in shape:
        return np.empty(shape, kind)
    strides = [s * kind.itemsize for s in source.strides]
    if len(shape) > len(strides):
        strides = [s * shape[-1] for s in strides] + [kind.itemsize]
    span = sum((n - 1) * s for n, s in zip(shape, strides)) + kind.itemsize
    memory: Any = (ctypes.c_char * span).from_address(source.data_ptr())
    memory.owner = source  # the array holds `memory`, and this holds the tensor
    view: np.ndarray[Any, Any] = np.ndarray(shape, kind, memory, 0, tuple(strides))
    return view


def from_host(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over the memory of a C-contiguous numpy array of any type, read-only ones too."""
    kind = DataType(array.dtype)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.size == 0:
        source = _tvm_ffi.from_dlpack(np.empty((1,), np.uint8))
        return unsafe_view(source, array.shape, kind)
    if _shares(array):
        result = _tvm_ffi.from_dlpack(array)
        assert isinstance(result, Tensor)
        return result
    memory: Any = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array
    raw = _tvm_ffi.from_dlpack(np.frombuffer(memory, np.uint8))
    return unsafe_view(raw, array.shape, kind)


def _shares(array: np.ndarray[Any, Any]) -> bool:
    """Whether numpy itself offers the memory of an array through DLPack."""
    return array.flags.writeable and array.dtype.kind in "iufb" and array.dtype.isbuiltin == 1


def aligned_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Fresh host memory whose first element lies on a cache line."""
    nbytes = math.prod(shape) * dtype.itemsize
    if any(extent < 0 for extent in shape):
        raise ShapeError(
            message("memory for a tensor", found=f"the shape {shape}", legal="extents from 0 on")
        )
    try:
        if debug_memory.enabled():
            guarded: np.ndarray[Any, Any] = debug_memory.guarded_memory().array(nbytes)
            return guarded.view(dtype).reshape(shape)
        memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError, OverflowError):
        refuse_size(shape, str(dtype), nbytes)
    start = -memory.__array_interface__["data"][0] % ALIGNMENT
    return memory[start : start + nbytes].view(dtype).reshape(shape)


def host_anchor(memory: bytearray) -> Tensor:
    """A tensor over bytes of the host, which it keeps alive."""
    result = _tvm_ffi.from_dlpack(np.frombuffer(memory, np.uint8))
    assert isinstance(result, Tensor)
    return result


def host_bytes(nbytes: int) -> Tensor:
    """Fresh memory of the host, as bytes."""
    result = _tvm_ffi.from_dlpack(aligned_array((nbytes,), _BYTE))
    assert isinstance(result, Tensor)
    return result


_BYTE = np.dtype(np.uint8)
_SHARED = frozenset(
    ["bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
     "uint8", "uint16", "uint32", "uint64"]
)  # fmt: skip


def host_piece(source: Tensor, shape: tuple[int, ...], dtype: str, byte_offset: int) -> Tensor:
    """A tensor over a part of dense memory of the host, of a type that numpy shares."""
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    values = np.from_dlpack(source)
    dense = values.flags.c_contiguous and values.flags.writeable
    if not dense or byte_offset < 0 or byte_offset + nbytes > values.nbytes:
        return source._create_view(shape, dtype, byte_offset)  # which says what is wrong
    memory = values.reshape(-1).view(_BYTE)
    piece = memory[byte_offset : byte_offset + nbytes].view(dtype).reshape(shape)
    result = _tvm_ffi.from_dlpack(piece)
    assert isinstance(result, Tensor)
    return result


def is_shared_kind(dtype: str) -> bool:
    """Whether numpy has the type, and gives its memory away."""
    return dtype in _SHARED


def refuse_size(shape: Sequence[int], dtype: str, nbytes: int) -> NoReturn:
    """Say that there is no memory for a tensor of this shape."""
    sizes = " x ".join(map(str, shape)) or "one"
    raise MemoryError(
        message(
            f"memory for a tensor of {sizes} {dtype}",
            found=f"no room for {nbytes:,} bytes",
            legal="what the machine can give",
        )
    ) from None


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor over the memory of another library's tensor.

    Where nobody may write, or bytes have another order, it holds a copy.
    """
    if isinstance(ext_tensor, np.ndarray) and not (
        ext_tensor.flags.writeable and ext_tensor.dtype.isnative
    ):
        return tensor(ext_tensor)
    if isinstance(ext_tensor, np.ndarray) and (
        ext_tensor.flags.c_contiguous or not _shares(ext_tensor)
    ):
        return from_host(np.ascontiguousarray(ext_tensor).reshape(ext_tensor.shape))
    result = _tvm_ffi.from_dlpack(ext_tensor)
    assert isinstance(result, Tensor)
    return result


def empty(
    shape: Sequence[int] | int,
    dtype: str = "float32",
    device: Device | str | None = None,
    mem_scope: str | None = None,
) -> Tensor:
    """A tensor whose values are not set."""
    dims = _checked_shape(shape)
    dev = _as_device(device)
    if dev.is_remote:
        allocate = get_global_func("device_api.remote.alloc_nd")
        made: Tensor = allocate(dev, dims, str(dtype), mem_scope or "global")
        return made
    if dev.type != "cpu":
        fresh: Tensor = _device_api(dev).empty(dev, dims, str(dtype))
        return fresh
    kind = DataType(dtype)
    element = numpy_dtype(kind)
    array = aligned_array((*dims, kind.lanes) if kind.lanes > 1 else dims, element)
    result = from_host(array)
    if kind.lanes == 1 and dev.index == 0:
        return result
    return unsafe_view(result, dims, kind, device_id=dev.index)


def tensor(arr: Any, device: Device | str | None = None, mem_scope: str | None = None) -> Tensor:
    """A tensor with a copy of the values of `arr`."""
    if isinstance(arr, Tensor):
        return arr.copyto(empty(arr.shape, arr.dtype, device, mem_scope))
    if hasattr(arr, "__dlpack__") and not isinstance(arr, (np.ndarray, np.generic)):
        return tensor(from_dlpack(arr), device, mem_scope)
    values = arr if isinstance(arr, np.ndarray) else np.asarray(_plain(arr))
    kind = DataType(values.dtype)
    return empty(values.shape, kind, device, mem_scope).copyfrom(values)


def _plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else value


def _as_device(dev: Device | str | None) -> Device:
    if dev is None:
        return Device("cpu")
    if isinstance(dev, str):
        return Device(dev)
    if not isinstance(dev, Device):
        raise TypeError(
            message("the device of a tensor", found=repr(dev), legal="such as tvm.cpu(), or a name")
        )
    return dev


def _checked_shape(shape: Sequence[int] | int) -> tuple[int, ...]:
    dims = (shape,) if isinstance(shape, int) else shape
    try:
        result = tuple(int(extent) for extent in dims)
    except TypeError as err:
        raise TypeError(
            message("the shape of a tensor", found=f"{shape!r}", legal="a sequence of integers")
        ) from err
    if any(extent < 0 for extent in result):
        raise ShapeError(
            message("the shape of a tensor", found=f"{result}", legal="extents of 0 or more")
        )
    return result


def _device_api(dev: Device) -> Any:
    """What drives a device, by name: it makes tensors itself."""
    kinds = importlib.import_module("tvm.runtime.device_api.kinds")
    return kinds.api_of(dev.type, dev.index)


def _copy_across(source: Tensor, target: Tensor) -> None:
    """Copy where one of the two is not on the host."""
    if source.device.is_remote or target.device.is_remote:
        get_global_func("device_api.remote.copy")(source, target)
    else:
        dev = source.device if source.device.type != "cpu" else target.device
        _device_api(dev).copy_tensor(source, target)
