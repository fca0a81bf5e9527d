"""What tells one state of the compiler's files from another, for what is kept between processes."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path


@functools.cache
def compiler_state() -> str:
    """A digest of the compiler's files by name, size and time, and of the Python that runs it."""
    import hashlib  # `import tvm` loads this file

    home = str(Path(__file__).parents[1])
    digest = hashlib.blake2b(sys.version.encode())
    folders = [home]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".py", ".so")):
                    status = entry.stat()
                    line = f"{entry.path} {status.st_size} {status.st_mtime_ns}\n"
                    digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()
