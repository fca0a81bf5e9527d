"""Kernels of a CUDA binary, launched by the driver that is installed here."""

from __future__ import annotations

import ctypes
import functools
import importlib
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import get_global_func, library
from tvm.support.dtype import DataType
from tvm.support.kernel_info import KernelInfo

from .device_module import DeviceModule
from .module import RUNNABLE, Module

_AXES: Final = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
                "threadIdx.z")  # fmt: skip
DYNAMIC_SHARED: Final = "tir.use_dyn_shared_memory"  # its value in a call: bytes a block
_MAX_DYNAMIC_SHARED: Final = 8  # an attribute of functions, by the driver's number


class CUDAModule(Module):
    """The kernels of a PTX text or of a cubin; a call gives arguments, then launch extents."""

    kind = "cuda"

    def __init__(
        self, code: bytes, fmt: str, kernels: dict[str, KernelInfo], source: str = ""
    ) -> None:
        super().__init__()
        for name, info in kernels.items():
            unknown = [tag for tag in info.launch_param_tags if tag not in (*_AXES, DYNAMIC_SHARED)]
            if unknown:
                raise TVMError(
                    message(
                        f"load kernel {name!r}",
                        found=f"launch parameters {', '.join(unknown)}",
                        legal=", ".join((*_AXES, DYNAMIC_SHARED)),
                    )
                )
        self.code: Final = code
        self.format: Final = fmt
        self.kernels: Final = dict(kernels)
        self.source: Final = source
        self._handle: Any = None

    def function_names(self) -> list[str]:
        return list(self.kernels)

    @property
    def is_device_module(self) -> bool:
        """Its functions run on the GPU."""
        return True

    def get_property_mask(self) -> int:
        """It runs where a driver is."""
        return RUNNABLE

    def get_write_formats(self) -> Sequence[str]:
        """The format it was given in."""
        return (self.format,)

    def inspect_source(self, fmt: str = "") -> str:
        """The text in CUDA, or with "ptx" that of the assembler."""
        if fmt == "ptx" and self.format == "ptx":
            return self.code.decode()
        return self.source if fmt in ("", "cuda", "cu") else ""

    def write_to_file(self, file_name: str, fmt: str = "") -> None:
        """Write the binary as it is."""
        if fmt not in ("", self.format):
            raise TVMError(
                message(f"write {file_name!r}", found=f"format {fmt!r}", legal=self.format)
            )
        with open(file_name, "wb") as file:
            file.write(self.code)

    def _find(self, name: str) -> Any:
        info = self.kernels.get(name)
        if info is None:
            return None
        return library().convert(lambda *args: self._launch(name, info, args))

    def _launch(self, name: str, info: KernelInfo, args: Sequence[Any]) -> None:
        count, tags = len(info.arg_types), info.launch_param_tags
        if len(args) != count + len(tags):
            raise TVMError(
                message(
                    f"launch kernel {name!r}",
                    found=f"{len(args)} values",
                    legal=f"{count} arguments, then {', '.join(tags)}",
                )
            )
        extents = {**dict.fromkeys(_AXES, 1), DYNAMIC_SHARED: 0}
        extents.update(zip(tags, map(int, args[count:])))
        packed = [_packed(kind, arg) for kind, arg in zip(info.arg_types, args)]
        pointers = (ctypes.c_void_p * max(count, 1))(*[ctypes.addressof(p) for p in packed])
        call = driver()
        if self._handle is None:
            handle = ctypes.c_void_p()
            call("cuModuleLoadData", ctypes.byref(handle), self.code + b"\0")
            self._handle = handle
        kernel = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(kernel), self._handle, name.encode())
        dims = [ctypes.c_uint(extents[axis]) for axis in _AXES]
        shared = extents[DYNAMIC_SHARED]
        if shared > 48 << 10:  # more than that is given only on demand
            call("cuFuncSetAttribute", kernel, _MAX_DYNAMIC_SHARED, shared)
        call("cuLaunchKernel", kernel, *dims, ctypes.c_uint(shared), None, pointers, None)


def source_launcher(module: DeviceModule, name: str) -> Callable[..., None]:
    """A kernel of CUDA source, compiled at the first launch for the machine it names."""
    driver()  # before compiling, which is of no use without one
    return lambda *args: _compiled(module)._launch(name, module.kernels[name], args)


@functools.cache
def _compiled(module: DeviceModule) -> CUDAModule:
    """The binary of a source, made by whatever is registered as CUDA's compiler."""
    compile_source = get_global_func("tvm_callback_cuda_compile")
    target = None
    if module.arch:
        target = importlib.import_module("tvm.target").Target(f"cuda -arch={module.arch}")
    binary = bytes(compile_source(module.source, target))
    return CUDAModule(binary, "ptx", module.kernels, module.source)


def _packed(kind: str, arg: Any) -> Any:
    """The bytes of an argument as a kernel gets them."""
    dtype = DataType(kind)
    if dtype.is_handle:
        return ctypes.c_void_p(getattr(arg, "value", arg))
    if dtype.is_float:
        code = {16: "e", 32: "f", 64: "d"}[dtype.bits]
        return ctypes.create_string_buffer(struct.pack(code, float(arg)), dtype.bits // 8)
    size = max(dtype.bits, 8) // 8
    value = int(arg) & ((1 << (8 * size)) - 1)
    return ctypes.create_string_buffer(value.to_bytes(size, "little"), size)


@functools.cache
def driver() -> Callable[..., None]:
    """Calls a function of the CUDA driver, on the first device's primary context."""
    try:
        loaded: Any = ctypes.CDLL("nvcuda.dll" if hasattr(ctypes, "WinDLL") else "libcuda.so.1")
    except OSError as err:
        raise TVMError(
            message(
                "run a CUDA kernel", found="no CUDA driver here", legal="a machine with a GPU"
            )
        ) from err

    def call(name: str, *args: Any) -> None:
        code = getattr(loaded, name)(*args)
        if code != 0:
            text = ctypes.c_char_p()
            loaded.cuGetErrorString(code, ctypes.byref(text))
            said = (text.value or b"").decode() or f"error {code}"
            raise TVMError(message(f"{name} of the CUDA driver", found=said))

    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)

    def on_context(name: str, *args: Any) -> None:
        call("cuCtxSetCurrent", context)  # the calling thread may be another than the last
        call(name, *args)

    return on_context
