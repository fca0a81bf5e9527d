"""What one session of a server may take: memory and time.

A server has one session at a time, in a process of its own; who comes meanwhile waits.

| environment variable of the server | limits |
|---|---|
| TVM_RPC_SESSION_MEMORY | bytes that a session takes, with K, M or G behind the number |
| TVM_RPC_SESSION_SECONDS | how long a session lasts, whatever its client asks for |
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final

from tvm.error import RPCError, message

from . import base

MEMORY: Final = "TVM_RPC_SESSION_MEMORY"
SECONDS: Final = "TVM_RPC_SESSION_SECONDS"
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def check() -> None:
    """RPCError where a limit is set that is none, as a server starts."""
    _bytes()
    _most_seconds()


def _bytes() -> int:
    said = os.environ.get(MEMORY, "")
    if not said:
        return 0
    found = re.fullmatch(r"([1-9][0-9]{0,12})([KMG]?)(i?B)?", said)
    if found is None:
        raise RPCError(
            message(f"the limit {MEMORY}", found=repr(said), legal="bytes, such as 512M or 4G")
        )
    return int(found[1]) * _UNITS[found[2]]


def _most_seconds() -> float:
    said = os.environ.get(SECONDS, "")
    try:
        return base.session_seconds(float(said or 0))
    except ValueError:
        raise RPCError(
            message(f"the limit {SECONDS}", found=repr(said), legal="seconds, such as 600")
        ) from None


def seconds(asked: float, of_server: float | None) -> float:
    """How long a session lasts, 0 for ever: what its client asked for, or what the server says,
    and never more than the limit."""
    wanted, most = asked or of_server or 0.0, _most_seconds()
    return min(wanted, most) if wanted and most else wanted or most


def apply() -> None:
    """Let this process take no more memory than the limit beyond what it has.

    What is beyond is refused where it is asked for, as if the machine had no more: a MemoryError
    that the client is told. Systems that know no such limit (Windows) have none.
    """
    limit = _bytes()
    if not limit:
        return
    with contextlib.suppress(ImportError):
        import resource

        has = _taken()
        resource.setrlimit(resource.RLIMIT_DATA, (has + limit, has + limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _taken() -> int:
    """The bytes of data that this process has, as the limit counts them."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0
