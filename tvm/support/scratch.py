"""Temporary folders that name their owner, so that a later run removes what a kill left.

    tvm-build-<process>-<when it began>-<where its number counts>-<random>
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import shutil
import tempfile
import threading
import zlib
from pathlib import Path
from typing import Final

_OWNED: Final = re.compile(r"\.?tvm-[a-z]+-(\d+-\d+-[0-9a-f]+)-")
_lock = threading.Lock()
_swept: set[tuple[int, str]] = set()  # who has looked where; a fork is a new process


def owner_tag(process: int | None = None) -> str:
    """What names a process for ever: its number, when it began (0: unknown), machine and space."""
    if process is None:
        return _own_tag(os.getpid())
    return f"{process}-{_began(process) or 0}-{_space()}"


@functools.cache
def _own_tag(process: int) -> str:
    """What names this process; a fork is another one, with a number of its own."""
    return f"{process}-{_began(process) or 0}-{_space()}"


def is_owner_alive(tag: str) -> bool:
    """Whether the process of `owner_tag` still runs; of those elsewhere, who knows."""
    number, began, space = tag.split("-")
    if space != _space():
        return True
    now = _began(int(number))
    if now is not None:
        return int(began) in (0, now)
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


def _began(process: int) -> int | None:
    """When a process began, in ticks of the system's; None: it is gone, or there is no telling."""
    try:
        # pid (name) state ppid ...; a name may hold blanks and parentheses
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


@functools.cache
def _space() -> str:
    """Where numbers of processes mean the same: a machine, or a container."""
    try:
        space = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        space = 0
    return f"{space:x}{zlib.crc32(platform.node().encode()):08x}"


def scratch_folder(prefix: str, owner: int | None = None) -> str:
    """A new folder for `owner`, by default this process; folders of dead owners go."""
    sweep()
    return tempfile.mkdtemp(prefix=f"{prefix}{owner_tag(owner)}-")


def scratch(
    prefix: str, within: str | os.PathLike[str] | None = None
) -> tempfile.TemporaryDirectory[str]:
    """A new folder that goes when the object does, or when a later run finds its owner dead.

    It lies with temporary files, or `within` another folder.
    """
    sweep(within)
    return tempfile.TemporaryDirectory(
        prefix=f"{prefix}{owner_tag()}-", dir=within, ignore_cleanup_errors=True
    )


def is_scratch(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has the name of one that is made here."""
    return _OWNED.match(os.path.basename(folder)) is not None


def sweep(within: str | os.PathLike[str] | None = None) -> None:
    """Remove folders of processes that are gone, once a process and folder."""
    folder = os.path.abspath(tempfile.gettempdir() if within is None else within)
    with _lock:
        if (os.getpid(), folder) in _swept:
            return
        _swept.add((os.getpid(), folder))
    with contextlib.suppress(OSError):
        for path in Path(folder).iterdir():
            found = _OWNED.match(path.name)
            if found is None or path.is_symlink() or is_owner_alive(found[1]):
                continue
            shutil.rmtree(path, ignore_errors=True)
