"""The files of a session, which lie in a folder of its own and vanish with it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from tvm.error import RPCError, message
from tvm.runtime.archive import read_parts
from tvm.runtime.export import link_objects, write_archived
from tvm.support.scratch import scratch

# by process: one that was copied from another must not delete the other's folder
_folders: Final[dict[int, tempfile.TemporaryDirectory[str]]] = {}


def work_folder() -> Path:
    """The folder of this process's session."""
    here = os.getpid()
    if here not in _folders:
        _folders[here] = scratch("tvm-rpc-")
    return Path(_folders[here].name)


def clean_up() -> None:
    """Delete the folder."""
    folder = _folders.pop(os.getpid(), None)
    if folder is not None:
        folder.cleanup()


def work_path(name: str) -> Path:
    """Where a file lies; names that lead out of the folder are refused."""
    folder = work_folder().resolve()
    path = (folder / name).resolve()
    if path != folder and folder not in path.parents:
        raise RPCError(
            message(
                f"use of the remote file {name!r}",
                found="a path outside of the session's folder",
                legal="a name without .. that does not begin with a slash",
            )
        )
    return path


def linked_module(path: Path) -> bytes:
    """A shared library of a file: as it is, or linked from an object or an archive of objects."""
    if path.suffix in (".so", ".dylib", ".dll"):
        return path.read_bytes()
    with scratch("tvm-link-") as folder:
        made = Path(folder, "linked.so")
        if path.suffix == ".tar":
            files = write_archived(read_parts(str(path)), Path(folder))
        else:
            files = [str(path)]
        link_objects(files, made, [], {})
        return made.read_bytes()


