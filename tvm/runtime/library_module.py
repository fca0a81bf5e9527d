"""Modules of shared libraries."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import get_global_func, library
from tvm.support.dtype import DataType
from tvm.support.scratch import scratch

from ._tensor import Tensor, from_host, numpy_dtype
from .artefact import SYMBOL, Artefact, ValueInfo
from .device_module import DeviceModule
from .elf import check_whole
from .imports import CONTEXT, FFI_PREFIX, Finder
from .interruption import TABLE as POLL_TABLE
from .interruption import join_polls
from .module import RUNNABLE, Module, load_archive
from .pool_sharing import OWN_LAUNCH, PARALLEL_POINTER, TABLE, join_pools, lend_pool
from .vm_executable import VMModule

ARCHIVE_MAGIC: Final = b"ustar"  # at byte 257 of a tar file


_loaded: dict[str, tuple[int, ...]] = {}
_copies: dict[tuple[str, tuple[int, ...]], str] = {}
_folder: tempfile.TemporaryDirectory[str] | None = None


def _own_path(path: str) -> str:
    """The path, or that of a copy if another file was loaded from there before.

    The system's loader knows libraries by their paths, and would give the former one again.
    """
    global _folder
    found = os.stat(path)
    content = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
    if _loaded.setdefault(path, content) == content:
        return path
    if (path, content) not in _copies:
        _folder = _folder or scratch("tvm-libraries-")
        name = f"{len(_copies)}-{os.path.basename(path)}"
        _copies[path, content] = shutil.copy2(path, os.path.join(_folder.name, name))
    return _copies[path, content]


class LibraryModule(Module):
    """The functions of a shared library that follow the packed calling convention.

    They call functions of `imports`, if the library belongs to a module with imports of its own.
    """

    kind = "library"

    def __init__(self, path: str, imports: list[Module] | None = None) -> None:
        super().__init__()
        if imports is not None:
            self._imports = imports
        self.path = path
        check_whole(path)
        try:
            own = _own_path(path)
            # tvm_ffi's loader sets the variables that a library asks of its surroundings
            self._ffi = library().load_module(own)
            self._handle = ctypes.CDLL(own)
        except (OSError, RuntimeError) as err:
            raise TVMError(
                message(
                    f"load_module {path!r}",
                    found=_first_line(err),
                    legal="a shared library for this machine, written by export_library",
                )
            ) from err
        table = self.symbol(TABLE)
        if table is not None:
            join_pools(table, self.symbol(OWN_LAUNCH))
        polls = self.symbol(POLL_TABLE)
        if polls is not None:
            join_polls(polls)
        pointer = self.symbol(PARALLEL_POINTER)
        if pointer is not None:
            lend_pool(pointer)
        context = self.symbol(CONTEXT)
        if context is not None:
            self._finder = Finder(self._imports, _entries(self._handle))
            self._finder.serve(context)
        text = self.symbol(SYMBOL)
        self.artefact = (
            Artefact() if text is None else Artefact.from_json(ctypes.string_at(text).decode())
        )

    def symbol(self, name: str) -> int | None:
        """The address of a symbol, or None."""
        return _symbol(self._handle, name)

    def function_names(self) -> list[str]:
        return list(self.artefact.exports)

    def _entry_name(self) -> str | None:
        return self.artefact.entry or super()._entry_name()

    def _find(self, name: str) -> Any:
        address = self.symbol(FFI_PREFIX + name)
        if address is None:
            return None
        return library().Function.__from_extern_c__(address, keep_alive_object=self)

    def get_property_mask(self) -> int:
        return RUNNABLE

    def tensor(self, info: ValueInfo) -> Tensor:
        """A constant of the library, where the system has mapped it."""
        address = self.symbol(info.name)
        if address is None:
            raise TVMError(message(f"constant {info.name}", found="the library lacks it"))
        return constant_at(address, info, self)


def _symbol(handle: ctypes.CDLL, name: str) -> int | None:
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(handle, name))
    except ValueError:
        return None


def _entries(handle: ctypes.CDLL) -> Callable[[str], Any]:
    """Finds the functions of a library, which whoever asks keeps in memory."""

    def find(name: str) -> Any:
        address = _symbol(handle, FFI_PREFIX + name)
        return None if address is None else library().Function.__from_extern_c__(address)

    return find


def constant_at(address: int, info: ValueInfo, owner: object) -> Tensor:
    """A tensor over constant data in memory, which lives as long as `owner`."""
    import numpy as np

    shape = tuple(int(extent) for extent in info.shape)
    kind = numpy_dtype(DataType(info.dtype))
    count = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory: Any = (ctypes.c_uint8 * count).from_address(address)
    memory.owner = owner
    return from_host(np.frombuffer(memory, kind).reshape(shape))


def load_library(path: str) -> Module:
    """The module of a shared library, or of an archive of objects under a library's name."""
    with open(path, "rb") as file:
        head = file.read(512)
    if head[257:262] == ARCHIVE_MAGIC:
        return load_archive(path)
    loaded = LibraryModule(path)
    return as_program(loaded.artefact, loaded, [loaded.tensor(t) for t in loaded.artefact.tensors])


def as_program(artefact: Artefact, kernels: Module, tensors: list[Tensor]) -> Module:
    """A compiled graph as such; other modules as they are, with the kernels that they launch."""
    for device in artefact.devices:
        kernels.import_module(DeviceModule.from_record(device))
    for kind, content in artefact.stored:
        kernels.import_module(_stored_module(kind, content))
    if artefact.kind == VMModule.kind:
        return VMModule(artefact, kernels, tuple(tensors))
    return kernels


def _stored_module(kind: str, content: bytes) -> Module:
    """A module that was stored as bytes, read by the function registered for its kind."""
    load = get_global_func(f"ffi.Module.load_from_bytes.{kind}", allow_missing=True)
    if load is None:
        raise TVMError(
            message(
                f"load a {kind} module",
                found="nobody says how",
                legal=f"a function registered as ffi.Module.load_from_bytes.{kind}",
            )
        )
    module: Module = load(content)
    return module


def _first_line(err: Exception) -> str:
    lines = [line.strip() for line in str(err).splitlines() if line.strip()]
    return lines[0] if lines else type(err).__name__


