"""A file of lines that several processes append to.

Whoever writes holds the file's lock. A line counts once its newline is there: what a process that
was killed left behind without one is never read, and the next writer cuts it off.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tvm.error import message


class LineFile:
    """Lines are read once each: `new_lines` gives those since the last call."""

    def __init__(self, path: str, allow_missing: bool) -> None:
        self.path = path
        self._read_bytes = 0
        self._count = 0
        if not os.path.exists(path):
            if not allow_missing:
                raise ValueError(
                    message(
                        f"File doesn't exist: {path}",
                        legal="an existing file, or allow_missing=True",
                    )
                )
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).touch()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes meanwhile."""
        with open(self.path, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield  # closing the file gives the lock back

    def new_lines(self) -> list[tuple[int, str]]:
        """Lines that are new, with their numbers; empty ones are left out."""
        with open(self.path, "rb") as source:
            source.seek(self._read_bytes)
            whole, newline, _ = source.read().rpartition(b"\n")
        if not newline:
            return []
        self._read_bytes += len(whole) + 1
        found = []
        for line in whole.decode("utf-8", errors="replace").split("\n"):
            self._count += 1
            if line.strip():
                found.append((self._count, line))
        return found

    def append(self, line: str) -> None:
        """Add a line; to be called while `locked`, after `new_lines` was read."""
        data = line.encode() + b"\n"
        with open(self.path, "r+b") as sink:
            sink.seek(self._read_bytes)
            sink.truncate()
            sink.write(data)
            sink.flush()
            os.fsync(sink.fileno())
        self._read_bytes += len(data)
        self._count += 1
