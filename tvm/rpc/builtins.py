"""What the other end of a session is asked for by its client, as functions by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tvm.error import RPCError, ShapeError, message
from tvm.ffi import register_global_func
from tvm.runtime import VirtualMachine
from tvm.runtime._device import Device
from tvm.runtime._tensor import Tensor, empty, numpy_dtype, numpy_shape
from tvm.runtime.attributes import DeviceAttr
from tvm.runtime.files import write_beside
from tvm.runtime.module import Module, load_module, system_lib

from .files import linked_module, work_path

F = TypeVar("F", bound=Callable[..., Any])


def _register(name: str) -> Callable[[F], F]:
    return register_global_func(name, override=True)


# --- tensors and devices ---


@_register("rpc.builtin.alloc")
def alloc(shape: Sequence[int], dtype: str, dev: Device, mem_scope: str | None) -> Tensor:
    """A new tensor here."""
    return empty(tuple(shape), str(dtype), dev, mem_scope)


@_register("rpc.builtin.write")
def write(target: Tensor, data: bytes) -> None:
    """Overwrite a tensor with the bytes of a contiguous one."""
    element, shape = numpy_dtype(target.dtype), numpy_shape(target)
    need = int(np.prod(shape, dtype=np.int64)) * element.itemsize
    if len(data) != need:
        raise ShapeError(f"{len(data)} bytes for a tensor of {need}")
    target.copyfrom(np.frombuffer(bytes(data), element).reshape(shape))


@_register("rpc.builtin.read")
def read(source: Tensor) -> bytes:
    """The bytes of a tensor, contiguous."""
    return np.ascontiguousarray(source.numpy()).tobytes()


@_register("rpc.builtin.copy")
def copy(source: Tensor, target: Tensor) -> None:
    """Overwrite a tensor with another that is here."""
    source.copyto(target)


@_register("rpc.builtin.device_attr")
def device_attr(dev: Device, attr: int) -> Any:
    """What can be asked of a device here."""
    return dev._attribute(DeviceAttr(attr))


@_register("rpc.builtin.device_stream")
def device_stream(dev: Device, what: str, args: Sequence[int]) -> Any:
    """Streams of a device here."""
    known: dict[str, Callable[..., Any]] = {
        "create_stream": dev.create_raw_stream, "free_stream": dev.free_raw_stream,
        "set_stream": dev.set_raw_stream, "sync": dev.sync,
    }  # fmt: skip
    return known[what](*args)


# --- modules ---


@_register("rpc.builtin.module_function")
def module_function(module: Any, name: str, query_imports: bool) -> Any:
    """A function of a module, or None."""
    try:
        return module.get_function(name, query_imports)
    except AttributeError:
        return None


@_register("rpc.builtin.module_about")
def module_about(module: Any) -> list[Any]:
    """Kind, functions and entry of a module."""
    entry = module._entry_name() if hasattr(module, "_entry_name") else None
    names = module.function_names() if hasattr(module, "function_names") else []
    return [module.kind, list(names), entry]


@_register("rpc.builtin.module_import")
def module_import(module: Any, other: Any) -> None:
    """Let a module use the functions of another."""
    module.import_module(other)


@_register("rpc.builtin.system_lib")
def builtin_system_lib() -> Any:
    """The functions that are linked into the server itself."""
    return system_lib()


# --- files ---


@_register("tvm.rpc.server.workpath")
def workpath(path: str) -> str:
    """Where a file of the session lies."""
    return str(work_path(path))


@_register("tvm.rpc.server.upload")
def upload(file_name: str, blob: bytes) -> None:
    """Store a file."""
    write_beside(work_path(file_name), bytes(blob))  # code that runs from the old file stays


@_register("tvm.rpc.server.download")
def download(file_name: str) -> bytes:
    """The content of a file."""
    return _existing(file_name).read_bytes()


@_register("tvm.rpc.server.remove")
def remove(file_name: str) -> None:
    """Delete a file, if it is there."""
    work_path(file_name).unlink(missing_ok=True)


@_register("tvm.rpc.server.listdir")
def listdir(path: str) -> str:
    """The names in a folder, with commas between them."""
    return ",".join(sorted(found.name for found in _existing(path or ".").iterdir()))


@_register("tvm.rpc.server.load_module")
def server_load_module(file_name: str) -> Any:
    """The module of a file."""
    return load_module(_existing(file_name))


@_register("tvm.rpc.server.download_linked_module")
def download_linked_module(file_name: str) -> bytes:
    """A file of objects as a shared library, linked here."""
    return linked_module(_existing(file_name))


def _existing(path: str) -> Path:
    found = work_path(path)
    if not found.exists():
        raise RPCError(
            message(
                f"use of the remote file {path!r}", found="no such file", legal="upload it first"
            )
        )
    return found


@_register("rpc.Connect")
def connect_further(host: str, port: int, key: str, enable_logging: bool = False) -> Any:
    """A session with another server, which this one passes requests on to."""
    from .client import connect

    return connect(host, port, key, enable_logging=enable_logging)




# --- Relax programs ---

_OF_VM = ("set_input", "invoke_stateful", "get_outputs", "save_function", "invoke_closure")


@_register("rpc.builtin.vm_create")
def vm_create(
    module: Module, devices: Sequence[Device], memory_cfg: str | None, profile: bool
) -> VirtualMachine:
    """A virtual machine for a loaded Relax program."""
    return VirtualMachine(module, list(devices), memory_cfg, profile)


@_register("rpc.builtin.vm_function")
def vm_function(vm: VirtualMachine, name: str) -> Any:
    """A function of the program."""
    return vm[name]


@_register("rpc.builtin.vm_call")
def vm_call(vm: VirtualMachine, method: str, args: Sequence[Any], named: Any) -> Any:
    """One of the methods that keep values between calls."""
    if method not in _OF_VM:
        raise RPCError(f"no method {method} of a remote virtual machine")
    return getattr(vm, method)(*args, **dict(named.items()))


@_register("rpc.builtin.vm_profile")
def vm_profile(vm: VirtualMachine, name: str, args: Sequence[Any]) -> str:
    """The report of one run, as JSON."""
    return vm.profile(name, *args).json()


@_register("rpc.builtin.vm_time_evaluator")
def vm_time_evaluator(
    vm: VirtualMachine, name: str, dev: Device, options: Sequence[Any]
) -> Callable[..., bytes]:
    """A function that measures a function of the program, and gives the seconds as doubles."""
    number, repeat, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown, f_preproc = options
    measure = vm.time_evaluator(
        name, dev, number, repeat, min_repeat_ms, cooldown_interval_ms, repeats_to_cooldown,
        f_preproc,
    )  # fmt: skip
    return lambda *args: np.array(measure(*args).results, "<f8").tobytes()
