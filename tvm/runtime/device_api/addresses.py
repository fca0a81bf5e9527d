"""Addresses for memory that has none: buffers of devices whose interface gives out handles.

Tensors, views and compiled host code add offsets to addresses. So each buffer gets a range of
numbers of its own, from which buffer and offset are found again. No machine maps memory at these
numbers: whoever takes one for an address of the host is stopped by it.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from tvm.error import TVMError, message

_OFFSET_BITS: Final = 40  # a buffer of up to 1 TiB
_FIRST: Final = 1 << 62  # neither x86-64 nor AArch64 has addresses with bits 48 to 62 set so
_COUNT: Final = 1 << (62 - _OFFSET_BITS)
MAX_BYTES: Final = 1 << _OFFSET_BITS


class AddressSpace:
    """Which buffer lies behind an address."""

    def __init__(self) -> None:
        self._buffers: dict[int, Any] = {}
        self._free: list[int] = []
        self._next = 0
        self._lock = threading.Lock()

    def assign(self, buffer: Any) -> int:
        """The address of a buffer's first byte, until `forget`."""
        with self._lock:
            if self._free:
                number = self._free.pop()
            else:
                number, self._next = self._next, self._next + 1
            if number >= _COUNT:
                raise MemoryError(
                    message("memory on a device", found=f"{_COUNT:,} buffers are in use")
                )
            self._buffers[number] = buffer
        return _FIRST | number << _OFFSET_BITS

    def find(self, address: int) -> tuple[Any, int]:
        """The buffer that an address points into, and how many bytes after its start."""
        buffer = self._buffers.get((address ^ _FIRST) >> _OFFSET_BITS)
        if buffer is None:
            raise TVMError(
                message(
                    f"memory of a device at {address:#x}",
                    found="no buffer there: it was given back, or is one of the host",
                    legal="tensors on the device of the call",
                )
            )
        return buffer, address & (MAX_BYTES - 1)

    def forget(self, address: int) -> Any:
        """Take an address back; the buffer that it led to."""
        number = (address ^ _FIRST) >> _OFFSET_BITS
        with self._lock:
            buffer = self._buffers.pop(number)
            self._free.append(number)
        return buffer


ADDRESSES: Final = AddressSpace()
