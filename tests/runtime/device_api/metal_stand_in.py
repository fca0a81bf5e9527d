"""A stand-in for pyobjc's Metal, on this machine's memory: the methods that the runtime calls.

Work waits in its command buffer until that is committed and waited for, so a missing wait shows as
a wrong value. Libraries are shared libraries of C++ (tests/backend/device/shim.h).
"""

from __future__ import annotations

import ctypes
import re
import tempfile
from types import SimpleNamespace
from typing import Any

from tests.backend.device.harness import shared_library

MTLResourceStorageModeShared = 0
MAX_BYTES = 1 << 26
_KERNEL = re.compile(r"kernel void (\w+)\(")
calls: list[str] = []


def MTLSizeMake(*extents: int) -> tuple[int, ...]:
    return extents


class MTLCompileOptions:
    """How text is compiled."""

    fast = True

    @classmethod
    def new(cls) -> MTLCompileOptions:
        return cls()

    def setFastMathEnabled_(self, fast: bool) -> None:
        self.fast = fast


class _Buffer:
    def __init__(self, nbytes: int) -> None:
        self.memory = (ctypes.c_char * nbytes).from_buffer(bytearray(b"\xa5" * nbytes))

    def contents(self) -> Any:
        return SimpleNamespace(as_buffer=lambda n: memoryview(self.memory)[:n])

    def address(self, offset: int) -> int:
        return ctypes.addressof(self.memory) + offset


class _Encoder:
    def __init__(self, work: list[Any]) -> None:
        self._work = work
        self._given: dict[int, Any] = {}
        self._run: Any = None
        self.ended = False

    def setComputePipelineState_(self, pipeline: Any) -> None:
        self._run = pipeline.run

    def setBuffer_offset_atIndex_(self, buffer: Any, offset: int, index: int) -> None:
        self._given[index] = None if buffer is None else (buffer, offset)

    def setBytes_length_atIndex_(self, data: bytes, length: int, index: int) -> None:
        assert len(data) == length
        self._given[index] = ctypes.create_string_buffer(data, length)

    def dispatchThreadgroups_threadsPerThreadgroup_(self, blocks: Any, threads: Any) -> None:
        assert not self.ended
        calls.append("dispatch")
        given, run = dict(self._given), self._run

        def work() -> None:
            pointers: list[int | None] = []
            for index in sorted(given):
                one = given[index]
                if isinstance(one, tuple):
                    pointers.append(one[0].address(one[1]))
                else:
                    pointers.append(None if one is None else ctypes.addressof(one))
            pointers += [None, 1]  # what stands for block and thread
            sizes = (ctypes.c_int * 6)(*blocks, *threads)
            assert run((ctypes.c_void_p * len(pointers))(*pointers), sizes) == 0

        self._work.append(work)

    def copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size_(
        self, old: Any, start: int, new: Any, place: int, nbytes: int
    ) -> None:
        calls.append("copy")
        self._work.append(lambda: ctypes.memmove(new.address(place), old.address(start), nbytes))

    def endEncoding(self) -> None:
        self.ended = True


class _Commands:
    def __init__(self, queue: list[_Commands]) -> None:
        self._queue = queue
        self.work: list[Any] = []
        self._encoder: _Encoder | None = None

    def computeCommandEncoder(self) -> _Encoder:
        assert self._encoder is None or self._encoder.ended  # one at a time
        self._encoder = _Encoder(self.work)
        return self._encoder

    blitCommandEncoder = computeCommandEncoder

    def commit(self) -> None:
        assert self._encoder is None or self._encoder.ended
        calls.append("commit")
        self._queue.append(self)

    def waitUntilCompleted(self) -> None:
        while self in self._queue:
            for work in self._queue.pop(0).work:
                work()

    def error(self) -> None:
        return None


class _Device:
    def __init__(self) -> None:
        self._used = 0
        self.options: MTLCompileOptions | None = None

    def name(self) -> str:
        return "stand-in"

    def maxThreadsPerThreadgroup(self) -> Any:
        return SimpleNamespace(width=1024, height=1024, depth=1024)

    def maxThreadgroupMemoryLength(self) -> int:
        return 32768

    def recommendedMaxWorkingSetSize(self) -> int:
        return MAX_BYTES

    def currentAllocatedSize(self) -> int:
        return self._used

    def newCommandQueue(self) -> Any:
        queue: list[_Commands] = []
        return SimpleNamespace(commandBuffer=lambda: _Commands(queue))

    def newBufferWithLength_options_(self, nbytes: int, options: int) -> Any:
        assert options == MTLResourceStorageModeShared
        return None if nbytes > MAX_BYTES else _Buffer(nbytes)

    def newLibraryWithSource_options_error_(self, source: str, options: Any, error: None) -> Any:
        self.options = options
        try:
            content = shared_library(source, "metal", dict.fromkeys(_KERNEL.findall(source)))
        except AssertionError as err:
            text = str(err)
            return None, SimpleNamespace(localizedDescription=lambda: text)
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(content)
            file.flush()
            library = ctypes.CDLL(file.name)
        return SimpleNamespace(newFunctionWithName_=lambda n: getattr(library, f"run_{n}")), None

    def newComputePipelineStateWithFunction_error_(self, function: Any, error: None) -> Any:
        return SimpleNamespace(run=function, maxTotalThreadsPerThreadgroup=lambda: 512), None


devices = [_Device(), _Device()]


def MTLCopyAllDevices() -> list[_Device]:
    return devices
