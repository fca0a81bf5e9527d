"""Where the library and the headers lie that compiled programs stand on: those of tvm-ffi."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tvm.error import message
from tvm.ffi import library

Names = str | Sequence[str] | None


def split_env_var(env_var: str, split: str) -> list[str]:
    """The parts of an environment variable, none if it is not set."""
    text = os.environ.get(env_var)
    return [part.strip() for part in text.split(split)] if text else []


def get_dll_directories() -> list[str]:
    """Folders where libraries are looked for: those of the environment, and of tvm-ffi."""
    own = str(Path(library().libinfo.find_libtvm_ffi()).parent)
    system = {"darwin": "DYLD_LIBRARY_PATH", "win32": "PATH"}.get(sys.platform, "LD_LIBRARY_PATH")
    listed = [split_env_var(variable, os.pathsep) for variable in ("TVM_LIBRARY_PATH", system)]
    folders = [folder for folder in [*listed[0], *listed[1], own] if os.path.isdir(folder)]
    return list(dict.fromkeys(map(os.path.realpath, folders)))


def find_lib_path(
    name: Names = None, search_path: Names = None, optional: bool = False
) -> list[str] | None:
    """The paths of libraries by their file names, of tvm-ffi without a name.

    What is not found is a RuntimeError, None if it is optional.
    """
    if name is None:
        return [str(library().libinfo.find_libtvm_ffi())]
    return _found([*_listed(search_path), *get_dll_directories()], _listed(name), optional)


def find_include_path(
    name: Names = None, search_path: Names = None, optional: bool = False
) -> list[str] | None:
    """The folders of headers, those of tvm-ffi and of DLPack without a name."""
    found = library().libinfo
    own = [str(found.find_include_path()), str(found.find_dlpack_include_path())]
    if name is None:
        return list(dict.fromkeys(own))
    return _found([*_listed(search_path), *own], _listed(name), optional)


def _listed(names: Names) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _found(folders: Sequence[str], names: Sequence[str], optional: bool) -> list[str] | None:
    places = [os.path.join(folder, name) for name in names for folder in folders]
    paths = [place for place in places if os.path.exists(place)]
    if paths or optional:
        return paths or None
    raise RuntimeError(
        message(
            f"Cannot find the files {', '.join(names)}",
            found="none of them",
            where=", ".join(folders),
        )
    )
