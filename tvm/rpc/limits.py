"""What one session of a server may take: memory and time.

A server has one session at a time, in a process of its own; who comes meanwhile waits.

| environment variable of the server | limits |
|---|---|
| TVM_RPC_SESSION_MEMORY | bytes that a session takes, with K, M or G behind the number |
| TVM_RPC_SESSION_SECONDS | how long a session lasts, whatever its client asks for |
"""

from __future__ import annotations

import os
import re
from typing import Final

from tvm.error import RPCError, message
from tvm.support.memory_limit import limit_memory

from . import base

MEMORY: Final = "TVM_RPC_SESSION_MEMORY"
SECONDS: Final = "TVM_RPC_SESSION_SECONDS"
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def check() -> None:
    """RPCError where a limit is set that is none, as a server starts."""
    _bytes()
    _max_seconds()


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


def _max_seconds() -> float:
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
    wanted, most = asked or of_server or 0.0, _max_seconds()
    return min(wanted, most) if wanted and most else wanted or most


def apply() -> None:
    """Let this process take no more memory than the limit; what is beyond is a MemoryError that
    the client is told."""
    limit = _bytes()
    if limit:
        limit_memory(limit)
