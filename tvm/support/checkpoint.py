"""Where long work asks whether it may go on.

A time limit belongs to the thread that set it (`tvm.runtime.time_limit`). Passes, schedules and
code generation stop at a checkpoint between two steps, where nothing is half-done.
"""

from __future__ import annotations

import concurrent.futures
import threading
from typing import Any, Final, Protocol

SECONDS: Final = 0.02  # between two looks at the limit while others work


class Limit(Protocol):
    """Something that says by an exception that work must end."""

    def check(self, what: str) -> None:
        """Raise if `what` shall not begin."""


class _Here(threading.local):
    limit: Limit | None = None


_here = _Here()


def set_limit(limit: Limit | None) -> None:
    """Let the limit hold for this thread, until another one is set."""
    _here.limit = limit


def current_limit() -> Limit | None:
    """The limit of this thread."""
    return _here.limit


def checkpoint(what: str) -> None:
    """Go on with `what`, unless the limit of this thread has passed."""
    limit = _here.limit
    if limit is not None:
        limit.check(what)


def wait_for(future: concurrent.futures.Future[Any], what: str) -> None:
    """Wait until a future is done, or until `what` comes after it may not begin any more."""
    while (limit := _here.limit) is not None and not future.done():
        concurrent.futures.wait([future], SECONDS)
        limit.check(what)
    concurrent.futures.wait([future])
