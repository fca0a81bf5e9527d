"""Memory between unmapped pages, for finding stores and loads outside of buffers.

With `TVM_DEBUG_MEMORY=1` in the environment each tensor of the CPU and each piece of a kernel's
scratch memory lies between pages that nobody may touch, as near to the second as its alignment
allows; what is left between them is filled with a pattern. A kernel that touches such a page goes
on with it mapped, and fails when it returns: BoundsError names the kernel, the buffer, the side and
the distance. Only Linux is served, and only code that this process has compiled.
"""

from __future__ import annotations

import bisect
import contextlib
import ctypes
import mmap
import os
import platform
import sys
import threading
from typing import Any, Final

from tvm.error import message
from tvm.ffi.library import library

ALIGNMENT: Final = 64
_PAGE: Final = mmap.PAGESIZE
_GUARD: Final = 16 * _PAGE
_PATTERN: Final = 0xA5
_READ_WRITE, _NONE = 3, 0
_PRIVATE_ANONYMOUS: Final = 0x22
_SA_SIGINFO, _SA_NODEFER = 4, 0x40000000
_SIGSEGV: Final = 11
_ADDRESS_IN_INFO: Final = 16  # si_addr of a siginfo_t
_ERROR_IN_CONTEXT: Final = 192  # what x86-64 says of a fault; bit 1: a store

ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32
)
FREE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
NAME = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
CHECK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)
_HANDLER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def enabled() -> bool:
    """Whether the environment asks for guarded memory, and the system has it."""
    asked = os.environ.get("TVM_DEBUG_MEMORY", "0") not in ("", "0")
    return asked and sys.platform == "linux"


class _Action(ctypes.Structure):
    """struct sigaction of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint8 * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


class _Block:
    """A mapping: guard, pattern, the buffer, pattern, guard."""

    def __init__(self, start: int, room: int, size: int) -> None:
        self.start, self.room, self.size = start, room, size
        self.end = start + 2 * _GUARD + room
        self.payload = start + _GUARD + room - (-(-size // ALIGNMENT) * ALIGNMENT)
        self.name = "a buffer without a name"
        self.fault: tuple[int, str] | None = None  # address, and what was done
        self.is_free = False

    def slack(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The two regions of the pattern: address and length."""
        first, behind = self.start + _GUARD, self.payload + self.size
        return (first, self.payload - first), (behind, self.end - _GUARD - behind)


class GuardedMemory:
    """All guarded memory of this process."""

    def __init__(self) -> None:
        self._c = ctypes.CDLL(None, use_errno=True)
        self._c.mmap.restype = ctypes.c_void_p
        self._c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                                 ctypes.c_int, ctypes.c_long]  # fmt: skip
        self._c.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._lock = threading.RLock()
        self._starts: list[int] = []
        self._blocks: dict[int, _Block] = {}  # by start
        self._tells_stores = platform.machine() == "x86_64"
        self._before = _Action()
        self._handler = _HANDLER(self._on_fault)
        self.allocate = ALLOCATE(lambda _type, _id, size, _code, _bits: self.take(size))
        self.free = FREE(lambda _type, _id, address: self.give_back(address))
        self.name = NAME(self._name)
        self.check = CHECK(self._check)
        handler = ctypes.cast(self._handler, ctypes.c_void_p)
        action = _Action(handler.value, (ctypes.c_uint8 * 128)(), _SA_SIGINFO | _SA_NODEFER, None)
        self._c.sigaction(_SIGSEGV, ctypes.byref(action), ctypes.byref(self._before))

    def take(self, size: int) -> int | None:
        """The address of so many bytes, or None with an error set."""
        room = -(-max(size, 1) // _PAGE) * _PAGE
        start = self._c.mmap(None, room + 2 * _GUARD, _NONE, _PRIVATE_ANONYMOUS, -1, 0)
        if size < 0 or start in (None, ctypes.c_void_p(-1).value):
            _raise("MemoryError", message("guarded memory", found=f"no room for {size} bytes"))
            return None
        self._c.mprotect(start + _GUARD, room, _READ_WRITE)
        block = _Block(start, room, size)
        for address, length in block.slack():
            ctypes.memset(address, _PATTERN, length)
        with self._lock:
            bisect.insort(self._starts, start)
            self._blocks[start] = block
        return block.payload

    def give_back(self, payload: int) -> int:
        """Unmap the memory at an address that `take` gave."""
        with self._lock:
            block = self._block_at(payload)
            if block is None:
                return -1
            if self._complaint(block) is not None:
                block.is_free = True
                return 0  # it stays until the error has named it
            self._drop(block)
        return 0

    def _drop(self, block: _Block) -> None:
        self._starts.remove(block.start)
        del self._blocks[block.start]
        self._c.munmap(block.start, block.end - block.start)

    def array(self, size: int) -> Any:
        """Guarded bytes as a numpy array, given back when nobody holds them."""
        import numpy as np  # only where somebody looks for faults

        address = self.take(size)
        if address is None:
            raise MemoryError(message("guarded memory", found=f"no room for {size} bytes"))
        memory: Any = (ctypes.c_uint8 * size).from_address(address)
        memory.owner = _Owner(self, address)
        return np.frombuffer(memory, np.uint8) if size else np.empty(0, np.uint8)

    def _block_at(self, address: int) -> _Block | None:
        at = bisect.bisect_right(self._starts, address) - 1
        block = self._blocks[self._starts[at]] if at >= 0 else None
        return block if block is not None and address < block.end else None

    def _name(self, address: int, name: bytes) -> None:
        with self._lock:
            block = self._block_at(address or 0)
            if block is not None:
                block.name = name.decode(errors="replace")

    def _on_fault(self, number: int, info: int, context: int) -> None:
        """Note the fault and let the code go on; faults elsewhere go to the handler before."""
        address = ctypes.c_uint64.from_address(info + _ADDRESS_IN_INFO).value
        with self._lock:
            block = self._block_at(address)
            if block is None:
                self._c.sigaction(number, ctypes.byref(self._before), None)
                return
            if block.fault is None:
                what = "touches"
                if self._tells_stores:
                    error = ctypes.c_uint64.from_address(context + _ERROR_IN_CONTEXT).value
                    what = "writes" if error & 2 else "reads"
                block.fault = address, what
            self._protect(block, _READ_WRITE)

    def _protect(self, block: _Block, how: int) -> None:
        self._c.mprotect(block.start, _GUARD, how)
        self._c.mprotect(block.end - _GUARD, _GUARD, how)

    def _complaint(self, block: _Block) -> str | None:
        """What happened outside of a buffer."""
        fault = block.fault
        if fault is None:
            for address, length in block.slack():
                held = ctypes.string_at(address, length)
                if held.count(_PATTERN) != length:
                    at = next(i for i, value in enumerate(held) if value != _PATTERN)
                    fault = address + at, "writes"
                    break
        if fault is None:
            return None
        address, what = fault
        behind = address - block.payload - block.size
        where = (
            f"{behind} bytes behind the end"
            if behind >= 0
            else f"{block.payload - address} bytes before the start"
        )
        return f"it {what} {where} of {block.name}, which has {block.size} bytes"

    def _check(self, kernel: bytes) -> int:
        """Called when a kernel returns: -1 with an error set if it was outside of a buffer."""
        with self._lock:
            found = [(b, why) for b in self._blocks.values() if (why := self._complaint(b))]
            for block, _ in found:  # told once
                block.fault = None
                self._protect(block, _NONE)
                for address, length in block.slack():
                    ctypes.memset(address, _PATTERN, length)
                if block.is_free:
                    self._drop(block)
        if not found:
            return 0
        told = message(
            f"kernel {kernel.decode(errors='replace')} keeps to its buffers",
            found="\n".join(why for _, why in found),
            legal="indices within the shape of the buffer",
        )
        _raise("BoundsError", told)
        return -1


class _Owner:
    """Gives guarded memory back."""

    def __init__(self, memory: GuardedMemory, address: int) -> None:
        self._memory, self._address = memory, address

    def __del__(self) -> None:
        with contextlib.suppress(TypeError, AttributeError):  # at the end of Python
            self._memory.give_back(self._address)


def _raise(kind: str, text: str) -> None:
    """Set the error that the caller of compiled code will see."""
    library().LIB.TVMFFIErrorSetRaisedFromCStr(kind.encode(), text.encode())


_lock = threading.Lock()
_memory: GuardedMemory | None = None


def guarded_memory() -> GuardedMemory:
    """The guarded memory of this process."""
    global _memory
    with _lock:
        if _memory is None:
            _memory = GuardedMemory()
        return _memory
