"""A stand-in for hip-python, on this machine's memory: the functions of `hip` and `hiprtc` that the
runtime calls. Code objects are shared libraries of C++ (tests/backend/device/shim.h). Work is done
when it is asked for; every call is noted."""

from __future__ import annotations

import ctypes
import enum
import re
import tempfile
from types import SimpleNamespace
from typing import Any

from tests.backend.device.harness import shared_library

_KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\(')
MEMORY = 1 << 26


class Error(enum.IntEnum):
    """hipError_t."""

    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorOutOfMemory = 2
    hipErrorNotFound = 500


_OK = Error.hipSuccess
_ATTRIBUTES = {
    "MaxThreadsPerBlock": 1024, "WarpSize": 64, "MaxSharedMemoryPerBlock": 65536, "ClockRate": 1700,
    "ComputeCapabilityMajor": 9, "ComputeCapabilityMinor": 0, "MultiprocessorCount": 110,
    "MaxBlockDimX": 1024, "MaxBlockDimY": 1024, "MaxBlockDimZ": 1024, "MaxRegistersPerBlock": 65536,
    "L2CacheSize": 8 << 20,
}  # fmt: skip


class Hip:
    """The module `hip.hip`, of two devices."""

    hipError_t = Error
    hipStreamCaptureMode = SimpleNamespace(hipStreamCaptureModeRelaxed=2)
    hipDeviceAttribute_t = SimpleNamespace(
        **{f"hipDeviceAttribute{name}": name for name in _ATTRIBUTES}
    )

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.blocks: dict[int, tuple[Any, int, int]] = {}  # memory, bytes, device
        self.device = 0
        self.clock = 0.0
        self._handles = 100
        self._graph: list[Any] | None = None
        self._graphs: dict[int, list[Any]] = {}
        self._events: dict[int, float] = {}

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("hip") and not name.endswith("_t"):
            object.__getattribute__(self, "calls").append(name)
        return object.__getattribute__(self, name)

    def _handle(self) -> int:
        self._handles += 1
        return self._handles

    def _inside(self, address: int, nbytes: int) -> bool:
        return any(a <= address and address + nbytes <= a + n
                   for a, (_, n, _) in self.blocks.items())  # fmt: skip

    def _do(self, work: Any) -> tuple[Error]:
        if self._graph is not None:
            self._graph.append(work)
        else:
            work()
        return (_OK,)

    # --- devices ---

    def hipGetDeviceCount(self) -> Any:
        return _OK, 2

    def hipSetDevice(self, index: int) -> Any:
        self.device = index
        return (_OK,)

    def hipGetErrorString(self, code: int) -> Any:
        return _OK, f"words for {int(code)}".encode()

    def hipDeviceGetAttribute(self, attr: str, index: int) -> Any:
        return _OK, _ATTRIBUTES[attr]

    def hipGetDeviceProperties(self, index: int) -> Any:
        return _OK, SimpleNamespace(name=b"stand-in", gcnArchName=b"gfx90a:sramecc+:xnack-")

    def hipDriverGetVersion(self) -> Any:
        return _OK, 60300000

    hipRuntimeGetVersion = hipDriverGetVersion

    def hipPointerGetAttributes(self, address: int) -> Any:
        found = next((d for a, (_, n, d) in self.blocks.items() if a <= address < a + n), None)
        if found is None:
            return Error.hipErrorInvalidValue, None
        return _OK, SimpleNamespace(device=found)

    # --- memory ---

    def hipMemGetInfo(self) -> Any:
        used = sum(n for _, n, d in self.blocks.values() if d == self.device)
        return _OK, MEMORY - used, MEMORY

    def hipMalloc(self, nbytes: int) -> Any:
        if self.hipMemGetInfo()[1] < nbytes:
            return Error.hipErrorOutOfMemory, None
        memory = (ctypes.c_char * (nbytes + 256)).from_buffer(bytearray(b"\xa5" * (nbytes + 256)))
        address = -(-ctypes.addressof(memory) // 256) * 256
        self.blocks[address] = (memory, nbytes, self.device)
        return _OK, address

    def hipFree(self, address: int) -> Any:
        del self.blocks[address]
        return (_OK,)

    def _move(self, to: int, source: int, nbytes: int, on_device: tuple[int, ...]) -> Any:
        if not all(self._inside(address, nbytes) for address in on_device):
            return (Error.hipErrorInvalidValue,)
        return self._do(lambda: ctypes.memmove(to, source, nbytes))

    def hipMemcpyHtoDAsync(self, to: int, source: int, nbytes: int, stream: int) -> Any:
        return self._move(to, source, nbytes, (to,))

    def hipMemcpyDtoHAsync(self, to: int, source: int, nbytes: int, stream: int) -> Any:
        return self._move(to, source, nbytes, (source,))

    def hipMemcpyDtoDAsync(self, to: int, source: int, nbytes: int, stream: int) -> Any:
        return self._move(to, source, nbytes, (to, source))

    # --- streams, events, graphs ---

    def hipStreamCreateWithFlags(self, flags: int) -> Any:
        return _OK, self._handle()

    def hipStreamSynchronize(self, stream: int) -> Any:
        return (_OK,)

    def hipStreamDestroy(self, stream: int) -> Any:
        return (_OK,)

    def hipStreamWaitEvent(self, stream: int, event: int, flags: int) -> Any:
        return (_OK,) if event in self._events else (Error.hipErrorInvalidValue,)

    def hipEventCreateWithFlags(self, flags: int) -> Any:
        event = self._handle()
        self._events[event] = 0.0
        return _OK, event

    def hipEventRecord(self, event: int, stream: int) -> Any:
        self._events[event] = self.clock
        return (_OK,)

    def hipEventSynchronize(self, event: int) -> Any:
        return (_OK,)

    def hipEventElapsedTime(self, start: int, stop: int) -> Any:
        return _OK, self._events[stop] - self._events[start]

    def hipEventDestroy(self, event: int) -> Any:
        del self._events[event]
        return (_OK,)

    def hipStreamBeginCapture(self, stream: int, mode: int) -> Any:
        assert mode == 2
        self._graph = []
        return (_OK,)

    def hipStreamEndCapture(self, stream: int) -> Any:
        number, self._graph, done = self._handle(), None, self._graph
        self._graphs[number] = done or []
        return _OK, number

    def hipGraphInstantiateWithFlags(self, graph: int, flags: int) -> Any:
        ready = self._handle()
        self._graphs[ready] = self._graphs[graph]
        return _OK, ready

    def hipGraphLaunch(self, ready: int, stream: int) -> Any:
        for work in self._graphs[ready]:
            work()
        return (_OK,)

    def hipGraphDestroy(self, graph: int) -> Any:
        del self._graphs[graph]
        return (_OK,)

    hipGraphExecDestroy = hipGraphDestroy

    # --- kernels ---

    def hipModuleLoadData(self, image: bytes) -> Any:
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(image)
            file.flush()
            return _OK, ctypes.CDLL(file.name)

    def hipModuleGetFunction(self, module: Any, name: bytes) -> Any:
        run = getattr(module, f"run_{name.decode()}", None)
        tell = getattr(module, f"parameters_{name.decode()}", None)
        if run is None or tell is None:
            return Error.hipErrorNotFound, None
        tell.restype = ctypes.c_char_p
        return _OK, (run, tell())

    def hipModuleLaunchKernel(self, function: Any, *given: Any) -> Any:
        *extents, _shared, _stream, parameters, _extra = given
        run, kinds = function
        places = (ctypes.c_void_p * max(len(kinds), 1)).from_address(parameters)
        values = [ctypes.c_uint64.from_address(places[n] or 0).value for n in range(len(kinds))]
        if any(k == ord("p") and v and not self._inside(v, 1) for k, v in zip(kinds, values)):
            return (Error.hipErrorInvalidValue,)

        def work() -> None:
            held = [ctypes.c_uint64(value) for value in values]
            pointers = [v if k == ord("p") else ctypes.addressof(h)
                        for k, v, h in zip(kinds, values, held)]  # fmt: skip
            sizes = (ctypes.c_int * 6)(*extents)
            assert run((ctypes.c_void_p * max(len(held), 1))(*pointers), sizes) == 0
            self.clock += 1

        return self._do(work)


class Hiprtc:
    """The module `hip.hiprtc`: a program is its text, and then its library."""

    def __init__(self) -> None:
        self.options: list[bytes] = []

    def hiprtcCreateProgram(self, source: bytes, name: bytes, count: int, *headers: Any) -> Any:
        return 0, {"source": source.decode(), "log": b"", "code": b""}

    def hiprtcCompileProgram(self, program: Any, count: int, options: list[bytes]) -> Any:
        self.options = options
        try:
            names = dict.fromkeys(_KERNEL.findall(program["source"]))
            program["code"] = shared_library(program["source"], "rocm", names, "-O0")
        except AssertionError as err:
            program["log"] = str(err).encode()
            return (6,)
        return (0,)

    def hiprtcGetCodeSize(self, program: Any) -> Any:
        return 0, len(program["code"])

    def hiprtcGetCode(self, program: Any, into: bytearray) -> Any:
        into[:] = program["code"]
        return (0,)

    def hiprtcGetProgramLogSize(self, program: Any) -> Any:
        return 0, len(program["log"])

    def hiprtcGetProgramLog(self, program: Any, into: bytearray) -> Any:
        into[:] = program["log"]
        return (0,)
