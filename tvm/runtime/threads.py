"""The number of threads that parallel loops use."""

from __future__ import annotations

import os
from collections.abc import Callable

from tvm.error import message

from .attributes import host_cores

_MAX_THREADS = 1024
_chosen = 0
_listeners: list[Callable[[int], None]] = []


def on_change(listener: Callable[[int], None]) -> None:
    """Tell `listener` the number now, if one was configured, and whenever it changes."""
    _listeners.append(listener)
    if _chosen:
        listener(_chosen)


def thread_count() -> int:
    """Threads of a parallel region: as configured, or by environment, or all cores we may use."""
    if _chosen:
        return _chosen
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "")
        if text.isdecimal() and int(text) > 0:
            return min(int(text), _MAX_THREADS)
    return host_cores()


def config_threads(count: int) -> None:
    """Use `count` threads from now on; 0 goes back to the environment's choice."""
    global _chosen
    if not 0 <= count <= _MAX_THREADS:
        legal = f"0 to {_MAX_THREADS}; 0: by environment"
        raise ValueError(message("number of threads", found=str(count), legal=legal))
    _chosen = count
    for listener in _listeners:
        listener(count)
