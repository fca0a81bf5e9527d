"""Compiled objects kept on disk, so that a program is compiled once a machine.

An entry is named by a hash of all that decides its content (text, CPU, flags, versions). Writers
write beside and rename, so readers and other writers never see a half-written entry; a damaged
entry counts as missing. `TVM_CACHE=0` switches the cache off, `TVM_CACHE_DIR` moves it, and
`TVM_CACHE_MB` bounds it (least recently used entries go first).
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tvm.runtime.files import read_regular
from tvm.support.scratch import is_owner_alive, owner_tag

DEFAULT_LIMIT_MB = 4096
_MAGIC = b"tvmobj1\n"
_SUFFIX = ".obj"
_DATA_SUFFIX = ".data"
_PART = ".part"
_PART_SECONDS = 3600  # nobody writes that long
_OWNED = re.compile(r"(\d+-\d+-[0-9a-f]+)-")
_PRUNE_EVERY = 64  # look at the size of the folder after so many writes, ...
_PRUNE_GROWTH = 8  # ... in a folder of many files when there is this part of them more, ...
_PRUNE_SHARE = 64  # ... or after writing this part of what it may hold
SHARE = 4  # larger than a quarter of the cache: not kept, others would go for it
_unseen = [_PRUNE_EVERY, 0]  # writes, and their bytes, since the folder was looked at
_seen = [0]  # files that were there then


def enabled() -> bool:
    """False when the user has switched the cache off."""
    return os.environ.get("TVM_CACHE", "1") not in ("0", "off", "false", "no")


def folder() -> Path:
    """Where the entries lie."""
    chosen = os.environ.get("TVM_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "tvm-py"


def key_of(parts: Iterable[str]) -> str:
    """The name of the entry that `parts` decide."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def load(key: str) -> bytes | None:
    """The object stored under `key`, or None."""
    if not enabled():
        return None
    path = _path(key)
    try:
        data = read_regular(path, follow_links=False)
    except OSError:
        return None
    content = data[len(_MAGIC) + 32 :]
    if not data.startswith(_MAGIC) or hashlib.sha256(content).digest() != data[len(_MAGIC) :][:32]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # marks the entry as used, for pruning
    return content


def store(key: str, content: bytes) -> None:
    """Keep `content` under `key`; a full disk or a read-only folder is no error."""
    head = _MAGIC + hashlib.sha256(content).digest()
    if _write(_path(key), (head, content)):
        _count(len(content))


def store_data(key: str, parts: Sequence[Any]) -> bool:
    """Keep large data beside an entry, one part after another; True where it worked.

    Whoever loads it knows how to tell whether it is whole: no check is made here.
    """
    size = sum(memoryview(part).nbytes for part in parts)
    if size * SHARE > limit() or not _write(_path(key, _DATA_SUFFIX), parts):
        return False
    _count(size)
    return True


def _count(size: int) -> None:
    """Look at the size of the folder from time to time; that takes longer the more it holds."""
    _unseen[0] += 1
    _unseen[1] += size
    files = max(_PRUNE_EVERY, _seen[0] // _PRUNE_GROWTH)
    if _unseen[0] > files or _unseen[1] * _PRUNE_SHARE > limit():
        _unseen[:] = 0, 0
        _seen[0] = prune()


def load_data(key: str) -> memoryview | None:
    """Data that `store_data` kept, mapped from the file; it stays when the entry goes."""
    if not enabled():
        return None
    path = _path(key, _DATA_SUFFIX)
    try:
        kind = path.lstat().st_mode
        if not stat.S_ISREG(kind):
            return None
        with path.open("rb") as file:
            os.utime(path)
            if not os.fstat(file.fileno()).st_size:
                return memoryview(b"")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError:
        return None


def _write(path: Path, parts: Sequence[Any]) -> bool:
    if not enabled():
        return False
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(
            dir=path.parent, prefix=f"{owner_tag()}-", suffix=_PART
        )
        try:
            with os.fdopen(handle, "wb") as file:
                for part in parts:
                    file.write(part)
            os.replace(beside, path)
        except BaseException:  # a full disk, or Ctrl-C
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
        return True
    return False


def prune(limit_bytes: int | None = None) -> int:
    """Delete the least recently used entries until the rest fits, and what died half-written.

    Returns how many entries there were.
    """
    most = limit() if limit_bytes is None else limit_bytes
    for part in _files((_PART,)):
        with contextlib.suppress(OSError):
            if _is_left_over(part):
                os.unlink(part)
    entries = _entries()
    total = sum(size for _, size, _ in entries)
    if total > most:
        for _, size, path in sorted(entries):
            if total <= most:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
    return len(entries)


class Usage(NamedTuple):
    """How many files the cache has, and their bytes."""

    files: int
    bytes: int


def usage() -> Usage:
    """What the cache holds now."""
    sizes = [size for _, size, _ in _entries()]
    return Usage(len(sizes), sum(sizes))


def _entries() -> list[tuple[float, int, str]]:
    """Time of last use, size and path of each file."""
    found: list[tuple[float, int, str]] = []
    for file in _files((_SUFFIX, _DATA_SUFFIX)):
        with contextlib.suppress(OSError):
            status = file.stat(follow_symlinks=False)
            found.append((status.st_mtime, status.st_size, file.path))
    return found


def _files(suffixes: tuple[str, ...]) -> Iterator[os.DirEntry[str]]:
    """The files of these kinds."""
    with contextlib.suppress(OSError):
        for part in sorted(os.listdir(folder())):
            with contextlib.suppress(OSError), os.scandir(folder() / part) as files:
                yield from (file for file in files if file.name.endswith(suffixes))


def _is_left_over(part: os.DirEntry[str]) -> bool:
    """Whether nobody is writing a file any more."""
    owner = _OWNED.match(part.name)
    if owner is not None and not is_owner_alive(owner[1]):
        return True
    return time.time() - part.stat().st_mtime > _PART_SECONDS


def limit() -> int:
    """How many bytes the cache may hold."""
    asked = os.environ.get("TVM_CACHE_MB", "")
    megabytes = int(asked) if asked.isdecimal() else DEFAULT_LIMIT_MB
    return megabytes * 1_000_000


def clear() -> None:
    """Delete all entries."""
    prune(0)


def _path(key: str, suffix: str = _SUFFIX) -> Path:
    return folder() / key[:2] / (key + suffix)
