"""Time limits of calls and compilations, which other threads may also cancel.

    with time_limit(2.0) as limit:      # CallTimeout, a TimeoutError, after two seconds
        vm["main"](x)
    limit.cancel()                      # from another thread: CallCancelled

Compilers look up at their checkpoints (`tvm.support.checkpoint`), between two functions of a pass
or two steps of a schedule. Compiled code looks up a few hundred times a second in loops that take
long, the virtual machine before each of its calls. A library has a table of five addresses under
`TABLE`: a hook that its polls go through when it is set, its own poll, and functions that start
listening, that set the record of the calling thread, and that keep a thread for good. As with
thread pools, the first library of a process serves them all.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from tvm.error import CallCancelled, CallTimeout, message
from tvm.support import checkpoint

TABLE: Final = "__tvm_rt_poll"
_server: _Table | None = None
_start_lock = threading.Lock()
# No cast to Python objects happens inside of these: the GIL stays with the caller.
_START = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_uint64)
_LIMIT = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class _Table(ctypes.Structure):
    _fields_ = (
        ("hook", ctypes.c_void_p),
        ("poll", ctypes.c_void_p),
        ("start", ctypes.c_void_p),
        ("limit", ctypes.c_void_p),
        ("park", ctypes.c_void_p),
    )


class _Record(ctypes.Structure):
    _fields_ = (
        ("began", ctypes.c_int64),
        ("deadline", ctypes.c_int64),
        ("cancelled", ctypes.c_int32),
    )


def join_polls(table_address: int) -> None:
    """Let the library with this table use the process's poll, or serve it to others."""
    global _server
    table = _Table.from_address(table_address)
    with _start_lock:
        if _server is not None:
            table.hook = _server.poll if table.poll != _server.poll else None
            return
        main = threading.main_thread().ident
        if _START(table.start)(main or 0) == 0:
            _server = table
            atexit.register(_park_daemons)
    _set(current_limit())  # what began before there was anybody to tell


class TimeLimit:
    """How long the calls of a thread may take, in seconds; None: until `cancel`."""

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not 0 <= seconds < 1e9:
            raise ValueError(
                message("time limit", found=f"{seconds!r} s", legal="0 to 1e9 seconds, or None")
            )
        now = _now()
        deadline = 0 if seconds is None else now + int(seconds * 1e9)
        self._record = _Record(now, deadline, 0)
        self.seconds = seconds
        self._inside: TimeLimit | None = None
        self.said: CallCancelled | CallTimeout | None = None  # what ended the work

    def cancel(self) -> None:
        """Let the call stop; any thread may say so."""
        limit: TimeLimit | None = self
        while limit is not None:
            limit._record.cancelled = 1
            limit = limit._inside

    def check(self, what: str) -> None:
        """CallCancelled or CallTimeout if `what` shall not begin."""
        now = _now()
        elapsed = (now - self._record.began) // 1_000_000
        if self._record.cancelled:
            self.said = CallCancelled(
                message("the call was cancelled", where=f"before {what}, after {elapsed} ms")
            )
            raise self.said
        if self._record.deadline and now > self._record.deadline:
            limit = (self._record.deadline - self._record.began) // 1_000_000
            self.said = CallTimeout(
                message(
                    f"a call of at most {limit} ms",
                    found=f"{what} was to begin after {elapsed} ms",
                    legal="a longer timeout, or less work in the call",
                )
            )
            raise self.said

    @property
    def address(self) -> int:
        """Where compiled code reads the limit."""
        return ctypes.addressof(self._record)

    def within(self, other: TimeLimit) -> None:
        """Take over the earlier end of a limit around this one, and that it was cancelled."""
        ends = [d for d in (self._record.deadline, other._record.deadline) if d]
        self._record.deadline = min(ends, default=0)
        other._inside = self
        if other._record.cancelled:
            self._record.cancelled = 1


def current_limit() -> TimeLimit | None:
    """The limit of the calls that this thread makes now."""
    found = checkpoint.current_limit()
    return found if isinstance(found, TimeLimit) else None


@contextlib.contextmanager
def time_limit(seconds: float | None = None) -> Iterator[TimeLimit]:
    """What this thread does inside, takes `seconds` at most, or until it is cancelled.

    That is calls of compiled code, compilation and tuning.

    Raises CallTimeout (a TimeoutError) or CallCancelled; ValueError for a time below zero. Limits
    nest: the one that ends first holds.
    """
    limit, before = TimeLimit(seconds), current_limit()
    if before is not None:
        limit.within(before)
    _set(limit)
    try:
        yield limit
    except Exception as err:
        if limit.said is None or isinstance(err, (CallTimeout, CallCancelled)):
            raise
        raise limit.said from err  # something took it for a failure of the work
    finally:
        if before is not None:
            before._inside = None
        _set(before)


def _park_daemons() -> None:
    """Let daemon threads that are inside compiled code stay there while the process ends.

    Python ends such a thread when it comes back, by unwinding the stack; functions of C++ on it
    that promise to throw nothing turn that into the end of the process, by std::terminate.
    """
    assert _server is not None, "registered when there is one"
    if not any(thread.daemon for thread in threading.enumerate()):
        return
    with contextlib.suppress(OSError, AttributeError):  # no glibc, or another C++ library
        c, cpp = ctypes.CDLL(None), ctypes.CDLL("libstdc++.so.6")
        address = ctypes.c_void_p(_server.park)
        cpp._ZSt13set_terminatePFvvE(address)
        c.signal(int(signal.SIGABRT), address)


def _now() -> int:
    """Nanoseconds of the clock that compiled code reads."""
    if hasattr(time, "CLOCK_MONOTONIC"):
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return time.monotonic_ns()


def _set(limit: TimeLimit | None) -> None:
    checkpoint.set_limit(limit)
    if _server is not None:
        _LIMIT(_server.limit)(None if limit is None else limit.address)


def limited(call: Any, seconds: float | None, args: tuple[Any, ...]) -> Any:
    """`call(*args)`, within a time."""
    if seconds is None:
        return call(*args)
    with time_limit(seconds):
        return call(*args)
