"""What stands here for objects at the other end of a session: functions, modules, tensors."""

from __future__ import annotations

import ctypes
import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from tvm.error import RPCError, TVMError, message
from tvm.ffi import Object, library, register_global_func
from tvm.runtime._device import REMOTE_MASK, Device
from tvm.runtime._tensor import (
    DLTensor,
    Tensor,
    host_view,
    numpy_dtype,
    numpy_shape,
    row_major_strides,
)
from tvm.runtime.benchmark import BenchmarkResult
from tvm.runtime.module import Module
from tvm.runtime.wire import Ref, WireError, decode, encode
from tvm.support.dtype import DataType
from tvm.support.json_text import from_json

from .core import plain_device

_sessions: weakref.WeakValueDictionary[int, Link] = weakref.WeakValueDictionary()
_lock = threading.Lock()
_MAX_SESSIONS: Final = 200
_MAX_DIMENSIONS: Final = 64
_MAX_ELEMENTS: Final = 1 << 59  # the bytes of which are still a number of 64 bits
_MAX_DEVICES: Final = 1 << 15
_T = TypeVar("_T")


class Link:
    """The way to the other end: takes a request as bytes and gives the answer."""

    def __init__(self, exchange: Callable[[bytes], bytes]) -> None:
        self._exchange = exchange
        self._turn = threading.RLock()
        self._gone: list[int] = []  # numbers that nobody here holds any more
        self._functions: dict[str, int] = {}
        with _lock:
            free = (n for n in range(_MAX_SESSIONS) if n not in _sessions)
            self.index = next(free, -1)
            if self.index < 0:
                raise RPCError(f"more than {_MAX_SESSIONS} sessions at a time")
            _sessions[self.index] = self

    def ask(self, what: str, *operands: Any) -> Any:
        """The other end's answer; RPCError with what went wrong there."""
        with self._turn:
            gone, self._gone = self._gone, []
            if gone:
                self._exchange(encode(["drop", gone]))
            request = encode([what, *(self._outgoing(x) for x in operands)], self._number)
            good, value = self._read(self._exchange(request))
        if not good:
            raise RPCError("Error caught from RPC call:\n" + ": ".join(map(str, value)))
        return value

    def _read(self, answer: bytes) -> tuple[bool, Any]:
        """An answer: whether it is a value, and the value or what went wrong."""
        try:
            found = decode(answer, self._incoming)
            if not isinstance(found, list) or len(found) != 2:
                raise WireError("no pair")
            good, value = found
            if not isinstance(good, bool) or not (good or isinstance(value, list)):
                raise WireError("neither a value nor an error")
        except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as err:
            raise RPCError(
                message(
                    "a remote call",
                    found=f"an answer that is none: {str(err)[:200]}",
                    legal="a tvm.rpc.Server of this version at the other end",
                )
            ) from err
        return good, value

    def builtin(self, name: str, *args: Any) -> Any:
        """Call a function that each server has."""
        if name not in self._functions:
            found = self.ask("get", name)
            if found is None:
                raise RPCError(f"the other end of the session lacks {name}")
            if not isinstance(found, RemoteFunction):
                raise RPCError(f"{name} of the other end of the session is no function")
            # kept as a number: an object would hold this link, and the link the object
            found._dropped.detach()
            self._functions[name] = found._number
        return self.ask("call", Ref(self._functions[name]), list(args))

    def builtin_for(self, kind: type[_T], name: str, *args: Any) -> _T:
        """What a function that each server has gives, which must be of a kind."""
        return expected(kind, self.builtin(name, *args), name)

    def forget(self, number: int) -> None:
        """Nobody here holds an object any more; said with the next request."""
        self._gone.append(number)

    def device(self, plain: Device) -> Device:
        """A device of the other end, as it is called here."""
        found = Device.__new__(Device)
        found.__init__(  # type: ignore[misc]
            plain.dlpack_device_type() + REMOTE_MASK * (self.index + 1), plain.index
        )
        found._rpc_sess = self
        return found

    # --- values on their way ---

    def _outgoing(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return value
        if isinstance(value, library().core.Device):
            return self._checked_device(value)
        if isinstance(value, (list, tuple, library().Array)):
            return [self._outgoing(item) for item in value]
        if isinstance(value, Mapping):
            return {key: self._outgoing(item) for key, item in value.items()}
        if isinstance(value, np.ndarray):
            raise _refused(value)
        return value

    def _checked_device(self, value: Any) -> Device:
        kind = value.dlpack_device_type()
        if kind >= REMOTE_MASK and kind // REMOTE_MASK - 1 != self.index:
            raise RPCError(f"{value} belongs to another session")
        return plain_device(value)

    def _number(self, value: Any) -> Ref:
        if isinstance(value, Tensor):
            link, number = _address_of(value)
            if link is self:
                return Ref(number)
        elif getattr(value, "_link", None) is self:
            return Ref(value._number)
        raise _refused(value)

    def _incoming(self, ref: Ref) -> Any:
        about = from_json(ref.kind)
        kind = about["kind"]
        if ref.number < 0:
            raise WireError(f"an object with the number {ref.number}")
        if kind == "tensor":
            dev = self.device(_plain(*about["device"]))
            shape = tuple(about["shape"])
            whole = all(type(extent) is int and extent >= 0 for extent in shape)
            if not whole or len(shape) > _MAX_DIMENSIONS or math.prod(shape) > _MAX_ELEMENTS:
                raise WireError(f"a tensor of the shape {shape}")
            return remote_tensor(self, ref.number, shape, DataType(about["dtype"]), dev)
        if kind == "module":
            return RPCModule(self, ref.number)
        made = RemoteFunction if kind == "function" else RPCObjectRef
        return made(self, ref.number)


def _plain(kind: int, index: int) -> Device:
    """A device as the other end calls it. Other kinds would be those of this end, or of a third:
    what the other end says would be taken for an address here."""
    if not (0 < kind < REMOTE_MASK and 0 <= index < _MAX_DEVICES):
        raise WireError(f"a device of kind {kind}, index {index}")
    return Device(kind, index)


def expected(kind: type[_T], found: Any, what: str) -> _T:
    """What the other end gave, if it is of the kind that belongs there; else an RPCError."""
    if not isinstance(found, kind):
        raise RPCError(
            message(
                f"{what} at the other end of a session",
                found=f"a {type(found).__name__}",
                legal=f"a {kind.__name__}",
            )
        )
    return found


def seconds(data: Any) -> BenchmarkResult:
    """What was measured at the other end."""
    found = expected(bytes, data, "times")
    if not found or len(found) % 8:
        raise RPCError(f"times at the other end of a session: {len(found)} bytes")
    return BenchmarkResult(np.frombuffer(found, "<f8").tolist())


def _refused(value: Any) -> TypeError:
    return TypeError(
        message(
            "send an object to the other end of a session",
            found=f"a {type(value).__name__} that is not there",
            legal="numbers, text, bytes, devices, shapes, and what the session gave; "
            "tvm.runtime.tensor(x, session.cpu()) puts an array there",
        )
    )


class RPCObjectRef(Object):
    """An object at the other end."""

    def __init__(self, link: Link, number: int) -> None:
        self._link, self._number = link, number
        self._dropped = weakref.finalize(self, link.forget, number)
        self._dropped.atexit = False

    @property
    def type_key(self) -> str:
        """What kind of thing this is here."""
        return "object.RPCObjectRef"


class RemoteFunction(RPCObjectRef):
    """A function at the other end."""

    def __call__(self, *args: Any) -> Any:
        return self._link.ask("call", self, list(args))


class RPCModule(Module):
    """A module at the other end."""

    kind = "rpc"

    def __init__(self, link: Link, number: int) -> None:
        super().__init__()
        self._link, self._number = link, number
        self._dropped = weakref.finalize(self, link.forget, number)
        self._dropped.atexit = False

    def _about(self) -> Sequence[Any]:
        found = self._link.builtin_for(list, "rpc.builtin.module_about", self)
        if len(found) != 3 or not isinstance(found[1], list):
            raise RPCError(f"a module at the other end of a session: {len(found)} facts")
        return found

    def function_names(self) -> list[str]:
        return [str(name) for name in self._about()[1]]

    def _entry_name(self) -> str | None:
        return self._about()[2]  # type: ignore[no-any-return]

    def _find(self, name: str) -> Any:
        return self._link.builtin("rpc.builtin.module_function", self, name, True)

    def import_module(self, module: Module) -> None:
        self._link.builtin("rpc.builtin.module_import", self, module)

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """A function that lets the other end measure, and gives a BenchmarkResult."""
        dev = plain_device(dev)
        measure = self._link.builtin_for(
            RemoteFunction, "runtime.RPCTimeEvaluator", self, func_name, dev.device_type,
            dev.index, number, repeat, min_repeat_ms, limit_zero_time_iterations,
            cooldown_interval_ms, repeats_to_cooldown, cache_flush_bytes, f_preproc,
        )  # fmt: skip
        return lambda *args: seconds(measure(*args))


# --- tensors ---


class _Managed(ctypes.Structure):
    """struct DLManagedTensor of dlpack.h."""

    _fields_ = (
        ("tensor", DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_held: dict[int, tuple[Any, ...]] = {}  # by address: what a tensor's description needs
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


def _forget(address: int) -> None:
    link, number, *_ = _held.pop(address)
    link.forget(number)


_delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_forget)


class _Offer:
    """What tvm_ffi takes a tensor from."""

    def __init__(self, capsule: Any, dlpack_device: tuple[int, int]) -> None:
        self._capsule, self._dlpack_device = capsule, dlpack_device

    def __dlpack__(self, **_options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._dlpack_device


def remote_tensor(
    link: Link, number: int, shape: tuple[int, ...], dtype: DataType, dev: Device
) -> Tensor:
    """A tensor whose address is the number of one at the other end."""
    dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    strides = (ctypes.c_int64 * max(len(shape), 1))(*row_major_strides(shape))
    managed = _Managed(
        DLTensor(
            number, dev.dlpack_device_type(), dev.index, len(shape), dtype.type_code,
            dtype.bits, dtype.lanes, dims, strides, 0,
        ),
        None,
        ctypes.cast(_delete, ctypes.c_void_p),
    )  # fmt: skip
    address = ctypes.addressof(managed)
    _held[address] = (link, number, managed, dims, strides)
    capsule = _capsule(address, b"dltensor", None)
    made = library().from_dlpack(
        _Offer(capsule, (dev.dlpack_device_type(), dev.index)), require_alignment=0
    )
    assert isinstance(made, Tensor)
    return made


def _address_of(value: Tensor) -> tuple[Link | None, int]:
    kind = value.device.dlpack_device_type()
    if kind < REMOTE_MASK:
        return None, 0
    return _sessions.get(kind // REMOTE_MASK - 1), value.data_ptr()


def _link_of(dev: Device) -> Link:
    link = _sessions.get(dev.dlpack_device_type() // REMOTE_MASK - 1)
    if link is None:
        raise RPCError(f"the session of {dev} has ended")
    return link


@register_global_func("device_api.remote.alloc_nd", override=True)
def alloc(dev: Device, shape: Sequence[int], dtype: str, mem_scope: str) -> Tensor:
    """A new tensor at the other end."""
    found = _link_of(dev).builtin_for(
        Tensor, "rpc.builtin.alloc", library().Shape(tuple(shape)), str(dtype), dev, mem_scope
    )
    if tuple(found.shape) != tuple(shape) or found.dtype != dtype:
        raise RPCError(
            message(
                f"a tensor {dtype}{tuple(shape)} at the other end of a session",
                found=f"{found.dtype}{tuple(found.shape)}",
            )
        )
    return found


@register_global_func("device_api.remote.copy", override=True)
def copy(source: Tensor, target: Tensor) -> None:
    """Copy to, from or at the other end."""
    from_here = not source.device.is_remote
    to_here = not target.device.is_remote
    if from_here:
        data = np.ascontiguousarray(source.numpy()).tobytes()
        _link_of(target.device).builtin("rpc.builtin.write", target, data)
    elif to_here:
        data = _link_of(source.device).builtin_for(bytes, "rpc.builtin.read", source)
        try:
            values = np.frombuffer(data, numpy_dtype(source.dtype)).reshape(numpy_shape(source))
        except ValueError as err:
            raise RPCError(
                message(
                    f"read the tensor {source.dtype}{tuple(source.shape)} of the other end",
                    found=f"{len(data)} bytes",
                )
            ) from err
        if target.device.type != "cpu":
            raise TVMError(f"copy from {source.device} to {target.device}: go through cpu")
        np.copyto(host_view(target), values)
    elif _link_of(source.device) is _link_of(target.device):
        _link_of(source.device).builtin("rpc.builtin.copy", source, target)
    else:
        copy(source.copyto(Device("cpu")), target)


@register_global_func("device_api.remote.get_attr", override=True)
def get_attr(dev: Device, attr: int) -> Any:
    """What can be asked of a device at the other end."""
    return _link_of(dev).builtin("rpc.builtin.device_attr", dev, attr)


@register_global_func("device_api.remote.stream", override=True)
def stream(dev: Device, what: str, args: Sequence[int]) -> Any:
    """Streams of a device at the other end."""
    return _link_of(dev).builtin("rpc.builtin.device_stream", dev, what, list(args))
