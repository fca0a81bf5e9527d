"""How much memory is left, and a limit to what this process takes of it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

GROUP: Final = Path("/sys/fs/cgroup")  # the control group of this process, where it is in one


def memory_left() -> int:
    """Bytes that this process may still take: of the machine, or of its control group if that has
    less. 0 where nobody says (systems other than Linux)."""
    left = [_entry("/proc/meminfo", "MemAvailable:")]
    with contextlib.suppress(OSError, ValueError):  # no group, or "max"
        limit = int((GROUP / "memory.max").read_text())
        left.append(max(limit - int((GROUP / "memory.current").read_text()), 0))
    return min(left)


def limit_memory(more: int) -> None:
    """Let this process take no more than so many bytes beyond what it has, and write no core file.

    What is beyond is refused where it is asked for, as if the machine had no more: a MemoryError.
    Systems that know no such limit (Windows) have none.
    """
    with contextlib.suppress(ImportError):
        import resource

        limit = _entry("/proc/self/status", "VmData:") + more
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _entry(file: str, name: str) -> int:
    """An entry of one of Linux's lists, in bytes; 0 if there is none."""
    with contextlib.suppress(OSError):
        for line in Path(file).read_text("ascii", "replace").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return 0
