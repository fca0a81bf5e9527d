"""Archives of code, constants and a description, as export writes them: read and loaded."""

from __future__ import annotations

import importlib
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.support.json_text import from_json
from tvm.support.scratch import scratch

from ._tensor import aligned_array
from .artefact import Artefact
from .library_module import as_program, constant_at, load_library
from .linker import HOST_OBJECT, create_shared
from .module import Module

ARTEFACT_FILE: Final = "artefact.json"
CONSTANTS_FILE: Final = "constants.bin"
LAYOUT_FILE: Final = "constants.json"  # symbol -> [offset, bytes]

# How code is loaded, by the suffix of its files: load_code(files, artefact, data, owner) -> Module,
# where `data` gives the addresses of constants, which `owner` keeps. Named and not imported.
CODE_LOADERS: dict[str, str] = {
    ".o": "tvm.backend.llvm.load:load_code",
    ".c": "tvm.backend.c.load:load_code",
}


def load_archive(path: str) -> Module:
    """The module of an archive of code, constants and the program's description."""
    try:
        parts = read_parts(path)
        if ARTEFACT_FILE not in parts and _objects(parts):
            return _linked(_objects(parts))
        artefact = Artefact.from_json(parts[ARTEFACT_FILE].decode())
        layout = from_json(parts.get(LAYOUT_FILE, b"{}"))
    except (tarfile.TarError, KeyError, ValueError) as err:
        raise TVMError(
            message(
                f"load_module {path!r}",
                found=f"a damaged archive: {err}",
                legal="an archive written by export_library",
            )
        ) from err
    content = parts.get(CONSTANTS_FILE, b"")
    blob = aligned_array((len(content),), np.dtype(np.uint8))
    blob[:] = np.frombuffer(content, np.uint8)
    data = {name: int(blob.ctypes.data) + entry[0] for name, entry in layout.items()}
    code = {n: parts[n] for n in sorted(parts) if PurePath(n).suffix in CODE_LOADERS}
    code.pop(HOST_OBJECT, None)  # for other linkers; here the process's own is used
    kinds = {PurePath(name).suffix for name in code}
    if len(kinds) != 1:
        raise TVMError(
            message(
                f"load_module {path!r}",
                found=f"code in files {', '.join(code) or 'none'}",
                legal="files of one kind: " + ", ".join(CODE_LOADERS),
            )
        )
    loaded = _load_code(kinds.pop(), code, artefact, data, blob)
    tensors = [constant_at(data[t.name], t, blob) for t in artefact.tensors]
    return as_program(artefact, loaded, tensors)


def _objects(parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """The objects of an archive that `tar` made of what a linker would get."""
    return {n: parts[n] for n in sorted(parts) if PurePath(n).suffix in (".o", ".obj")}


def _linked(objects: Mapping[str, bytes]) -> Module:
    """The library that the system's linker makes of the objects."""
    with scratch("tvm-load-") as folder:
        files = []
        for name, content in objects.items():
            file = Path(folder) / PurePath(name).name
            file.write_bytes(content)
            files.append(str(file))
        library = str(Path(folder) / "library.so")
        create_shared(library, files)
        return load_library(library)


def _load_code(
    suffix: str, code: Mapping[str, bytes], artefact: Artefact, data: dict[str, int], owner: object
) -> Module:
    module, _, name = CODE_LOADERS[suffix].partition(":")
    loader: Any = getattr(importlib.import_module(module), name)
    loaded: Module = loader(code, artefact, data, owner)
    return loaded


def read_parts(path: str) -> dict[str, bytes]:
    """The files of an archive by name."""
    parts = {}
    with tarfile.open(path) as archive:
        for member in archive:
            file = archive.extractfile(member)
            if file is not None:
                parts[member.name] = file.read()
    return parts
