"""Parameters of a model as bytes: tensors by name.

The format is that of TVM's parameter files: a magic number, the names, then each tensor with its
own magic number, device, rank, type, shape and little-endian data.
"""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from tvm.error import TVMError, message
from tvm.support.arguments import explained
from tvm.support.dtype import DataType, narrow_float_of

from ._tensor import Tensor, empty, numpy_dtype
from .digest import check_sealed, sealed
from .files import write_beside
from .signing import Keys, signed_bytes

_LIST_MAGIC = 0xF7E58D4F05049CB7
_TENSOR_MAGIC = 0xDD5E40F096B4A13F
_CPU = 1


@explained
def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Tensors (or arrays) by name as bytes that `load_param_dict` reads."""
    out = [struct.pack("<QQQ", _LIST_MAGIC, 0, len(params))]
    for name in params:
        data = name.encode()
        out.append(struct.pack("<Q", len(data)) + data)
    out.append(struct.pack("<Q", len(params)))
    out += [_tensor_bytes(value) for value in params.values()]
    return bytearray(b"".join(out))


def _tensor_bytes(value: Any) -> bytes:
    values = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    dtype = DataType(str(value.dtype) if isinstance(value, Tensor) else values.dtype)
    shape = values.shape[:-1] if dtype.lanes > 1 else values.shape
    head = struct.pack("<QQii", _TENSOR_MAGIC, 0, _CPU, 0)
    head += struct.pack("<iBBH", len(shape), dtype.type_code, dtype.bits, dtype.lanes)
    head += struct.pack(f"<{len(shape)}q", *shape)
    data = np.ascontiguousarray(values).tobytes()
    return head + struct.pack("<q", len(data)) + data


@explained
def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, Tensor]:
    """The tensors by name."""
    return _tensors(_Reader(bytes(param_bytes)))


def _tensors(reader: _Reader) -> dict[str, Tensor]:
    try:
        magic, _, count = reader.take("<QQQ")
        if magic != _LIST_MAGIC:
            raise ValueError("it does not start like a parameter file")
        names = [reader.bytes(reader.take("<Q")[0]).decode() for _ in range(count)]
        (tensors,) = reader.take("<Q")
        if tensors != count:
            raise ValueError(f"{count} names for {tensors} tensors")
        return {name: reader.tensor() for name in names}
    except (struct.error, ValueError) as err:
        raise TVMError(
            message(
                "load parameters",
                found=f"damaged data: {err}",
                legal="bytes written by save_param_dict",
            )
        ) from err


def save_param_dict_to_file(params: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write parameters to a file; an old file stays whole if that fails."""
    write_beside(path, sealed(bytes(save_param_dict(params))))


def load_param_dict_from_file(
    path: str | os.PathLike[str], *, trusted_keys: Keys | None = None
) -> dict[str, Tensor]:
    """Read parameters from a file; TVMError if it is not as it was written.

    SignatureError if none of the trusted keys signed it: those given (paths of `.pub` files, or
    their lines), or those that TVM_TRUSTED_KEYS names.
    """
    content = signed_bytes(path, trusted_keys)
    reader = _Reader(content)
    is_sealed = check_sealed(content, path)
    found = _tensors(reader)
    if not is_sealed and reader.left():
        raise TVMError(
            message(
                f"load parameters from {os.fspath(path)!r}",
                found=f"damaged data: {reader.left()} bytes behind the last tensor",
                legal="a file as it was written",
            )
        )
    return found


class _Reader:
    """Takes parts off the front of bytes, and refuses to read beyond their end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._offset = 0

    def take(self, form: str) -> tuple[Any, ...]:
        """Numbers of a struct format."""
        return struct.unpack(form, self.bytes(struct.calcsize(form)))

    def left(self) -> int:
        """How many bytes have not been taken."""
        return len(self._data) - self._offset

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        if count < 0 or self._offset + count > len(self._data):
            raise ValueError(f"{count} bytes wanted, {len(self._data) - self._offset} left")
        part = self._data[self._offset : self._offset + count]
        self._offset += count
        return part

    def tensor(self) -> Tensor:
        """One tensor."""
        magic, _, _, _ = self.take("<QQii")
        if magic != _TENSOR_MAGIC:
            raise ValueError("a tensor does not start like one")
        ndim, code, bits, lanes = self.take("<iBBH")
        if not 0 <= ndim <= 64:
            raise ValueError(f"a tensor of {ndim} dimensions")
        shape = self.take(f"<{ndim}q")
        (nbytes,) = self.take("<q")
        dtype = _dtype_of(code, bits, lanes)
        full = (*shape, lanes) if lanes > 1 else shape
        element = numpy_dtype(dtype)
        if any(extent < 0 for extent in shape) or nbytes != math.prod(full) * element.itemsize:
            raise ValueError(f"{nbytes} bytes for a tensor of shape {shape}, {dtype}")
        values = np.frombuffer(self.bytes(nbytes), element).reshape(full)
        return empty(shape, dtype).copyfrom(values)


def _dtype_of(code: int, bits: int, lanes: int) -> DataType:
    names = ["int", "uint", "float", "handle", "bfloat"]
    if code == 6 or (code == 1 and bits == 1):
        name = "bool"
    elif code < len(names):
        name = f"{names[code]}{bits}"
    else:
        name = narrow_float_of(code) or ""
        if not name:
            raise ValueError(f"an unknown type code {code}")
    return DataType(name).with_lanes(lanes)
