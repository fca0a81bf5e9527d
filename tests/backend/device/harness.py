"""Kernels for a GPU, run as C++ on this machine: the host code is the real one, and so are its
checks and launches; only what a launch does is ours (see shim.h)."""

from __future__ import annotations

import atexit
import ctypes
import functools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.llvm_gpu.run import for_this_cpu, wrapper
from tvm.ir.module import IRModule
from tvm.runtime import device_module
from tvm.runtime.attributes import DeviceAttr
from tvm.runtime.device_api import kinds
from tvm.runtime.device_api.api import DeviceAPI
from tvm.runtime.device_module import DeviceModule
from tvm.support.dtype import DataType
from tvm.target import Target

SHIM = Path(__file__).with_name("shim.h")
LANGUAGES = ("cuda", "rocm", "opencl", "metal")
ALL_TARGETS = (*LANGUAGES, "webgpu")
LLVM_TARGETS = ("nvptx", "amdgcn")  # LLVM's own code for kinds of LANGUAGES
WARP = {"cuda": 32, "rocm": 64, "opencl": 32, "metal": 16}
_EMPTY = ("cuda_fp16.h", "cuda_bf16.h", "metal_stdlib", "hip/hip_runtime.h", "hip/hip_fp16.h")
_AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z")


def compiler() -> str:
    """A C++ compiler of this machine."""
    found = next((p for p in map(shutil.which, ("g++", "clang++", "c++")) if p is not None), None)
    assert found is not None, "these tests need g++ or clang++"
    return found


def target_of(kind: str) -> Target:
    """A target of a kind, or one of LLVM_TARGETS, whose host code runs here."""
    if kind == "nvptx":
        return Target({"kind": "nvptx", "mcpu": "sm_80"}, "llvm")
    if kind == "amdgcn":
        return Target({"kind": "rocm", "mcpu": "gfx90a", "mtriple": "amdgcn-amd-amdhsa"}, "llvm")
    return Target({"kind": kind, "arch": "sm_80"} if kind == "cuda" else {"kind": kind}, "llvm")


def built(mod: IRModule, kind: str) -> Any:
    """A module compiled for a kind of target."""
    return tvm.compile(mod, target=target_of(kind))


def source_of(mod: IRModule, kind: str) -> str:
    """The text of the kernels of a module."""
    (device,) = built(mod, kind).mod.imports
    assert device.kind == kind
    return str(device.inspect_source())


# --- text that C++ does not take ---


def as_cpp(text: str, kind: str) -> str:
    """The text with what no macro can express in other words."""
    if kind == "opencl":
        names = "char|uchar|short|ushort|int|uint|long|ulong|half|float|double"
        text = re.sub(rf"\(\(({names})(2|3|4|8|16)\)\(", r"(\1\2(", text)
        text = re.sub(r"^(\s*)(volatile )?__local ", r"\1\2static ", text, flags=re.M)
    if kind == "metal":
        text = text.replace("using namespace metal;", "")
        text = re.sub(r"\[\[[^\]]*\]\]", "", text)
        shared = r"^(\s*)alignas\(16\) (volatile )?threadgroup "
        text = re.sub(shared, r"\1static \2", text, flags=re.M)
    # memory whose size a launch gives: more than any program here asks for
    return re.sub(r"extern (__shared__ .*\w)\[\];", r"\1[1 << 16];", text)


def _command(kind: str, level: str) -> list[str]:
    """The compiler with the options of all kernels of a kind."""
    defined = {"CUDA": kind in ("cuda", "rocm"), "HIP": kind == "rocm", "OPENCL": kind == "opencl"}
    return [compiler(), "-std=c++17", level, "-w", "-fwrapv", "-fno-strict-aliasing", "-fPIC",
            *(f"-DSHIM_{name}={int(value)}" for name, value in defined.items())]  # fmt: skip


@functools.cache
def _shim(kind: str, level: str) -> str:
    """The folder of shim.h, compiled once for all programs of a kind where the compiler can."""
    folder = tempfile.mkdtemp(prefix="tvm-shim-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    header = Path(folder, SHIM.name)
    shutil.copyfile(SHIM, header)
    if Path(compiler()).name.startswith("g++"):  # clang takes headers under another option
        ahead = ["-x", "c++-header", str(header), "-o", f"{header}.gch"]
        subprocess.run([*_command(kind, level), *ahead], capture_output=True, check=True)
    return folder


def shared_library(
    source: str, kind: str, names: Iterable[str], level: str = "-O1", more: bytes = b""
) -> bytes:
    """Kernels as a shared library with functions `run_<kernel>` and, of CUDA and HIP,
    `parameters_<kernel>`, which tells which are pointers; `more` is an object file beside them."""
    runs = [
        f'extern "C" int run_{name}(void** args, const int* extents) '
        f"{{ return launch([] {{ call({name}, arguments); }}, args, extents, {WARP[kind]}); }}"
        for name in names
    ]
    cuda = kind in ("cuda", "rocm")
    if cuda:
        runs += [f'extern "C" const char* parameters_{name}() {{ return parameters({name}); }}'
                 for name in names]  # fmt: skip
    text = "\n".join([f'#include "{SHIM.name}"', as_cpp(source, kind), *runs])
    with tempfile.TemporaryDirectory(prefix="tvm-shim-") as place:
        folder = Path(place)
        for name in _EMPTY:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("")
        (folder / "kernels.cpp").write_text(text)
        made, beside = folder / "kernels.so", folder / "more.o"
        beside.write_bytes(more)
        command = [*_command(kind, level), "-shared", f"-I{_shim(kind, level)}", f"-I{folder}",
                   "-o", str(made), str(folder / "kernels.cpp"),
                   *([str(beside)] if more else [])]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stderr[:3000]}\n{text}"
        return made.read_bytes()


def library_of(module: DeviceModule) -> ctypes.CDLL:
    """The kernels of a module, loaded."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        if "ll" in module.forms:  # of LLVM, which makes code for this machine as well
            text = wrapper(module.kernels, WARP[module.kind])
            made = shared_library(text, module.kind, (), more=for_this_cpu(module.forms["ll"]))
        else:
            made = shared_library(module.source, module.kind, list(module.kernels))
        file.write(made)
        file.flush()
        return ctypes.CDLL(file.name)


_library = functools.lru_cache(maxsize=64)(library_of)


def launcher(module: DeviceModule, name: str) -> Callable[..., None]:
    """What a launch does here."""
    info, kind = module.kernels[name], module.kind

    def launch(*args: Any) -> None:
        count = len(info.arg_types)
        extents = dict(zip(info.launch_param_tags, args[count:]))
        held = [_held(t, a) for t, a in zip(info.arg_types, args)]
        pointers = [h if isinstance(h, int) else ctypes.addressof(h) for h in held]
        if kind == "metal":
            pointers, keep = _as_metal(info.arg_types, args)
            held.append(keep)
        given = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        sizes = (ctypes.c_int * 6)(*[int(extents.get(axis, 1)) for axis in _AXES])
        assert getattr(_library(module), f"run_{name}")(given, sizes) == 0, "threads do not meet"

    return launch


def _as_metal(kinds: Sequence[str], args: Sequence[Any]) -> tuple[list[int | None], Any]:
    """Buffers, then the numbers in a structure, then what stands for block and thread."""
    buffers: list[int | None] = [_address(a) for t, a in zip(kinds, args) if t == "handle"]
    fields = [(f"f{n}", np.dtype(t)) for n, t in enumerate(kinds) if t != "handle"]
    numbers = tuple(a for t, a in zip(kinds, args) if t != "handle")
    if not fields:
        return [*buffers, None, 1], None
    packed = np.array([numbers], np.dtype(fields, align=True))
    return [*buffers, packed.ctypes.data, None, 1], packed


def _address(arg: Any) -> int:
    return int(getattr(arg, "value", arg))


def _held(kind: str, arg: Any) -> Any:
    if kind == "handle":
        return _address(arg)
    return np.array(arg, str(DataType(kind))).ctypes.data_as(ctypes.POINTER(ctypes.c_char)).contents


# --- tensors that say that they are on a device ---


class DLTensor(ctypes.Structure):
    """dlpack.h, struct DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


def on_device(array: np.ndarray[Any, Any], device_type: int, dtype: str = "") -> Any:
    """A tensor on a device, as an address; its memory is that of the array."""
    kind = DataType(dtype or str(array.dtype))
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    tensor = DLTensor(array.ctypes.data, device_type, 0, array.ndim, kind.type_code, kind.bits, 1,
                      shape, None, 0)  # fmt: skip
    pointer = ctypes.c_void_p(ctypes.addressof(tensor))
    pointer.keep = (tensor, shape, array)  # type: ignore[attr-defined]
    return pointer


class _HostMemory(DeviceAPI):
    """A device of a kind that this process plays: its memory, and kernels by `launcher`."""

    def __init__(self) -> None:
        super().__init__()
        self._taken: dict[int, Any] = {}

    def count(self) -> int:
        return 1

    def attribute(self, index: int, attr: Any) -> Any:
        return {DeviceAttr.EXIST: True, DeviceAttr.DEVICE_NAME: "C++ on this CPU"}.get(attr)

    def allocate(self, index: int, nbytes: int) -> int:
        memory = (ctypes.c_char * nbytes)()
        self._taken[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    def release(self, index: int, address: int) -> None:
        del self._taken[address]

    def write(self, index: int, address: int, data: memoryview) -> None:
        ctypes.memmove(address, bytes(data), len(data))

    def read(self, index: int, address: int, into: memoryview) -> None:
        into[:] = ctypes.string_at(address, len(into))

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

    def kernel(self, index: int, module: DeviceModule, name: str) -> Any:
        run, tags = launcher(module, name), module.kernels[name].launch_param_tags
        return lambda args, extents: run(*args, *[extents[tag] for tag in tags])

    def device_of(self, address: int) -> int:
        return 0

    def sync(self, index: int, stream: int) -> None:
        pass


@functools.cache
def _playing(kind: str) -> _HostMemory:
    """What plays the devices of a kind."""
    made: _HostMemory = type("_HostMemory", (_HostMemory,), {"kind": kind})()
    return made


@contextmanager
def launches_here() -> Iterator[None]:
    """Within, kernels of all languages run on this machine, for programs of the VM too."""
    with pytest.MonkeyPatch.context() as patch:
        for kind in LANGUAGES:
            patch.setitem(device_module.LAUNCHERS, kind, f"{__name__}:launcher")
        # scratch memory between launches
        patch.setattr(kinds, "_started", _playing)
        yield


def run(library: Any, kind: str, name: str, *arrays: Any) -> None:
    """Call a function of a compiled module; arrays are tensors on the target's device."""
    device = target_of(kind).get_target_device_type()
    args = [on_device(a, device, "bool" if a.dtype == bool else "")
            if isinstance(a, np.ndarray) else a for a in arrays]  # fmt: skip
    with launches_here():
        library[name](*args)
