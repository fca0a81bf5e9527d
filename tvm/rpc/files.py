"""The files of a session, which lie in a folder of its own and vanish with it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tvm.error import RPCError, message
from tvm.runtime.archive import read_parts
from tvm.runtime.export import link_objects, write_archived

_folder: tempfile.TemporaryDirectory[str] | None = None


def work_folder() -> Path:
    """The folder of this process's session."""
    global _folder
    if _folder is None:
        _folder = tempfile.TemporaryDirectory(prefix="tvm-rpc-")
    return Path(_folder.name)


def clean_up() -> None:
    """Delete the folder."""
    global _folder
    if _folder is not None:
        _folder.cleanup()
        _folder = None


def work_path(name: str) -> Path:
    """Where a file lies; names that lead out of the folder are refused."""
    folder = work_folder().resolve()
    path = (folder / name).resolve()
    if path != folder and folder not in path.parents:
        raise RPCError(
            message(
                f"use of the remote file {name!r}",
                found="a place outside of the session's folder",
                legal="a name without .. that does not begin with a slash",
            )
        )
    return path


def linked_module(path: Path) -> bytes:
    """A shared library of a file: as it is, or linked from an object or an archive of objects."""
    if path.suffix in (".so", ".dylib", ".dll"):
        return path.read_bytes()
    with tempfile.TemporaryDirectory(prefix="tvm-link-") as folder:
        made = Path(folder, "linked.so")
        if path.suffix == ".tar":
            files = write_archived(read_parts(str(path)), Path(folder))
        else:
            files = [str(path)]
        link_objects(files, made, [], {})
        return made.read_bytes()


