"""Worker processes that outlive a task, and are replaced when one hangs or dies.

    worker = PopenWorker()
    worker.send(func, args, timeout=10); worker.recv()
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from typing_extensions import Self

from tvm.error import message
from tvm.support.checkpoint import wait_for

from .by_value import from_bytes, to_bytes
from .popen_worker import BEGUN, CLOCK, read_message, write_message


class StatusKind(IntEnum):
    """How a task ended."""

    RUNNING = 0
    COMPLETE = 1
    EXCEPTION = 2
    TIMEOUT = 3


class MapResult(NamedTuple):
    """How a task of a map ended, and its result or exception."""

    status: StatusKind
    value: Any


def kill_child_processes(pid: int) -> None:
    """End all processes that `pid` started, and those that they started."""
    for child in _children(pid):
        kill_child_processes(child)
        with contextlib.suppress(OSError):
            os.kill(child, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            # pid (name) state ppid ...; a name may hold blanks and parentheses
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.parent.name))
    return found


class PopenWorker:
    """A process that runs one function after the other.

    `initializer(*initargs)` runs first in it; after `maximum_uses` functions a new process takes
    over. `stdout` and `stderr` are those of the process, as `subprocess.Popen` takes them.
    """

    def __init__(
        self,
        initializer: Callable[..., Any] | None = None,
        initargs: Sequence[Any] = (),
        maximum_uses: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        if initializer is not None and not callable(initializer):
            raise TypeError(
                message("PopenWorker", found=f"initializer={initializer!r}", legal="a function")
            )
        self._initializer, self._initargs = initializer, tuple(initargs)
        self._maximum_uses, self._uses = maximum_uses, 0
        self._stdout, self._stderr = stdout, stderr
        self._process: subprocess.Popen[bytes] | None = None
        self._to: BinaryIO | None = None
        self._from: BinaryIO | None = None
        self._timeout: float | None = None

    def __del__(self) -> None:
        with contextlib.suppress(ImportError, TypeError, AttributeError):  # at the end of Python
            self.kill()

    def is_alive(self) -> bool:
        """Whether there is a process that waits or works."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End the process and those that it started; the next `send` starts a new one."""
        process, self._process = self._process, None
        for pipe in (self._to, self._from):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._to = self._from = None
        if process is not None:
            if process.poll() is None:
                kill_child_processes(process.pid)
                process.kill()
            process.wait()

    def end_task(self) -> None:
        """End the process; whoever waits for its answer hears that it died."""
        process = self._process
        if process is not None and process.poll() is None:
            kill_child_processes(process.pid)
            process.kill()

    def join(self, timeout: float | None = None) -> None:
        """Let the process end by itself, but wait no longer than `timeout` seconds."""
        if self._process is None:
            return
        if self._to is not None:
            self._to.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)

    def send(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        """Start `fn(*args, **kwargs)` in the process; `recv` gives what comes of it."""
        data = to_bytes((fn, tuple(args), dict(kwargs or {})))
        if self._maximum_uses is not None and self._uses >= self._maximum_uses:
            self.kill()
        if not self.is_alive():
            self.kill()
            self._start()
        self._uses += 1
        self._timeout = timeout
        self._write(data)

    def _write(self, data: bytes) -> None:
        assert self._to is not None, "the process was started"
        # a process that is gone is noticed by recv
        with contextlib.suppress(BrokenPipeError):
            write_message(self._to, data)

    def _start(self) -> None:
        child_reads, to = os.pipe()
        back, child_writes = os.pipe()
        # modules are found where this process finds them, from the first import on
        path = os.pathsep.join(p for p in sys.path if p)
        command = [sys.executable, "-m", "tvm.contrib.popen_worker", str(child_reads),
                   str(child_writes)]  # fmt: skip
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=(child_reads, child_writes),
                stdout=self._stdout,
                stderr=self._stderr,
                env={**os.environ, "PYTHONPATH": path},
            )
        finally:
            os.close(child_reads)
            os.close(child_writes)
        self._to, self._from = os.fdopen(to, "wb"), os.fdopen(back, "rb", buffering=0)
        self._uses = 0
        self._write(b"start")
        read_message(self._from)  # it is ready
        if self._initializer is not None:
            self._write(to_bytes((self._initializer, self._initargs, {})))
            self._timeout = None
            self.recv()

    def recv(self) -> Any:
        """The result of the last `send`.

        Raises what the function raised; TimeoutError when it took too long; ChildProcessError when
        the process died.
        """
        if self._from is None:
            raise RuntimeError(
                message("recv of a PopenWorker", found="nothing was sent", legal="send first")
            )
        data = read_message(self._from)
        if data is not None and data.startswith(BEGUN):
            self._wait(CLOCK.unpack_from(data, len(BEGUN))[0])
            data = read_message(self._from)
        if data is None:
            self.kill()
            raise ChildProcessError("the worker process died")
        done, value = from_bytes(data)
        if not done:
            raise value
        return value

    def _wait(self, began: float) -> None:
        """Return when an answer comes to a function that began then, or the process is gone."""
        assert self._from is not None, "recv looked"
        if self._timeout is None:
            return
        left = began + self._timeout - time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._from, selectors.EVENT_READ)
            if not selector.select(max(left, 0)):
                self.kill()
                raise TimeoutError("the worker process took too long")


class PopenPoolExecutor:
    """Runs functions in several worker processes, each `timeout` seconds at most."""

    def __init__(
        self,
        max_workers: int | None = None,
        timeout: float | None = None,
        initializer: Callable[..., Any] | None = None,
        initargs: Sequence[Any] = (),
        maximum_process_uses: int | None = None,
        stdout: Any = None,
        stderr: Any = None,
    ) -> None:
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers or os.cpu_count())
        self._timeout = timeout
        self._options = (initializer, tuple(initargs), maximum_process_uses, stdout, stderr)
        self._workers: dict[int, PopenWorker] = {}
        self._lock = threading.Lock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.shutdown()

    def __del__(self) -> None:
        with contextlib.suppress(ImportError, TypeError, AttributeError):  # at the end of Python
            self.shutdown(wait=False)

    def shutdown(self, wait: bool = True) -> None:
        """Take no more work; with `wait`, what was taken is done first."""
        self._threads.shutdown(wait=wait, cancel_futures=not wait)
        with self._lock:
            self._closed = True
            workers, self._workers = list(self._workers.values()), {}
        for worker in workers:
            worker.kill()

    def end_tasks(self) -> None:
        """End what runs now; the processes of later tasks are new ones."""
        with self._lock:
            workers = list(self._workers.values())
        for worker in workers:
            worker.end_task()

    def submit(
        self, fn: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> concurrent.futures.Future[Any]:
        """Run `fn(*args, **kwargs)` in one of the processes."""
        return self._threads.submit(self._run, fn, args, kwargs)

    def map_with_error_catching(
        self, fn: Callable[[Any], Any], iterator: Iterable[Any]
    ) -> Iterator[MapResult]:
        """`fn(x)` for each x, in order; errors are results with their status."""
        futures = [self._threads.submit(self._run_and_tell, fn, x) for x in iterator]
        return _results(futures)

    def _worker(self) -> PopenWorker:
        """The worker of the calling thread."""
        with self._lock:
            number = threading.get_ident()
            if number not in self._workers:
                self._workers[number] = PopenWorker(*self._options)
            return self._workers[number]

    def _run(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        worker = self._worker()
        worker.send(fn, args, kwargs, self._timeout)
        return worker.recv()

    def _run_and_tell(self, fn: Callable[[Any], Any], x: Any) -> MapResult:
        try:
            return MapResult(StatusKind.COMPLETE, self._run(fn, (x,), {}))
        except TimeoutError as err:
            return MapResult(StatusKind.TIMEOUT, err)
        except Exception as err:
            return MapResult(StatusKind.EXCEPTION, err)


def _results(futures: list[concurrent.futures.Future[MapResult]]) -> Iterator[MapResult]:
    """What becomes of the futures; those that nobody asks for any more do not begin."""
    try:
        for future in futures:
            wait_for(future, "the next task")
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
