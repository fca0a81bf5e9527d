"""Modules of object files: linked into this process's memory."""

from __future__ import annotations

import ctypes
import json
import tarfile
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi import library
from tvm.runtime.artefact import SYMBOL, Artefact, ValueInfo
from tvm.runtime.library_module import as_program, constant_at
from tvm.runtime.module import BINARY_SERIALIZABLE, RUNNABLE, Module

from . import jit
from .abi import FFI_PREFIX
from .aligned import aligned_copy
from .host import host_functions

HOST_OBJECT: Final = "host.o"  # in archives for other linkers; here the process's own is used
ARTEFACT_FILE: Final = "artefact.json"
CONSTANTS_FILE: Final = "constants.bin"
LAYOUT_FILE: Final = "constants.json"  # symbol -> [offset, bytes]


class ObjectModule(Module):
    """The functions of an object file."""

    kind = "library"

    def __init__(self, content: bytes, artefact: Artefact | None, data: dict[str, int],
                 owner: object = None) -> None:  # fmt: skip
        super().__init__()
        self._owner = owner
        imports = {**host_functions(), **_ffi_functions(), **data}
        if artefact is None:
            probe = jit.link(content, [SYMBOL], imports)
            text = ctypes.string_at(probe.address(SYMBOL)).decode()
            artefact = Artefact.from_json(text)
        self.artefact = artefact
        names = [FFI_PREFIX + name for name in artefact.exports]
        inside = [t.name for t in artefact.tensors if t.name not in data]
        self.code = jit.link(content, [*names, *inside], imports)

    def function_names(self) -> list[str]:
        return list(self.artefact.exports)

    def _entry_name(self) -> str | None:
        return self.artefact.entry or super()._entry_name()

    def _find(self, name: str) -> Any:
        if name not in self.artefact.exports:
            return None
        return library().Function.__from_extern_c__(
            self.code.address(FFI_PREFIX + name), keep_alive_object=(self.code, self._owner)
        )

    def get_property_mask(self) -> int:
        return BINARY_SERIALIZABLE | RUNNABLE


def _ffi_functions() -> dict[str, int]:
    """Everything of tvm_ffi that compiled code may call."""
    found = {name: jit.process_symbol(name) for name in _FFI_NAMES}
    return {name: address for name, address in found.items() if address is not None}


_FFI_NAMES: Final = (
    "TVMFFIErrorSetRaisedFromCStr", "TVMFFIErrorSetRaised", "TVMFFIErrorMoveFromRaised",
    "TVMFFIFunctionCall", "TVMFFIFunctionGetGlobal", "TVMFFIObjectIncRef", "TVMFFIObjectDecRef",
    "TVMFFITensorFromDLPackVersioned", "TVMFFITensorCreateUnsafeView", "TVMFFIEnvTensorAlloc",
    "TVMFFIEnvModLookupFromImports", "TVMFFIAnyViewToOwnedAny",
)  # fmt: skip


def load_object(path: str) -> Module:
    """The module of an object file that export_library wrote."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        loaded = ObjectModule(content, None, {})
    except TVMError as err:
        raise TVMError(
            message(
                f"load_module {path!r}",
                found=str(err).splitlines()[0],
                legal="an object for this machine, written by export_library",
            )
        ) from err
    tensors = [constant_at(loaded.code.address(t.name), t, loaded.code)
               for t in loaded.artefact.tensors]  # fmt: skip
    return as_program(loaded.artefact, loaded, tensors)


def load_archive(path: str) -> Module:
    """The module of an archive of objects, constants and the program's description."""
    try:
        parts = _read_archive(path)
        artefact = Artefact.from_json(parts[ARTEFACT_FILE].decode())
        layout = json.loads(parts.get(LAYOUT_FILE, b"{}"))
    except (tarfile.TarError, KeyError, ValueError) as err:
        raise TVMError(
            message(
                f"load_module {path!r}",
                found=f"a damaged archive: {err}",
                legal="an archive written by export_library",
            )
        ) from err
    blob = aligned_copy(parts.get(CONSTANTS_FILE, b""))
    data = {name: blob.ctypes.data + place[0] for name, place in layout.items()}
    names = [name for name in sorted(parts) if name.endswith(".o") and name != HOST_OBJECT]
    kernels = [parts[name] for name in names]
    if len(kernels) != 1:
        raise TVMError(
            message(f"load_module {path!r}", found=f"{len(kernels)} objects", legal="one object")
        )
    loaded = ObjectModule(kernels[0], artefact, data, blob)
    tensors = [_constant(t, blob, data) for t in artefact.tensors]
    return as_program(artefact, loaded, tensors)


def _constant(info: ValueInfo, blob: Any, data: dict[str, int]) -> Any:
    return constant_at(data[info.name], info, blob)


def _read_archive(path: str) -> dict[str, bytes]:
    parts = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                parts[member.name] = file.read()
    return parts
