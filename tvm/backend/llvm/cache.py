"""Compiled objects kept on disk, so that a program is compiled once a machine.

An entry is named by a hash of all that decides its content (text, CPU, flags, versions). Writers
write beside and rename, so readers and other writers never see a half-written entry; a damaged
entry counts as missing. `TVM_CACHE=0` switches the cache off, `TVM_CACHE_DIR` moves it, and
`TVM_CACHE_MB` bounds it (least recently used entries go first).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tvm.runtime.files import read_regular

DEFAULT_LIMIT_MB = 512
_MAGIC = b"tvmobj1\n"
_SUFFIX = ".obj"
_PART = ".part"
_PART_SECONDS = 3600  # nobody writes that long
_PRUNE_EVERY = 64  # look at the size of the folder once in so many writes
_writes = 0


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
    global _writes
    if not enabled():
        return
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent, suffix=_PART)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(content).digest() + content)
            os.replace(beside, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            return
        _writes += 1
        if _writes % _PRUNE_EVERY == 1:
            prune()


def prune(limit_bytes: int | None = None) -> None:
    """Delete the least recently used entries until the rest fits, and what died half-written."""
    most = limit() if limit_bytes is None else limit_bytes
    for path in folder().glob(f"*/*{_PART}"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _PART_SECONDS:
                path.unlink()
    entries: list[tuple[float, int, Path]] = []
    for path in folder().glob(f"*/*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            stat = path.stat()
            entries.append((stat.st_mtime, stat.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            return
        with contextlib.suppress(OSError):
            path.unlink()
        total -= size


def limit() -> int:
    """How many bytes the cache may hold."""
    asked = os.environ.get("TVM_CACHE_MB", "")
    megabytes = int(asked) if asked.isdecimal() else DEFAULT_LIMIT_MB
    return megabytes * 1_000_000


def clear() -> None:
    """Delete all entries."""
    prune(0)


def _path(key: str) -> Path:
    return folder() / key[:2] / (key + _SUFFIX)
