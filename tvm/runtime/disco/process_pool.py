"""Workers as processes: they take commands from a pipe and answer through another."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any

from tvm.error import TVMError, message
from tvm.ffi import register_global_func

from .channel import PipeChannel
from .worker import Worker


class DiscoPopenWorker:
    """A process that runs the module `entrypoint` as a worker."""

    def __init__(
        self,
        worker_id: int,
        num_workers: int,
        num_groups: int,
        entrypoint: str = "tvm.exec.disco_worker",
        stdout: IO[Any] | int | None = None,
        stderr: IO[Any] | int | None = None,
    ) -> None:
        self.worker_id = worker_id
        self.num_workers = num_workers
        self.num_groups = num_groups
        self.entrypoint = entrypoint
        self._streams = (stdout, stderr)
        self._process: subprocess.Popen[bytes] | None = None

    def __del__(self) -> None:
        with contextlib.suppress(ImportError, AttributeError):  # Python itself is going away
            self.kill()

    def kill(self) -> None:
        """End the process."""
        if self._process is None:
            return
        self._process.kill()
        self.join(timeout=10)

    def join(self, timeout: float | None = None) -> None:
        """Wait until the process has ended, or for so many seconds."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return
        self._process = None

    def start(self) -> tuple[int, int]:
        """Start the process; the descriptors to read its answers from and to write to it."""
        if self._process is not None:
            raise TVMError(message("start a worker", found="a worker that has been started"))
        read_there, write_here = os.pipe()
        read_here, write_there = os.pipe()
        numbers = (self.worker_id, self.num_workers, self.num_groups, read_there, write_there)
        command = [sys.executable, "-m", self.entrypoint, *map(str, numbers)]
        stdout, stderr = self._streams
        self._process = subprocess.Popen(
            command, pass_fds=(read_there, write_there), stdout=stdout, stderr=stderr,
            env=_environment(),
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        return read_here, write_here


def _environment() -> dict[str, str]:
    """The environment in which the worker finds this very package."""
    home = str(Path(__file__).resolve().parents[3])
    paths = [home, os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}


@register_global_func("runtime.disco.WorkerProcess", override=True)
def worker_process(
    worker_id: int, num_workers: int, num_groups: int, read_fd: int, write_fd: int
) -> None:
    """Be a worker until the session ends; entry points call it with their command line."""
    channel = PipeChannel(os.fdopen(read_fd, "rb"), os.fdopen(write_fd, "wb"))
    worker = Worker(worker_id, num_workers, num_groups, channel)
    # Functions of C that wait, such as a collective, keep the thread that they are called in.
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    thread.join()
