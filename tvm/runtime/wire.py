"""Values as bytes, for messages between processes.

Plain values, devices, types, shapes, tensors, lists and maps go by value; everything else goes as a
`Ref`, a number that the side which has the object gave it. Nothing in a message is executed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from tvm import error as _errors
from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.support.dtype import DataType

from ._device import REMOTE_MASK, Device
from ._tensor import Tensor, empty, numpy_dtype, tensor

_HEAD: Final = struct.Struct("<Q")  # the length of what follows
_INT: Final = struct.Struct("<q")
_FLOAT: Final = struct.Struct("<d")
_MAX_NESTED: Final = 64
_MAX_DEVICES: Final = 1 << 15
_MAX_FRAME: Final = 1 << 36
_PIECE: Final = 1 << 24  # of a frame: memory is taken as its bytes come, not as its head promises


class WireError(TVMError, ValueError):
    """A message that is not one."""


class Ref(NamedTuple):
    """An object that stays where it is: its number there, and what it is."""

    number: int
    kind: str = ""


def encode(value: Any, give: Callable[[Any], Ref] | None = None) -> bytes:
    """A value as bytes; `give` makes a Ref of an object that does not go by value."""
    out: list[bytes] = []
    _put(value, out, give)
    return b"".join(out)


def decode(data: bytes, take: Callable[[Ref], Any] | None = None) -> Any:
    """The value of bytes that `encode` made; `take` gives what a Ref stands for.

    Raises WireError for other bytes, and what `take` raises.
    """
    reader = _Reader(data, take)
    value = reader.value(0)
    if reader.offset != len(data):
        raise WireError("a message with more bytes than its value has")
    return value


def _blob(data: bytes) -> bytes:
    return _HEAD.pack(len(data)) + data


def _put(value: Any, out: list[bytes], give: Callable[[Any], Ref] | None) -> None:
    ffi = library()
    if value is None:
        out.append(b"N")
    elif isinstance(value, (bool, np.bool_)):
        out.append(b"T" if value else b"F")
    elif isinstance(value, Ref):
        out.append(b"r" + _INT.pack(value.number) + _blob(value.kind.encode()))
    elif isinstance(value, DataType) or type(value).__name__ == "dtype":
        out.append(b"y" + _blob(str(value).encode()))
    elif isinstance(value, str):
        out.append(b"s" + _blob(value.encode()))
    elif isinstance(value, (int, np.integer)):
        out.append(b"i" + _blob(int(value).to_bytes((int(value).bit_length() + 8) // 8, "little",
                                                    signed=True)))  # fmt: skip
    elif isinstance(value, (float, np.floating)):
        out.append(b"f" + _FLOAT.pack(float(value)))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        out.append(b"b" + _blob(bytes(value)))
    elif isinstance(value, ffi.core.Device):
        out.append(b"d" + _INT.pack(value.dlpack_device_type()) + _INT.pack(value.index))
    elif isinstance(value, ffi.Shape):
        out.append(b"h" + _HEAD.pack(len(value)))
        out += [_INT.pack(int(extent)) for extent in value]
    elif give is None and isinstance(value, Tensor):
        out.append(b"t" + _tensor_bytes(value))
    elif isinstance(value, np.ndarray):
        out.append(b"t" + _tensor_bytes(tensor(value)))
    elif isinstance(value, Mapping):
        out.append(b"m" + _HEAD.pack(len(value)))
        for key, item in value.items():
            _put(key, out, give)
            _put(item, out, give)
    elif isinstance(value, Sequence):
        out.append(b"l" + _HEAD.pack(len(value)))
        for item in value:
            _put(item, out, give)
    elif give is not None:
        _put(give(value), out, None)
    else:
        raise TypeError(
            message(
                "send a value to another process",
                found=f"a {type(value).__name__}",
                legal="None, numbers, text, bytes, devices, types, shapes, tensors, lists, maps",
            )
        )


def _tensor_bytes(value: Tensor) -> bytes:
    shape = tuple(int(extent) for extent in value.shape)
    head = _blob(str(value.dtype).encode()) + _HEAD.pack(len(shape))
    head += b"".join(_INT.pack(extent) for extent in shape)
    return head + _blob(np.ascontiguousarray(value.numpy()).tobytes())


class _Reader:
    def __init__(self, data: bytes, take: Callable[[Ref], Any] | None) -> None:
        self.data, self.take, self.offset = data, take, 0

    def take_bytes(self, count: int) -> bytes:
        part = self.data[self.offset : self.offset + count]
        if count < 0 or len(part) != count:
            raise WireError(f"a message that ends too early: {count} bytes wanted")
        self.offset += count
        return part

    def number(self) -> int:
        return int(_INT.unpack(self.take_bytes(_INT.size))[0])

    def count(self) -> int:
        found = int(_HEAD.unpack(self.take_bytes(_HEAD.size))[0])
        if found > len(self.data):
            raise WireError(f"a message of {len(self.data)} bytes that promises {found}")
        return found

    def blob(self) -> bytes:
        return self.take_bytes(self.count())

    def text(self) -> str:
        try:
            return self.blob().decode()
        except UnicodeDecodeError as err:
            raise WireError(f"text of a message that is no UTF-8: {err}") from err

    def dtype(self) -> DataType:
        name = self.text()
        try:
            return DataType(name)
        except (ValueError, TypeError, TVMError) as err:
            raise WireError(f"a type of a message that is none: {name!r}") from err

    def value(self, depth: int) -> Any:
        if depth > _MAX_NESTED:
            raise WireError(f"a message nested deeper than {_MAX_NESTED}")
        tag = self.take_bytes(1)
        read = _READERS.get(tag)
        if read is None:
            raise WireError(f"a value of unknown kind {tag!r} in a message")
        return read(self, depth + 1)

    def list(self, depth: int) -> list[Any]:
        return [self.value(depth) for _ in range(self.count())]

    def map(self, depth: int) -> dict[Any, Any]:
        try:
            return {self.value(depth): self.value(depth) for _ in range(self.count())}
        except TypeError as err:
            raise WireError(f"a key of a message that is none: {err}") from err

    def shape(self) -> Any:
        return library().Shape([self.number() for _ in range(self.count())])

    def ref(self) -> Any:
        found = Ref(self.number(), self.text())
        return found if self.take is None else self.take(found)

    def device(self) -> Any:
        kind, index = self.number(), self.number()
        if not (0 < kind < REMOTE_MASK and 0 <= index < _MAX_DEVICES):
            raise WireError(f"a device of a message that is none: kind {kind}, index {index}")
        return Device(kind, index)

    def tensor(self) -> Tensor:
        dtype = self.dtype()
        shape = tuple(self.number() for _ in range(self.count()))
        data = self.blob()
        full = (*shape, dtype.lanes) if dtype.lanes > 1 else shape
        try:
            if min(full, default=0) < 0:  # numpy would choose one
                raise ValueError("an extent below zero")
            values = np.frombuffer(data, numpy_dtype(dtype)).reshape(full)
        except (ValueError, TypeError, TVMError) as err:
            raise WireError(f"{len(data)} bytes for a tensor {dtype}{shape}") from err
        return empty(shape, dtype).copyfrom(values)


_READERS: Final[dict[bytes, Callable[[_Reader, int], Any]]] = {
    b"N": lambda r, _: None,
    b"T": lambda r, _: True,
    b"F": lambda r, _: False,
    b"i": lambda r, _: int.from_bytes(r.blob(), "little", signed=True),
    b"f": lambda r, _: _FLOAT.unpack(r.take_bytes(_FLOAT.size))[0],
    b"s": lambda r, _: r.text(),
    b"b": lambda r, _: r.blob(),
    b"y": lambda r, _: r.dtype(),
    b"d": lambda r, _: r.device(),
    b"h": lambda r, _: r.shape(),
    b"t": lambda r, _: r.tensor(),
    b"l": lambda r, depth: r.list(depth),
    b"m": lambda r, depth: r.map(depth),
    b"r": lambda r, _: r.ref(),
}


# --- errors ---


def error_parts(err: BaseException) -> list[str]:
    """An error as text: its kind and its message."""
    return [type(err).__name__, str(err)]


def error_of(parts: Sequence[str], where: str) -> Exception:
    """The error of `error_parts`, as its own kind if that is known here."""
    import builtins

    kind, text = str(parts[0]), str(parts[1])
    cls = getattr(_errors, kind, None) or getattr(builtins, kind, None)
    said = f"{text}\n  where: {where}"
    if isinstance(cls, type) and issubclass(cls, Exception):
        try:
            return cls(said)
        except TypeError:  # kinds that need more than a message
            pass
    return TVMError(f"{kind}: {said}")


# --- pipes ---


def write_frame(pipe: BinaryIO, data: bytes) -> None:
    """Send bytes with their length before them."""
    pipe.write(_blob(data))
    pipe.flush()


def read_frame(pipe: BinaryIO, most: int = _MAX_FRAME) -> bytes | None:
    """The next bytes that `write_frame` sent; None when the other end is gone."""
    head = pipe.read(_HEAD.size)
    if head is None or len(head) < _HEAD.size:
        return None
    (size,) = _HEAD.unpack(head)
    if size > most:
        raise WireError(f"a message of {size} bytes, more than {most}")
    pieces = []
    while size:
        piece = pipe.read(min(size, _PIECE))
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
